"""Audits of the gate: schemas of requests and answers."""

from __future__ import annotations

from typing import get_args

from marshmallow import fields, validate

from app.audit.figures import AuditFigures, ProbeOutcome
from app.audit.probes import PROBES
from app.models.judge_audits import Status
from app.schemas.answer import AnswerSchema, answer_of, choice, integer, listing, many, number, one, text, time
from app.schemas.base import JsonNumber, PageQuerySchema
from app.schemas.experiments import AMOUNT_MAX
from app.schemas.replays import JudgeSchema

PROBES_MAX = 200


class StartJudgeAuditSchema(JudgeSchema):
    """`probes` is the number of planted errors, and the most of harmless probes. `maxCost` is in USD."""

    probes = fields.Integer(strict=True, validate=validate.Range(1, PROBES_MAX), load_default=PROBES)
    max_cost = JsonNumber(
        validate=validate.Range(0, AMOUNT_MAX, min_inclusive=False, max_inclusive=False),
        load_default=None,
        allow_none=True,
    )


class JudgeAuditsQuerySchema(PageQuerySchema):
    pass


class AcceptedJudgeAudit(AnswerSchema):
    id = integer()
    status = choice(*get_args(Status))
    prompt_id = integer()


class JudgeAuditSummary(AnswerSchema):
    """An audit in a list.

    `sentence` is the one that experiments have. `stale` is the reason why the audit no longer describes the gate, null
    while it does. `judgeModelName` is null without a judge, or if the model was removed. `judgeSnapshot` is the model
    that the judge's vendor reported, null until it has answered.
    """

    id = integer(attribute="row.id")
    prompt_id = integer(attribute="row.prompt_id")
    status = choice(*get_args(Status), attribute="row.status")
    judge_model_name = text(attribute="judge", allow_none=True)
    judge_snapshot = text(attribute="reported_model", allow_none=True)
    sentence = text(allow_none=True)
    stale = text(allow_none=True)
    figures = one(answer_of(AuditFigures), allow_none=True)
    done = integer(attribute="row.done")
    total = integer(attribute="row.total")
    max_cost = number(attribute="row.max_cost", allow_none=True)
    cost = number(get=lambda view: view.row.prompt_cost_usd + view.row.completion_cost_usd)
    error = text(attribute="row.error", allow_none=True)
    created_at = time(attribute="row.created_at")
    finished_at = time(attribute="row.finished_at", allow_none=True)


class JudgeAuditSchema(JudgeAuditSummary):
    """An audit with the verdict on each probe that was judged, in the order of the probes."""

    outcomes = many(answer_of(ProbeOutcome))


JudgeAudits = listing("judgeAudits", JudgeAuditSummary, paged=True)
