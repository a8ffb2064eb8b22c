"""What the project has used: as a page, and as CSV."""

from __future__ import annotations

import falcon

from app.access import ByRole
from app.models.memberships import Role
from app.schemas.usage import usage_csv
from app.services.runs.usage import UsageRow
from app.web.page import Page
from app.web.presenters.usage import Names, Question, asked, usage_page
from app.web.shell import project_path

PROMPTS_NAMED = 500


class _Usage(Page):
    section = "usage"

    def rows(self, project_id: int, question: Question, *groups: str) -> list[UsageRow]:
        wanted = question.wanted(self.site.now().date())
        return self.services.usage.read(project_id=project_id, wanted=wanted, group_by=groups)


class UsageView(_Usage):
    access = ByRole({"GET": Role.VIEWER})

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        question = asked(self.query(req))
        prompts = self.services.prompts.list(project_id=project_id, limit=PROMPTS_NAMED).prompts
        keys = self.services.keys.list(project_id=project_id)
        page = usage_page(
            question,
            self.site.now().date(),
            self.rows(project_id, question, "day"),
            self.rows(project_id, question, question.by),
            Names({one.id: one.name for one in prompts}, {key.id: key.name for key in keys}),
            project_path(project_id),
        )
        self.show(req, resp, "usage.html", page)


class UsageCsv(_Usage):
    """Each day and each of what is grouped by."""

    access = ByRole({"GET": Role.VIEWER})

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        question = asked(self.query(req))
        groups = ("day", question.by)
        resp.content_type = "text/csv; charset=utf-8; header=present"
        resp.downloadable_as = f"usage-by-{question.by}.csv"
        resp.text = usage_csv(self.rows(project_id, question, *groups), groups)
