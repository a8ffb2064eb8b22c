"""/api/v1/models and /api/v1/credentials: an organization's models, and the keys of their vendors."""

from __future__ import annotations

from app.api.operation import ApiReply, Command, Resource, operation
from app.models.api_keys import ApiKey
from app.models.language_models import LanguageModel
from app.schemas import language_models as schemas
from app.schemas.answer import Json, dump
from app.services.accounts.keys import ADMIN
from app.services.language_models.credentials import StoredCredential
from app.services.language_models.service import OWN_MODELS_MAX, OwnModel


class ModelsResource(Resource, tag="Models", GET="read", POST="admin"):
    """The base URL of a custom model is shown only to keys with the scope `admin`."""

    @operation("The models of the organization, including disabled ones", answers={200: schemas.Models})
    def on_get(self, key: ApiKey) -> list[Json]:
        models = self.services.models.list(organization_id=key.organization_id)
        return [_shown(model, key) for model in models if not model.retired]

    @operation(
        f"Add a custom model, or change the one with this name (200); an organization has at most {OWN_MODELS_MAX:,}",
        body=schemas.OwnModelSchema,
        answers={200: schemas.ModelSchema, 201: schemas.ModelSchema},
        location="/api/v1/models/{id}",
        answer_headers=("Location",),
    )
    def on_post(self, key: ApiKey, command: OwnModel) -> ApiReply:
        model_id, added = self.services.own_models.put(
            organization_id=key.organization_id, model=command, actor=key.actor
        )
        model = self.services.models.get(organization_id=key.organization_id, model_id=model_id)
        return ApiReply(201 if added else 200, model)


class ModelResource(Resource, tag="Models", GET="read", PATCH="admin", DELETE="admin"):
    @operation("One model", answers={200: schemas.ModelSchema})
    def on_get(self, key: ApiKey, model_id: int) -> Json:
        return _shown(self.services.models.get(organization_id=key.organization_id, model_id=model_id), key)

    @operation(
        "Enable or disable a model, or make it the default",
        body=schemas.ModelChangeSchema,
        answers={200: schemas.ModelSchema},
        errors=(409,),
    )
    def on_patch(self, key: ApiKey, command: Command, model_id: int) -> Json:
        self.services.models.choose(organization_id=key.organization_id, model_id=model_id, actor=key.actor, **command)
        return self.on_get(key, model_id)

    @operation("Remove a custom model; prompts that name it can't be run", answers={204: None})
    def on_delete(self, key: ApiKey, model_id: int) -> None:
        self.services.own_models.remove(organization_id=key.organization_id, model_id=model_id, actor=key.actor)


def _shown(model: LanguageModel, key: ApiKey) -> Json:
    """Return the model's JSON, without its base URL unless the key may change models."""
    shown = dump(schemas.ModelSchema, model)
    return shown if ADMIN in key.scopes else {name: value for name, value in shown.items() if name != "baseUrl"}


class CredentialsResource(Resource, tag="Credentials", GET="admin"):
    """`source` is `instance` for a key from the instance's settings. Nothing else of such a key is shown."""

    @operation("The vendors that can be called", answers={200: schemas.Credentials})
    def on_get(self, key: ApiKey) -> list[StoredCredential]:
        return self.services.credentials.list(key.organization_id)


class CredentialResource(Resource, tag="Credentials", GET="admin", PUT="admin", DELETE="admin"):
    """All projects of the organization use the credential."""

    @operation("A vendor's credential", answers={200: schemas.StoredCredentialSchema})
    def on_get(self, key: ApiKey, vendor: str) -> StoredCredential:
        return self.services.credentials.get(key.organization_id, vendor)

    @operation(
        "Store a vendor's credential", body=schemas.CredentialSchema, answers={200: schemas.StoredCredentialSchema}
    )
    def on_put(self, key: ApiKey, command: Command, vendor: str) -> StoredCredential:
        self.services.credentials.set(key.organization_id, vendor, **command, actor=key.actor)
        return self.services.credentials.get(key.organization_id, vendor)

    @operation("Remove a vendor's credential", answers={204: None})
    def on_delete(self, key: ApiKey, vendor: str) -> None:
        self.services.credentials.clear(key.organization_id, vendor, actor=key.actor)


class CredentialCheck(Resource, tag="Credentials", POST="admin"):
    """Calls the vendor's cheapest enabled model. If the vendor refuses, answers 502 with the vendor's message."""

    waits = frozenset({"POST"})

    @operation("Check a vendor's credential", answers={200: schemas.CheckedCredential}, errors=(409, 502, 504))
    def on_post(self, key: ApiKey, vendor: str) -> LanguageModel:
        self.services.credentials.get(key.organization_id, vendor)
        model = self.services.models.cheapest(organization_id=key.organization_id, vendor=vendor)
        self.services.credentials.check(key.organization_id, model)
        return model
