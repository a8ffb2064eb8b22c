"""A prompt's log, and the prompt's own address, which leads to its first page."""

from __future__ import annotations

import falcon

from app.access import ByRole
from app.models.memberships import Role
from app.web.page import Page
from app.web.presenters.lists import PAGE
from app.web.presenters.prompt_logs import log_filter, logs_page
from app.web.shell import project_path


class PromptLogs(Page):
    access = ByRole({"GET": Role.VIEWER})
    section = "prompts"

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int) -> None:
        query = self.query(req)
        wanted = log_filter(query, self.site.now())
        prompt = self.services.prompts.get(project_id=project_id, prompt_id=prompt_id, productive=True)
        page = self.services.logs.page(
            project_id=project_id, prompt_id=prompt_id, wanted=wanted, limit=PAGE, cursor=query.get("cursor")
        )
        shown = logs_page(prompt.head.name, project_path(project_id), prompt_id, page, query, since=wanted.from_at)
        self.show(req, resp, "prompt_logs.html", shown)
