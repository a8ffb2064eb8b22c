"""Settings: the project's name, and further projects."""

from __future__ import annotations

import falcon

from app.access import ByRole
from app.errors import Invalid
from app.models.memberships import Role
from app.web.presenters.settings import ProjectPage
from app.web.presenters.tabs import settings_tabs
from app.web.shell import project_path
from app.web.views.settings_keys import SettingsPage
from app.web.visit import Visit


class ProjectSettings(SettingsPage):
    access = ByRole({"GET": Role.ADMIN, "POST": Role.ADMIN})

    def on_get(
        self, req: falcon.Request, resp: falcon.Response, project_id: int, problem: str = "",
        status: str = falcon.HTTP_200,
    ) -> None:  # fmt: skip
        page = ProjectPage(settings_tabs(project_path(project_id), "project"), problem)
        self.show(req, resp, "settings_project.html", page, status=status)

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        visit: Visit = req.context.visit
        try:
            if visit.form.text("do") == "create":
                return self._create(req, resp, visit)
            self.services.projects.rename(project_id=project_id, name=visit.form.text("name"), actor=visit.actor)
        except Invalid as error:
            return self.on_get(req, resp, project_id, problem=str(error), status=falcon.HTTP_400)
        return self.lead(req, resp, f"{project_path(project_id)}/settings/project", "The project is renamed.")

    def _create(self, req: falcon.Request, resp: falcon.Response, visit: Visit) -> None:
        project_id = self.services.projects.create(
            organization_id=visit.organization_id, name=visit.form.text("name"), actor=visit.actor
        )
        self.lead(req, resp, f"{project_path(project_id)}/start", "The project is made.")
