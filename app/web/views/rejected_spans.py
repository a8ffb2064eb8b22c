"""Spans that were not stored."""

from __future__ import annotations

import falcon

from app.access import ByRole
from app.models.memberships import Role
from app.web.page import Page
from app.web.presenters.lists import PAGE
from app.web.presenters.rejected_spans import rejected_page


class RejectedSpans(Page):
    access = ByRole({"GET": Role.VIEWER})
    section = "rejected"

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        query = self.query(req)
        page = self.services.logs.rejected(
            project_id=project_id, prompt_id=None, limit=PAGE, cursor=query.get("cursor")
        )
        self.show(req, resp, "rejected_spans.html", rejected_page(page, query))
