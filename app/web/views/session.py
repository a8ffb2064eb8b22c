"""A recorded session, and one of its spans."""

from __future__ import annotations

import falcon

from app.access import ByRole
from app.models.memberships import Role
from app.web.page import Page
from app.web.presenters.session import session_page, span_page
from app.web.shell import project_path


class SessionView(Page):
    access = ByRole({"GET": Role.VIEWER})
    section = "prompts"

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, session_id: str) -> None:
        session = self.services.sessions.get(project_id=project_id, session_id=session_id)
        prompt = self.services.prompts.get(project_id=project_id, prompt_id=session.prompt_id, productive=True)
        self.show(req, resp, "session.html", session_page(session, prompt.head.name, project_path(project_id)))


class SpanView(Page):
    access = ByRole({"GET": Role.VIEWER})
    section = "prompts"

    def on_get(
        self, req: falcon.Request, resp: falcon.Response, project_id: int, session_id: str, span_id: str
    ) -> None:
        session = self.services.sessions.get(project_id=project_id, session_id=session_id)
        self.show(req, resp, "span.html", span_page(session, span_id, project_path(project_id)))
