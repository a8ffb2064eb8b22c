"""Settings: which models the organization uses, those of its own endpoints too."""

from __future__ import annotations

from typing import Any

import falcon

from app.access import ByRole
from app.errors import Invalid, NotFound
from app.models.memberships import Role
from app.web.presenters.confirm import Confirm
from app.web.presenters.own_model import own_model
from app.web.presenters.settings import models_page
from app.web.shell import project_path
from app.web.views.settings_keys import SettingsPage
from app.web.visit import Visit

CHOICES: dict[str, dict[str, Any]] = {
    "enable": {"disabled": False},
    "disable": {"disabled": True},
    "default": {"is_default": True},
}


class Models(SettingsPage):
    access = ByRole({"GET": Role.ADMIN, "POST": Role.ADMIN})

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, problem: str = "") -> None:
        visit: Visit = req.context.visit
        models = self.services.models.list(organization_id=visit.organization_id)
        sent = {name: visit.form.text(name) for name in visit.form.names}
        page = models_page(project_path(project_id), models, sent, problem)
        self.show(req, resp, "settings_models.html", page, status=falcon.HTTP_400 if problem else falcon.HTTP_200)

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        """Add a model of the organization's own."""
        visit: Visit = req.context.visit
        try:
            model = own_model(visit.form)
            self.services.own_models.put(organization_id=visit.organization_id, model=model, actor=visit.actor)
        except Invalid as error:
            return self.on_get(req, resp, project_id, problem=str(error))
        return self.lead(req, resp, _path(project_id), f"{model.name} can be used in prompts.")


class Model(SettingsPage):
    access = ByRole({"POST": Role.ADMIN})

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, model_id: int) -> None:
        visit: Visit = req.context.visit
        chosen = CHOICES.get(visit.form.text("do"))
        if chosen is None:
            raise Invalid("do: There is no such choice.")
        self.services.models.choose(
            organization_id=visit.organization_id, model_id=model_id, actor=visit.actor, **chosen
        )
        self.lead(req, resp, _path(project_id), "The model is changed.")


class RemoveModel(SettingsPage):
    """Only models of the organization's own can go."""

    access = ByRole({"GET": Role.ADMIN, "POST": Role.ADMIN})

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, model_id: int) -> None:
        visit: Visit = req.context.visit
        listed = self.services.models.list(organization_id=visit.organization_id)
        found = next((model for model in listed if model.id == model_id and model.organization_id), None)
        if found is None:
            raise NotFound("The organization has no such model of its own.")
        page = Confirm(
            title=f"Remove {found.name}?",
            words="Prompts that name it can't be run until they name another. What it answered stays in the logs.",
            button="Remove the model",
            action=f"{_path(project_id)}/{model_id}/remove",
            back=_path(project_id),
        )
        self.show(req, resp, "confirm.html", page)

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, model_id: int) -> None:
        visit: Visit = req.context.visit
        self.services.own_models.remove(organization_id=visit.organization_id, model_id=model_id, actor=visit.actor)
        self.lead(req, resp, _path(project_id), "The model is removed.")


def _path(project_id: int) -> str:
    return f"{project_path(project_id)}/settings/models"
