"""/api/v1/models: the catalogue, models of the organization's own, and which of them it uses."""

from __future__ import annotations

import falcon

from app.access import ByKey
from app.api.operation import operation
from app.http.bodies import read_json
from app.models.api_keys import ApiKey
from app.models.language_models import LanguageModel
from app.schemas.answers import models as answers
from app.schemas.base import load
from app.schemas.models import ModelChangeSchema, OwnModelSchema, dump_model
from app.services.accounts.keys import ADMIN
from app.services.language_models.own_models import OwnModelService
from app.services.language_models.service import ModelService

_OWN, _CHANGE = OwnModelSchema(), ModelChangeSchema()


class Models:
    """Any key that may read may look; what is shown of a model of one's own has its base URL for `admin` alone."""

    access = ByKey({"GET": "read", "POST": "admin"})

    def __init__(self, *, models: ModelService, own_models: OwnModelService, body_bytes: int) -> None:
        self._models = models
        self._own_models = own_models
        self._body_bytes = body_bytes

    @operation("The models of the organization, disabled ones too", answers={200: answers.Models})
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        key = req.context.key
        found = self._models.list(organization_id=key.organization_id)
        resp.media = {"models": [_shown(model, key) for model in found if not model.retired]}

    @operation(
        "Add a model of one's own, or change the one of that name (200)",
        body=OwnModelSchema,
        answers={200: answers.Model, 201: answers.Model},
        answer_headers=("Location",),
    )
    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        key, model = req.context.key, load(_OWN, read_json(req, self._body_bytes))
        model_id, added = self._own_models.put(organization_id=key.organization_id, model=model, actor=key.actor)
        resp.status = falcon.HTTP_201 if added else falcon.HTTP_200
        resp.location = f"/api/v1/models/{model_id}"
        resp.media = _shown(self._models.get(organization_id=key.organization_id, model_id=model_id), key)


class Model:
    access = ByKey({"GET": "read", "PATCH": "admin", "DELETE": "admin"})

    def __init__(self, *, models: ModelService, own_models: OwnModelService, body_bytes: int) -> None:
        self._models = models
        self._own_models = own_models
        self._body_bytes = body_bytes

    @operation("One model", answers={200: answers.Model})
    def on_get(self, req: falcon.Request, resp: falcon.Response, model_id: int) -> None:
        key = req.context.key
        resp.media = _shown(self._models.get(organization_id=key.organization_id, model_id=model_id), key)

    @operation(
        "Enable or disable a model, or make it the default",
        body=ModelChangeSchema,
        answers={200: answers.Model},
        errors=(409,),
    )
    def on_patch(self, req: falcon.Request, resp: falcon.Response, model_id: int) -> None:
        key, change = req.context.key, load(_CHANGE, read_json(req, self._body_bytes))
        self._models.choose(organization_id=key.organization_id, model_id=model_id, actor=key.actor, **change)
        resp.media = _shown(self._models.get(organization_id=key.organization_id, model_id=model_id), key)

    @operation("Remove a model of one's own; prompts that name it can't be run", answers={204: None})
    def on_delete(self, req: falcon.Request, resp: falcon.Response, model_id: int) -> None:
        key = req.context.key
        self._own_models.remove(organization_id=key.organization_id, model_id=model_id, actor=key.actor)
        resp.status = falcon.HTTP_204


def _shown(model: LanguageModel, key: ApiKey) -> dict[str, object]:
    return dump_model(model, with_address=ADMIN in key.scopes)
