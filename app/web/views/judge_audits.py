"""Audits of a prompt's judge: their list with the button that starts one, and the probes of one."""

from __future__ import annotations

from app.errors import Invalid
from app.http.access import ByRole
from app.models.organizations import Role
from app.schemas.base import load
from app.schemas.judge_audits import JudgeAuditsQuerySchema, StartJudgeAuditSchema
from app.web.page import PAGE_SIZE, PromptPage, Redirect, Reply, show
from app.web.visit import Visit


class JudgeAuditsPage(PromptPage):
    """Lists the audits of a prompt, and starts one."""

    access = ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})
    refusals = (Invalid,)

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        chosen = {"cursor": visit.query["cursor"]} if visit.query.get("cursor") else {}
        query = load(JudgeAuditsQuerySchema(), {"limit": str(PAGE_SIZE), **chosen})
        audits = self.services.judge_audits.list(project_id=visit.project_id, prompt_id=prompt_id, **query)
        return show(
            "judge_audits.html",
            head=self.head(visit, prompt_id),
            audits=audits.entries,
            running=any(not view.row.finished for view in audits.entries),
            pages=visit.pages(audits.next_cursor),
        )

    def post(self, visit: Visit, prompt_id: int) -> Reply:
        row = self.services.judge_audits.start(
            project_id=visit.project_id, prompt_id=prompt_id, **load(StartJudgeAuditSchema(), {})
        )
        self.container.audit_delivery.send([row.id])
        return Redirect(f"{visit.base}/judge-audits/{row.id}")


class JudgeAuditPage(PromptPage):
    """Shows what the judge noticed, by kind, and each probe on which it was wrong."""

    def get(self, visit: Visit, audit_id: int) -> Reply:
        view = self.services.judge_audits.get(project_id=visit.project_id, audit_id=audit_id)
        return show(
            "judge_audit.html",
            view=view,
            head=self.head(visit, view.row.prompt_id),
            figures=view.figures,
            misses=[outcome for outcome in view.outcomes if not outcome.is_right],
        )
