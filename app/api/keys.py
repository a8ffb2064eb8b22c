"""/api/v1/api-keys: the project's keys, for programs that rotate them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from app.access import ByKey
from app.api.operation import Command, operation
from app.models.api_keys import ApiKey
from app.schemas import organization as schemas
from app.schemas.organization import MadeKey, NewKeySchema
from app.services.accounts.keys import KeyService


@dataclass(frozen=True, slots=True)
class ApiKeys:
    """Reading takes the scope `write`, too: a list of keys is only of use to callers that make and revoke them."""

    access: ClassVar = ByKey({"GET": "write", "POST": "write"})
    keys: KeyService

    @operation("The project's API keys, revoked and expired ones too", answers={200: schemas.ApiKeys})
    def on_get(self, key: ApiKey) -> list[ApiKey]:
        return self.keys.list(project_id=key.project_id)

    @operation(
        "Make an API key; its secret is shown this once",
        body=NewKeySchema,
        answers={201: schemas.CreatedApiKey},
        location="/api/v1/api-keys/{id}",
    )
    def on_post(self, key: ApiKey, command: Command) -> MadeKey:
        new = self.keys.create_with(key, **command)
        return MadeKey(self.keys.get(project_id=key.project_id, key_id=new.id), new.secret)


@dataclass(frozen=True, slots=True)
class ApiKeyResource:
    access: ClassVar = ByKey({"GET": "write", "DELETE": "write"})
    keys: KeyService

    @operation("One API key", answers={200: schemas.ApiKey})
    def on_get(self, key: ApiKey, key_id: int) -> ApiKey:
        return self.keys.get(project_id=key.project_id, key_id=key_id)

    @operation("Revoke an API key, everywhere within 5 seconds", answers={204: None})
    def on_delete(self, key: ApiKey, key_id: int) -> None:
        self.keys.revoke_with(key, key_id=key_id)
