"""The audit of an experiment's judge: how it bounds the verdict, and the sentence that the verdict has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reprise_formats.formats import percent
from sqlalchemy import Connection

from app.audit.figures import AuditFigures, lets_pass
from app.experiments.types import Decision
from app.models import judge_audits
from app.models.experiments import ExperimentRow
from app.models.judge_audits import JudgeAuditRow
from app.services.audits.service import sentence_of
from app.services.experiments.plan import Plan
from app.values.structs import convert

Decisions = Mapping[int, Decision]
REMOVED = "The audit of the judge was removed."


def audit_of(connection: Connection, plan: Plan) -> JudgeAuditRow | None:
    """Return the audit of the judge; None for an experiment of an earlier release, or once it is removed."""
    audit_id = plan.parameters.audit_id
    if audit_id is None:
        return None
    return judge_audits.find_audit(connection, project_id=plan.row.project_id, audit_id=audit_id)


def waits_for(audit: JudgeAuditRow | None, decisions: Decisions) -> bool:
    """Return True if the audit has not ended and may change a verdict: it only makes a passed one inconclusive."""
    running = audit is not None and not audit.finished
    return running and any(decision.verdict == "passed" for decision in decisions.values())


def audited(decisions: Decisions, plan: Plan, audit: JudgeAuditRow | None) -> Decisions:
    """Return the decisions; a passed one is inconclusive if the audit shows that the judge lets errors pass."""
    least = plan.parameters.min_judge_caught
    if audit is None or audit.figures is None or not lets_pass(convert(audit.figures, AuditFigures), least):
        return decisions
    sentence = (sentence_of(audit) or "").rstrip(".")
    reason = f"{sentence}, and {percent(least)} is the least (minJudgeCaught)"
    return {
        arm: replace(decision, verdict="inconclusive", reason=reason) if decision.verdict == "passed" else decision
        for arm, decision in decisions.items()
    }


def with_sentences(connection: Connection, project_id: int, rows: Sequence[ExperimentRow]) -> list[ExperimentRow]:
    """Return the experiments with the sentences of audits that ended after them.

    An experiment that does not wait for its audit ends without the sentence.
    """
    unknown = {audit["id"] for row in rows if (audit := _without_sentence(row))}
    audits = judge_audits.list_by_ids(connection, project_id=project_id, audit_ids=unknown) if unknown else []
    sentences = dict.fromkeys(unknown, REMOVED) | {audit.id: sentence_of(audit) for audit in audits}
    return [_with_sentence(row, sentences) for row in rows]


def _without_sentence(row: ExperimentRow) -> dict[str, Any] | None:
    """Return the audit in the summary of an ended experiment if its sentence is not stored there."""
    audit: dict[str, Any] | None = row.summary.get("judgeAudit") if row.finished else None
    return audit if audit and audit["sentence"] is None else None


def _with_sentence(row: ExperimentRow, sentences: Mapping[int, str | None]) -> ExperimentRow:
    audit = _without_sentence(row)
    if audit is None:
        return row
    return replace(row, summary={**row.summary, "judgeAudit": {**audit, "sentence": sentences[audit["id"]]}})
