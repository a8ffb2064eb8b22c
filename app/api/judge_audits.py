"""Audits of the gate: start one, list them, read one with its probes, cancel one."""

from __future__ import annotations

from app.api.operation import Command, Resource, operation
from app.models.api_keys import ApiKey
from app.models.judge_audits import JudgeAuditRow
from app.pagination import ListPage
from app.schemas import judge_audits as schemas
from app.services.audits.service import JudgeAuditView


class PromptJudgeAudits(Resource, GET="read", POST="run"):
    @operation(
        "The audits of the prompt's judge, newest first",
        query=schemas.JudgeAuditsQuerySchema,
        answers={200: schemas.JudgeAudits},
    )
    def on_get(self, key: ApiKey, prompt_id: int, command: Command) -> ListPage[JudgeAuditView]:
        return self.services.judge_audits.list(project_id=key.project_id, prompt_id=prompt_id, **command)

    @operation(
        "Plant errors in the test cases' texts and count which of them the judge notices",
        body=schemas.StartJudgeAuditSchema,
        body_optional=True,
        answers={202: schemas.AcceptedJudgeAudit},
        location="/api/v1/judge-audits/{id}",
        errors=(404,),
    )
    def on_post(self, key: ApiKey, prompt_id: int, command: Command) -> JudgeAuditRow:
        row = self.services.judge_audits.start(project_id=key.project_id, prompt_id=prompt_id, **command)
        self.container.audit_delivery.send([row.id])
        return row


class JudgeAuditResource(Resource, GET="read"):
    @operation("One audit with the verdict on each probe", answers={200: schemas.JudgeAuditSchema})
    def on_get(self, key: ApiKey, audit_id: int) -> JudgeAuditView:
        return self.services.judge_audits.get(project_id=key.project_id, audit_id=audit_id)


class JudgeAuditCancellation(Resource, POST="run"):
    """Keys that may start audits may cancel them."""

    @operation("Cancel an audit", answers={200: schemas.JudgeAuditSchema}, errors=(409,))
    def on_post(self, key: ApiKey, audit_id: int) -> JudgeAuditView:
        view = self.services.judge_audits.cancel(project_id=key.project_id, audit_id=audit_id)
        self.container.replay_delivery.send(self.services.experiments.advancer.audit_ended(view.row.prompt_id))
        return view
