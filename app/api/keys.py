"""/api/v1/api-keys: the project's keys, for those who rotate them by program."""

from __future__ import annotations

import falcon

from app.access import ByKey
from app.api.operation import operation
from app.http.bodies import read_json
from app.schemas.answers import keys as answers
from app.schemas.base import load
from app.schemas.keys import NewKeySchema, WantedKey, dump_key
from app.services.accounts.keys import KeyService

_NEW = NewKeySchema()


class ApiKeys:
    """Who may see and make keys may change things, so reading takes the scope `write`, too."""

    access = ByKey({"GET": "write", "POST": "write"})

    def __init__(self, *, keys: KeyService, body_bytes: int) -> None:
        self._keys = keys
        self._body_bytes = body_bytes

    @operation("The project's API keys, revoked and expired ones too", answers={200: answers.ApiKeys})
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        resp.media = {"apiKeys": [dump_key(key) for key in self._keys.list(project_id=req.context.key.project_id)]}

    @operation(
        "Make an API key; its secret is shown this once", body=NewKeySchema, answers={201: answers.CreatedApiKey}
    )
    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        maker = req.context.key
        wanted: WantedKey = load(_NEW, read_json(req, self._body_bytes))
        new = self._keys.create_with(maker, name=wanted.name, scopes=wanted.scopes, expires_at=wanted.expires_at)
        resp.status = falcon.HTTP_201
        resp.location = f"/api/v1/api-keys/{new.id}"
        resp.media = dump_key(self._keys.get(project_id=maker.project_id, key_id=new.id)) | {"key": new.secret}


class ApiKeyResource:
    access = ByKey({"GET": "write", "DELETE": "write"})

    def __init__(self, *, keys: KeyService) -> None:
        self._keys = keys

    @operation("One API key", answers={200: answers.ApiKey})
    def on_get(self, req: falcon.Request, resp: falcon.Response, key_id: int) -> None:
        resp.media = dump_key(self._keys.get(project_id=req.context.key.project_id, key_id=key_id))

    @operation("Revoke an API key, everywhere within 5 seconds", answers={204: None})
    def on_delete(self, req: falcon.Request, resp: falcon.Response, key_id: int) -> None:
        self._keys.revoke_with(req.context.key, key_id=key_id)
        resp.status = falcon.HTTP_204
