"""One run."""

from __future__ import annotations

import falcon

from app.access import ByRole
from app.models.memberships import Role
from app.web.page import Page
from app.web.presenters.runs import run_page
from app.web.shell import project_path


class RunView(Page):
    access = ByRole({"GET": Role.VIEWER})
    section = "prompts"

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, run_id: int) -> None:
        row = self.services.runs.get(project_id=project_id, run_id=run_id)
        prompt = self.services.prompts.get(project_id=project_id, prompt_id=row.prompt_id, productive=True)
        self.show(req, resp, "run.html", run_page(row, prompt.head.name, project_path(project_id)))
