"""/api/v1/credentials: the keys with which the organization's models are called; none is ever shown again."""

from __future__ import annotations

import falcon

from app.access import ByKey
from app.api.operation import operation
from app.http.bodies import read_json
from app.schemas.answers import models as answers
from app.schemas.base import load
from app.schemas.credentials import CredentialSchema, dump_credential
from app.services.language_models.credentials import CredentialService
from app.services.language_models.service import ModelService

_CREDENTIAL = CredentialSchema()


class Credentials:
    """`source` is `instance` for a key of the instance's settings, of which nothing more is shown."""

    access = ByKey({"GET": "admin"})

    def __init__(self, *, credentials: CredentialService) -> None:
        self._credentials = credentials

    @operation("The vendors that can be called", answers={200: answers.Credentials})
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        found = self._credentials.list(req.context.key.organization_id)
        resp.media = {"credentials": [dump_credential(credential) for credential in found]}


class Credential:
    """Holds for all projects of the organization."""

    access = ByKey({"GET": "admin", "PUT": "admin", "DELETE": "admin"})

    def __init__(self, *, credentials: CredentialService, body_bytes: int) -> None:
        self._credentials = credentials
        self._body_bytes = body_bytes

    @operation("A vendor's credential", answers={200: answers.Credential})
    def on_get(self, req: falcon.Request, resp: falcon.Response, vendor: str) -> None:
        resp.media = dump_credential(self._credentials.get(req.context.key.organization_id, vendor))

    @operation("Store a vendor's credential", body=CredentialSchema, answers={200: answers.Credential})
    def on_put(self, req: falcon.Request, resp: falcon.Response, vendor: str) -> None:
        key, sent = req.context.key, load(_CREDENTIAL, read_json(req, self._body_bytes))
        self._credentials.set(key.organization_id, vendor, **sent, actor=key.actor)
        resp.media = dump_credential(self._credentials.get(key.organization_id, vendor))

    @operation("Remove a vendor's credential", answers={204: None})
    def on_delete(self, req: falcon.Request, resp: falcon.Response, vendor: str) -> None:
        key = req.context.key
        self._credentials.clear(key.organization_id, vendor, actor=key.actor)
        resp.status = falcon.HTTP_204


class CredentialCheck:
    """Asks the vendor's cheapest enabled model for a word; 502 with the vendor's own when it refuses."""

    access = ByKey({"POST": "admin"})
    waits = frozenset({"POST"})

    def __init__(self, *, credentials: CredentialService, models: ModelService) -> None:
        self._credentials = credentials
        self._models = models

    @operation("Check a vendor's credential", answers={200: answers.Checked}, errors=(409, 502, 504))
    def on_post(self, req: falcon.Request, resp: falcon.Response, vendor: str) -> None:
        organization_id = req.context.key.organization_id
        self._credentials.get(organization_id, vendor)
        model = self._models.cheapest(organization_id=organization_id, vendor=vendor)
        self._credentials.check(organization_id, model)
        resp.media = {"model": model.name}
