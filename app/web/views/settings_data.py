"""Settings: how long the project keeps what, and what it masks before it is stored."""

from __future__ import annotations

import falcon

from app.access import ByRole
from app.errors import Invalid
from app.models.memberships import Role
from app.schemas.base import load
from app.schemas.data_policies import DataPolicySchema
from app.web.presenters.settings_data import data_page, policy_body, sent_again
from app.web.shell import project_path
from app.web.views.settings_keys import SettingsPage
from app.web.visit import Visit


class DataPolicySettings(SettingsPage):
    access = ByRole({"GET": Role.ADMIN, "POST": Role.ADMIN})

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, problem: str = "") -> None:
        policy = self.services.data_policies.get(project_id=project_id)
        page = data_page(project_path(project_id), policy)
        if problem:
            page = sent_again(page, req.context.visit.form, problem)
        self.show(req, resp, "settings_data.html", page, status=falcon.HTTP_400 if problem else falcon.HTTP_200)

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        visit: Visit = req.context.visit
        try:
            policy = load(DataPolicySchema(), policy_body(visit.form))
            self.services.data_policies.put(project_id=project_id, policy=policy, actor=visit.actor)
        except Invalid as error:
            return self.on_get(req, resp, project_id, problem=str(error))
        return self.lead(req, resp, f"{project_path(project_id)}/settings/data", "Saved.")
