"""Experiments: repeated replays of a candidate and of a baseline, and the verdict on them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    DefaultClause,
    Float,
    ForeignKey,
    Index,
    Integer,
    UniqueConstraint,
    select,
)

from app.models import queries
from app.models.base import BigInt, Json, LongJson, MediumText, Timestamp, exact, new_table
from app.models.prompt_versions import draft_snapshots
from app.models.replays import CandidateKind

Status = Literal["queued", "running", "finished", "cancelled", "error"]
Verdict = Literal["passed", "failed", "inconclusive"]


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """An experiment as lists show it; `baseline_snapshot_id` is None without a baseline."""

    id: int
    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    prompt_id: Annotated[int, BigInt, ForeignKey("prompts.id")]
    status: Annotated[Status, exact(16)]
    verdict: Annotated[Verdict | None, exact(16)]
    reason: Annotated[str | None, MediumText]
    candidate_kind: Annotated[CandidateKind, exact(8)]
    candidate_commit: Annotated[str | None, exact(64)]
    candidate_snapshot_id: Annotated[int, BigInt, ForeignKey("draft_snapshots.id")]
    baseline_commit: Annotated[str | None, exact(64)]
    baseline_snapshot_id: Annotated[int | None, BigInt, ForeignKey("draft_snapshots.id")]
    # The model that judges, chosen when the experiment was started; none where it is null.
    judge_model_id: Annotated[int | None, BigInt]
    # The numbers that it was asked for with, as in the API.
    design: Annotated[dict[str, Any], Json]
    # Replays that have ended, and those that are planned so far.
    done: Annotated[int, Integer, DefaultClause("0")]
    total: Annotated[int, Integer, DefaultClause("0")]
    created_at: Annotated[datetime, Timestamp]
    started_at: Annotated[datetime | None, Timestamp]
    finished_at: Annotated[datetime | None, Timestamp]


experiments = new_table(
    "experiments",
    ExperimentRow,
    # [{"testCaseId", "name", "snapshotId", "steps"}], in order.
    Column("cases", LongJson, nullable=False),
    # [{"languageModelName", "snapshotId"}] of the models that are compared besides.
    Column("models", Json, nullable=False),
    # What it found, which outlives its replays; NULL until it has ended.
    Column("result", LongJson),
    Index("ix_experiments_prompt_id_id", "prompt_id", "id"),
    Index("ix_experiments_project_id_created_at", "project_id", "created_at"),
    Index("ix_experiments_status_created_at", "status", "created_at"),
)


# The replays of experiments; a replay that is used again belongs to several.
experiment_replays = new_table(
    "experiment_replays",
    Column("experiment_id", BigInt, nullable=False),
    # 0 is the candidate, 1 the baseline, 2 and more the other models in their order.
    Column("arm", Integer, nullable=False),
    Column("test_case_id", BigInt, nullable=False),
    # Counts the replays of an arm and a test case from 0.
    Column("ordinal", Integer, nullable=False),
    Column("replay_id", BigInt, nullable=False),
    Column("reused", Boolean(create_constraint=False), nullable=False, server_default="0"),
    # The most that its model calls in work can cost.
    Column("reserved_usd", Float, nullable=False, server_default="0"),
    UniqueConstraint("experiment_id", "arm", "test_case_id", "ordinal"),
    Index("ix_experiment_replays_replay_id", "replay_id"),
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The outcome of an experiment with the content hashes of its two sides; `baseline` is None without one."""

    status: Status
    verdict: Verdict | None
    candidate: str
    baseline: str | None

    @property
    def passed(self) -> bool:
        return (self.status, self.verdict) == ("finished", "passed")


def find_evidence(connection: Connection, *, prompt_id: int, experiment_id: int) -> Evidence | None:
    c, baseline = experiments.c, draft_snapshots.alias()
    statement = (
        select(c.status, c.verdict, draft_snapshots.c.fingerprint, baseline.c.fingerprint)
        .join(draft_snapshots, draft_snapshots.c.id == c.candidate_snapshot_id)
        .outerjoin(baseline, baseline.c.id == c.baseline_snapshot_id)
        .where(c.id == experiment_id, c.prompt_id == prompt_id)
    )
    return queries.find_row(connection, Evidence, statement)
