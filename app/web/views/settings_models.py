"""Settings: which models the organization uses."""

from __future__ import annotations

from typing import Any

import falcon

from app.errors import Invalid
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
    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        visit: Visit = req.context.visit
        models = self.services.models.list(organization_id=visit.organization_id)
        self.show(req, resp, "settings_models.html", models_page(project_path(project_id), models))


class Model(SettingsPage):
    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int, model_id: int) -> None:
        visit: Visit = req.context.visit
        chosen = CHOICES.get(visit.form.text("do"))
        if chosen is None:
            raise Invalid("do: There is no such choice.")
        self.services.models.choose(
            organization_id=visit.organization_id, model_id=model_id, actor=visit.actor, **chosen
        )
        self.lead(req, resp, f"{project_path(project_id)}/settings/models", "The model is changed.")
