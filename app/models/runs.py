"""Runs: one row for every call of a prompt, written before its model is called; its state only moves forward."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Column, Connection, Float, Index, Integer, Table, bindparam, insert, select

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
# Built once: every run executes these.
_ADD_RUN = insert(runs)
_FIND_RUN = _ROW.where(runs.c.id == bindparam("run_id"), runs.c.project_id == bindparam("of_project"))
_STATUS = select(runs.c.status).where(runs.c.id == bindparam("run_id"))
_FIND_RUNS = _ROW.where(runs.c.id.in_(bindparam("run_ids", expanding=True)))
_FIND_CLAIMED = _FIND_RUNS.where(runs.c.claim == bindparam("token"))


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


def find_claimed(connection: Connection, *, run_ids: Collection[int], token: str) -> list[RunRow]:
    """Those of the runs that the worker with `token` has claimed."""
    return [RunRow(*row) for row in connection.execute(_FIND_CLAIMED, {"run_ids": list(run_ids), "token": token})]
