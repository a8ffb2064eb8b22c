"""/api/v1/data-policy: what the key's project keeps for how long, and masks before it is stored."""

from __future__ import annotations

import falcon

from app.access import ByKey
from app.api.operation import operation
from app.http.bodies import read_json
from app.schemas.answers import data_policies as answers
from app.schemas.base import load
from app.schemas.data_policies import DataPolicySchema, dump_policy
from app.services.data.policies import DataPolicyService

_POLICY = DataPolicySchema()


class DataPolicyResource:
    access = ByKey({"GET": "read", "PUT": "write"})

    def __init__(self, *, policies: DataPolicyService, body_bytes: int) -> None:
        self._policies = policies
        self._body_bytes = body_bytes

    @operation("How long the project keeps what, and what it masks", answers={200: answers.DataPolicy})
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        resp.media = dump_policy(self._policies.get(project_id=req.context.key.project_id))

    @operation(
        "Set how long the project keeps what, and what it masks",
        body=DataPolicySchema,
        answers={200: answers.DataPolicy},
    )
    def on_put(self, req: falcon.Request, resp: falcon.Response) -> None:
        key = req.context.key
        policy = load(_POLICY, read_json(req, self._body_bytes))
        self._policies.put(project_id=key.project_id, policy=policy, actor=key.actor)
        resp.media = dump_policy(policy)
