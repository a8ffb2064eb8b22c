"""Runs: one row for every call of a prompt, written before its model is called; its state only moves forward."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Column, Connection, Float, Index, Integer, Table, bindparam, insert, select, update

from app.models.base import OPTIONS, BigInt, Json, MediumText, Timestamp, exact, identifier, metadata, reference
from app.models.language_models import language_models
from app.models.organizations import projects

runs = Table(
    "runs",
    metadata,
    identifier(),
    reference("project_id", "projects"),
    reference("prompt_id", "prompts"),
    Column("api_key_id", BigInt),
    Column("source", exact(8), nullable=False),
    Column("status", exact(16), nullable=False),
    # What was asked: fixed when the run is accepted, a draft's text included.
    Column("commit_hash", exact(64)),
    Column("request", Json, nullable=False),
    Column("question", MediumText, nullable=False),
    Column("language_model_id", BigInt, nullable=False),
    # What came of it.
    Column("instruction", MediumText),
    Column("answer", MediumText),
    Column("outcome", Json),
    Column("nok", MediumText),
    Column("error", MediumText),
    Column("error_kind", exact(32)),
    Column("prompt_tokens", Integer, nullable=False, server_default="0"),
    Column("completion_tokens", Integer, nullable=False, server_default="0"),
    Column("cost_usd", Float, nullable=False, server_default="0"),
    Column("response_time_ms", Integer),
    # Who works on it, and when that worker last said so.
    Column("claim", exact(36)),
    Column("alive_at", Timestamp),
    Column("created_at", Timestamp, nullable=False),
    Column("started_at", Timestamp),
    Column("finished_at", Timestamp),
    Index("ix_runs_prompt_id_created_at_id", "prompt_id", "created_at", "id"),
    Index("ix_runs_project_id_created_at", "project_id", "created_at"),
    Index("ix_runs_status_created_at", "status", "created_at"),
    **OPTIONS,
)

RunStatus = Literal["queued", "running", "done", "failed"]
UNFINISHED = ("queued", "running")


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as stored. `request` and `outcome` are the JSON of `app/services/runs/snapshot.py` and `outcome.py`."""

    id: int
    project_id: int
    organization_id: int
    prompt_id: int
    api_key_id: int | None
    source: str
    status: RunStatus
    commit_hash: str | None
    request: dict[str, Any]
    question: str
    language_model_id: int
    model_name: str
    vendor: str
    instruction: str | None
    answer: str | None
    outcome: dict[str, Any] | None
    nok: str | None
    error: str | None
    error_kind: str | None
    response_time_ms: int | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def finished(self) -> bool:
        return self.status not in UNFINISHED


@dataclass(frozen=True, slots=True)
class Claim:
    """A run in work; `alive_at` is when its worker last said so, by that worker's clock."""

    run_id: int
    token: str
    alive_at: datetime


_ELSEWHERE = {
    "organization_id": projects.c.organization_id,
    "model_name": language_models.c.name,
    "vendor": language_models.c.vendor,
}
_COLUMNS = [_ELSEWHERE[name] if name in _ELSEWHERE else runs.c[name] for name in RunRow.__dataclass_fields__]
_ROW = (
    select(*_COLUMNS)
    .join(projects, projects.c.id == runs.c.project_id)
    .join(language_models, language_models.c.id == runs.c.language_model_id)
)
# Built once: every run asks these. (In an UPDATE a parameter may not have the name of a column.)
_ADD_RUN = insert(runs)
_FIND_RUN = _ROW.where(runs.c.id == bindparam("run_id"), runs.c.project_id == bindparam("of_project"))
_STATUS = select(runs.c.status).where(runs.c.id == bindparam("run_id"))
_RUN_IDS = runs.c.id.in_(bindparam("run_ids", expanding=True))
_FIND_RUNS = _ROW.where(_RUN_IDS)
# By its index on states it would lock, and wait for, the queued runs that others claim at the same time.
_CLAIM_RUNS = (
    update(runs).where(_RUN_IDS, runs.c.status == "queued").with_hint("FORCE INDEX (PRIMARY)", dialect_name="mysql")
)
_CLAIMED = _FIND_RUNS.where(runs.c.claim == bindparam("token"))
_FINISH_CLAIMED = update(runs).where(
    runs.c.id == bindparam("run_id"), runs.c.status == "running", runs.c.claim == bindparam("token")
)


def add_run(connection: Connection, *, values: Mapping[str, Any], now: datetime) -> int:
    added = connection.execute(_ADD_RUN, {"status": "queued", "created_at": now, **values})
    return int(added.inserted_primary_key[0])  # type: ignore[index]


def find_run(connection: Connection, *, project_id: int, run_id: int) -> RunRow | None:
    row = connection.execute(_FIND_RUN, {"run_id": run_id, "of_project": project_id}).one_or_none()
    return RunRow(*row) if row else None


def find_runs(connection: Connection, *, run_ids: Collection[int]) -> list[RunRow]:
    """Those that are there, whosever they are: look at `project_id`."""
    return [RunRow(*row) for row in connection.execute(_FIND_RUNS, {"run_ids": list(run_ids)})]


def is_finished(connection: Connection, *, run_id: int) -> bool:
    """False for a run that is not there, too."""
    status = connection.scalar(_STATUS, {"run_id": run_id})
    return status is not None and status not in UNFINISHED


def claim_runs(connection: Connection, *, run_ids: Sequence[int], token: str, now: datetime) -> list[RunRow]:
    """Make the queued ones of these runs the caller's own; somebody was faster with those that are missing."""
    values = {"status": "running", "claim": token, "alive_at": now, "started_at": now}
    if connection.execute(_CLAIM_RUNS, {"run_ids": run_ids, **values}).rowcount == 0:
        return []
    return [RunRow(*row) for row in connection.execute(_CLAIMED, {"run_ids": run_ids, "token": token})]


def finish_claimed(
    connection: Connection, *, claim: Claim, values: Mapping[str, Any], now: datetime, unmoved: bool = False
) -> bool:
    """End a run for the owner of its claim, or for a judge who saw `alive_at` stand still (`unmoved`)."""
    owned = _FINISH_CLAIMED.where(runs.c.alive_at == claim.alive_at) if unmoved else _FINISH_CLAIMED
    parameters = {"run_id": claim.run_id, "token": claim.token, "finished_at": now, **values}
    return connection.execute(owned, parameters).rowcount == 1


def finish_queued(connection: Connection, *, run_id: int, values: Mapping[str, Any], now: datetime) -> bool:
    """End a run that nobody has claimed: after this nobody can."""
    queued = update(runs).where(runs.c.id == run_id, runs.c.status == "queued")
    return connection.execute(queued.values(finished_at=now, **values)).rowcount == 1


def touch_claims(connection: Connection, *, claims: Mapping[int, str], now: datetime) -> None:
    """Say that the workers of these runs ({run id: claim}) are alive."""
    c = runs.c
    mine = update(runs).where(c.id.in_(sorted(claims)), c.claim.in_(claims.values()), c.status == "running")
    connection.execute(mine.values(alive_at=now))


def list_claims(connection: Connection) -> list[Claim]:
    """Every run in work, of all projects."""
    c = runs.c
    return [Claim(*row) for row in connection.execute(select(c.id, c.claim, c.alive_at).where(c.status == "running"))]


def list_queued(connection: Connection, *, limit: int) -> list[tuple[int, datetime]]:
    """(id, created at) of runs of all projects that nobody has claimed, oldest first."""
    c = runs.c
    queued = select(c.id, c.created_at).where(c.status == "queued").order_by(c.created_at, c.id)
    return [(row[0], row[1]) for row in connection.execute(queued.limit(limit))]
