"""/api/v1/data-policy: how long the key's project keeps its data, and which texts it masks before storing them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from app.access import ByKey
from app.api.operation import operation
from app.models.api_keys import ApiKey
from app.models.data_policies import DataPolicy
from app.schemas import organization as schemas
from app.services.data.policies import DataPolicyService


@dataclass(frozen=True, slots=True)
class DataPolicyResource:
    access: ClassVar = ByKey({"GET": "read", "PUT": "write"})
    policies: DataPolicyService

    @operation("How long the project keeps what, and what it masks", answers={200: schemas.DataPolicy})
    def on_get(self, key: ApiKey) -> DataPolicy:
        return self.policies.get(project_id=key.project_id)

    @operation(
        "Set how long the project keeps what, and what it masks",
        body=schemas.DataPolicySchema,
        answers={200: schemas.DataPolicy},
    )
    def on_put(self, key: ApiKey, command: DataPolicy) -> DataPolicy:
        self.policies.put(project_id=key.project_id, policy=command, actor=key.actor)
        return command
