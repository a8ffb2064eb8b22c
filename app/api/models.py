"""/api/v1/models: the models of the catalogue, those of the organization, and the ones that it uses."""

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
from app.services.language_models.own_models import OwnModel, OwnModelService
from app.services.language_models.service import ModelService


@dataclass(frozen=True, slots=True)
class Models:
    """The base URL of a model of one's own is shown to keys with the scope `admin` alone."""

    access: ClassVar = ByKey({"GET": "read", "POST": "admin"})
    models: ModelService
    own_models: OwnModelService

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


@dataclass(frozen=True, slots=True)
class Model:
    access: ClassVar = ByKey({"GET": "read", "PATCH": "admin", "DELETE": "admin"})
    models: ModelService
    own_models: OwnModelService

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
