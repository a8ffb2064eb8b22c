"""/api/v1/models and /api/v1/credentials: an organization's models, and the vendors' keys for calling them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from app.access import ByKey
from app.api.operation import Command, Reply, operation
from app.models.api_keys import ApiKey
from app.models.language_models import LanguageModel
from app.schemas import language_models as schemas
from app.schemas.answer import Json, dump
from app.services.accounts.keys import ADMIN
from app.services.language_models.credentials import CredentialService, StoredCredential
from app.services.language_models.service import ModelService, OwnModel, OwnModelService


@dataclass(frozen=True, slots=True)
class _Models:
    tag: ClassVar = "Models"
    models: ModelService
    own_models: OwnModelService


class Models(_Models):
    """The base URL of a model of one's own is shown to keys with the scope `admin` alone."""

    access = ByKey({"GET": "read", "POST": "admin"})

    @operation("The models of the organization, disabled ones too", answers={200: schemas.Models})
    def on_get(self, key: ApiKey) -> list[Json]:
        found = self.models.list(organization_id=key.organization_id)
        return [_shown(model, key) for model in found if not model.retired]

    @operation(
        "Add a model of one's own, or change the one of that name (200)",
        body=schemas.OwnModelSchema,
        answers={200: schemas.Model, 201: schemas.Model},
        location="/api/v1/models/{id}",
        answer_headers=("Location",),
    )
    def on_post(self, key: ApiKey, command: OwnModel) -> Reply:
        model_id, added = self.own_models.put(organization_id=key.organization_id, model=command, actor=key.actor)
        model = self.models.get(organization_id=key.organization_id, model_id=model_id)
        return Reply(201 if added else 200, model)


class Model(_Models):
    access = ByKey({"GET": "read", "PATCH": "admin", "DELETE": "admin"})

    @operation("One model", answers={200: schemas.Model})
    def on_get(self, key: ApiKey, model_id: int) -> Json:
        return _shown(self.models.get(organization_id=key.organization_id, model_id=model_id), key)

    @operation(
        "Enable or disable a model, or make it the default",
        body=schemas.ModelChangeSchema,
        answers={200: schemas.Model},
        errors=(409,),
    )
    def on_patch(self, key: ApiKey, command: Command, model_id: int) -> Json:
        self.models.choose(organization_id=key.organization_id, model_id=model_id, actor=key.actor, **command)
        return self.on_get(key, model_id)

    @operation("Remove a model of one's own; prompts that name it can't be run", answers={204: None})
    def on_delete(self, key: ApiKey, model_id: int) -> None:
        self.own_models.remove(organization_id=key.organization_id, model_id=model_id, actor=key.actor)


def _shown(model: LanguageModel, key: ApiKey) -> Json:
    """The model's JSON; without its base URL, unless the key may change models."""
    shown = dump(schemas.Model, model)
    return shown if ADMIN in key.scopes else {name: value for name, value in shown.items() if name != "baseUrl"}


@dataclass(frozen=True, slots=True)
class _Credentials:
    tag: ClassVar = "Credentials"
    credentials: CredentialService


class Credentials(_Credentials):
    """`source` is `instance` for a key of the instance's settings; nothing more is shown of such a key."""

    access = ByKey({"GET": "admin"})

    @operation("The vendors that can be called", answers={200: schemas.Credentials})
    def on_get(self, key: ApiKey) -> list[StoredCredential]:
        return self.credentials.list(key.organization_id)


class Credential(_Credentials):
    """A credential is used by all projects of the organization."""

    access = ByKey({"GET": "admin", "PUT": "admin", "DELETE": "admin"})

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
class CredentialCheck(_Credentials):
    """Calls the vendor's cheapest enabled model; answers 502 with the vendor's message when the vendor refuses."""

    access: ClassVar = ByKey({"POST": "admin"})
    waits: ClassVar = frozenset({"POST"})
    models: ModelService

    @operation("Check a vendor's credential", answers={200: schemas.CheckedCredential}, errors=(409, 502, 504))
    def on_post(self, key: ApiKey, vendor: str) -> LanguageModel:
        self.credentials.get(key.organization_id, vendor)
        model = self.models.cheapest(organization_id=key.organization_id, vendor=vendor)
        self.credentials.check(key.organization_id, model)
        return model
