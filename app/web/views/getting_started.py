"""The first four steps of a project."""

from __future__ import annotations

import falcon

from app.access import ByRole
from app.models.memberships import Role
from app.web.page import Page
from app.web.presenters.getting_started import start_page
from app.web.shell import project_path
from app.web.visit import Visit

KEY_NAME = "First key"


class GettingStarted(Page):
    access = ByRole({"GET": Role.VIEWER, "POST": Role.ADMIN})
    section = "start"

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, secret: str | None = None) -> None:
        progress = self.services.overview.progress(project_id=project_id)
        newest = self.services.prompts.list(project_id=project_id, limit=1).prompts
        page = start_page(
            progress,
            newest[0] if newest else None,
            base=project_path(project_id),
            base_url=self.base_url,
            secret=secret,
        )
        self.show(req, resp, "getting_started.html", page)

    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        visit: Visit = req.context.visit
        made = self.services.keys.create(project_id=project_id, name=KEY_NAME, actor=visit.actor)
        self.on_get(req, resp, project_id, secret=made.secret)
