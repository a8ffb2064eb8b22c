"""Audits of the gate: one row for each, which is record, work item and result."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from sqlalchemy import Column, Connection, DefaultClause, Float, ForeignKey, Index, Integer, and_, or_, select

from app.models.base import BigInt, Json, LongJson, MediumText, Timestamp, exact, new_table
from app.models.organizations import projects
from app.models.queries import columns_of, find_row, list_rows, newest_first
from app.models.replays import UNFINISHED

Status = Literal["queued", "running", "finished", "error", "cancelled"]


@dataclass(frozen=True, slots=True)
class JudgeAuditRow:
    """An audit; `done` of `total` probes are judged.

    `basis` is the JSON of `app.audit.staleness.AuditBasis`. `figures` is that of `app.audit.figures.AuditFigures`, None
    until the audit has ended.
    """

    id: int
    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    organization_id: int
    prompt_id: Annotated[int, BigInt, ForeignKey("prompts.id")]
    status: Annotated[Status, exact(16)]
    # The model that judges; none where it is null.
    judge_model_id: Annotated[int | None, BigInt]
    # No foreign key: the audit outlives the snapshot.
    draft_snapshot_id: Annotated[int, BigInt]
    seed: Annotated[str, exact(64)]
    probes: Annotated[int, Integer]
    max_cost: Annotated[float | None, Float]
    basis: Annotated[dict[str, Any], LongJson]
    figures: Annotated[dict[str, Any] | None, Json]
    done: Annotated[int, Integer, DefaultClause("0")]
    total: Annotated[int, Integer, DefaultClause("0")]
    error: Annotated[str | None, MediumText]
    prompt_cost_usd: Annotated[float, Float, DefaultClause("0")]
    completion_cost_usd: Annotated[float, Float, DefaultClause("0")]
    claim: Annotated[str | None, exact(36)]
    attempts: Annotated[int, Integer, DefaultClause("0")]
    alive_at: Annotated[datetime | None, Timestamp]
    created_at: Annotated[datetime, Timestamp]
    started_at: Annotated[datetime | None, Timestamp]
    finished_at: Annotated[datetime | None, Timestamp]

    @property
    def finished(self) -> bool:
        return self.status not in UNFINISHED


judge_audits = new_table(
    "judge_audits",
    JudgeAuditRow,
    # {test case: snapshot} of the audited test cases.
    Column("snapshots", LongJson, nullable=False),
    # The JSON of the probes, NULL until they are drawn, and the verdicts by the probe's index.
    Column("drawn", LongJson),
    Column("verdicts", LongJson),
    Index("ix_judge_audits_prompt_id_id", "prompt_id", "id"),
    Index("ix_judge_audits_project_id_created_at", "project_id", "created_at"),
    Index("ix_judge_audits_status_created_at", "status", "created_at"),
)
_C = judge_audits.c
_ROW = select(*columns_of(JudgeAuditRow, judge_audits, organization_id=projects.c.organization_id)).join(
    projects, projects.c.id == _C.project_id
)


@dataclass(frozen=True, slots=True)
class AuditWork:
    """What a worker reads and adds to: {test case: snapshot}, the probes, and {index of a probe: verdict}."""

    snapshots: dict[str, int]
    drawn: list[dict[str, Any]] | None
    verdicts: dict[str, dict[str, Any]] | None


def find_audit(connection: Connection, *, project_id: int, audit_id: int) -> JudgeAuditRow | None:
    return find_row(connection, JudgeAuditRow, _ROW.where(_C.id == audit_id, _C.project_id == project_id))


def list_by_ids(connection: Connection, *, project_id: int, audit_ids: Collection[int]) -> list[JudgeAuditRow]:
    """List the audits with these ids, of which some may be removed; they are at most as many as a page has entries."""
    statement = _ROW.where(_C.id.in_(sorted(audit_ids)), _C.project_id == project_id)
    return list_rows(connection, JudgeAuditRow, statement)


def find_audit_by_id(connection: Connection, *, audit_id: int) -> JudgeAuditRow | None:
    """Return an audit of any project, for the actor that runs it; None if it was removed."""
    return find_row(connection, JudgeAuditRow, _ROW.where(_C.id == audit_id))


def work_of(connection: Connection, *, audit_id: int) -> AuditWork:
    """Return what an audit has frozen, drawn and asked so far."""
    statement = select(_C.snapshots, _C.drawn, _C.verdicts).where(_C.id == audit_id)
    return AuditWork(*connection.execute(statement).one())


def list_audits(
    connection: Connection, *, prompt_id: int, before_id: int | None = None, limit: int
) -> list[JudgeAuditRow]:
    """List the audits of a prompt, newest first."""
    statement = newest_first(_ROW.where(_C.prompt_id == prompt_id), _C.id, before_id=before_id, limit=limit)
    return list_rows(connection, JudgeAuditRow, statement)


def latest_audit(
    connection: Connection, *, prompt_id: int, judge_model_id: int | None, probes: int, max_cost: float
) -> JudgeAuditRow | None:
    """Return the newest audit of a prompt with a judge, without ended ones that have an error or were cancelled.

    It has at least so many `probes`. A lower limit of its cost than `max_cost` has left none of them out.
    """
    judge = _C.judge_model_id.is_(None) if judge_model_id is None else _C.judge_model_id == judge_model_id
    whole = and_(_C.status == "finished", _C.done == _C.total)
    enough = and_(_C.probes >= probes, or_(_C.max_cost.is_(None), _C.max_cost >= max_cost, whole))
    statement = _ROW.where(_C.prompt_id == prompt_id, judge, _C.status.not_in(("error", "cancelled")), enough)
    return find_row(connection, JudgeAuditRow, newest_first(statement, _C.id, before_id=None, limit=1))
