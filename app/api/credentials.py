"""/api/v1/credentials: the vendors' keys with which the organization calls models; no answer shows a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from app.access import ByKey
from app.api.operation import Command, operation
from app.models.api_keys import ApiKey
from app.models.language_models import LanguageModel
from app.schemas import language_models as schemas
from app.services.language_models.credentials import CredentialService, StoredCredential
from app.services.language_models.service import ModelService


@dataclass(frozen=True, slots=True)
class Credentials:
    """`source` is `instance` for a key of the instance's settings; nothing more is shown of such a key."""

    access: ClassVar = ByKey({"GET": "admin"})
    credentials: CredentialService

    @operation("The vendors that can be called", answers={200: schemas.Credentials})
    def on_get(self, key: ApiKey) -> list[StoredCredential]:
        return self.credentials.list(key.organization_id)


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential is used by all projects of the organization."""

    access: ClassVar = ByKey({"GET": "admin", "PUT": "admin", "DELETE": "admin"})
    credentials: CredentialService

    @operation("A vendor's credential", answers={200: schemas.StoredCredential})
    def on_get(self, key: ApiKey, vendor: str) -> StoredCredential:
        return self.credentials.get(key.organization_id, vendor)

    @operation("Store a vendor's credential", body=schemas.CredentialSchema, answers={200: schemas.StoredCredential})
    def on_put(self, key: ApiKey, command: Command, vendor: str) -> StoredCredential:
        self.credentials.set(key.organization_id, vendor, **command, actor=key.actor)
        return self.credentials.get(key.organization_id, vendor)

    @operation("Remove a vendor's credential", answers={204: None})
    def on_delete(self, key: ApiKey, vendor: str) -> None:
        self.credentials.clear(key.organization_id, vendor, actor=key.actor)


@dataclass(frozen=True, slots=True)
class CredentialCheck:
    """Calls the vendor's cheapest enabled model; answers 502 with the vendor's message when the vendor refuses."""

    access: ClassVar = ByKey({"POST": "admin"})
    waits: ClassVar = frozenset({"POST"})
    credentials: CredentialService
    models: ModelService

    @operation("Check a vendor's credential", answers={200: schemas.CheckedCredential}, errors=(409, 502, 504))
    def on_post(self, key: ApiKey, vendor: str) -> LanguageModel:
        self.credentials.get(key.organization_id, vendor)
        model = self.models.cheapest(organization_id=key.organization_id, vendor=vendor)
        self.credentials.check(key.organization_id, model)
        return model
