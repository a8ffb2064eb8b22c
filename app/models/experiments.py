"""Experiments: repeated replays of a candidate and of a baseline, and the verdict on them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    DefaultClause,
    ForeignKey,
    FromClause,
    Index,
    Integer,
    func,
    select,
    update,
)

from app.experiments.types import Verdict
from app.models.base import BigInt, Json, LongJson, MediumText, Timestamp, exact, lock_count, new_table
from app.models.prompt_versions import draft_snapshots
from app.models.queries import columns_of, count_rows, find_row, in_order, list_rows, lock_rows
from app.models.replays import UNFINISHED, CandidateKind

Status = Literal["queued", "running", "finished", "cancelled", "error"]
Kind = Literal["experiment", "guard_map"]
"""An experiment, or a guard map, which is an experiment on mutants of a prompt's text (`app.guard`)."""


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """An experiment as lists show it; `baseline_snapshot_id` is None without a baseline."""

    id: int
    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    prompt_id: Annotated[int, BigInt, ForeignKey("prompts.id")]
    kind: Annotated[Kind, exact(16), DefaultClause("experiment")]
    status: Annotated[Status, exact(16)]
    verdict: Annotated[Verdict | None, exact(16)]
    reason: Annotated[str | None, MediumText]
    candidate_kind: Annotated[CandidateKind, exact(8)]
    candidate_commit: Annotated[str | None, exact(64)]
    candidate_snapshot_id: Annotated[int, BigInt, ForeignKey("draft_snapshots.id")]
    candidate_fingerprint: str
    # The program that is played in the place of the prompt, as the snapshot has it; None for the prompt's own content.
    candidate_external: dict[str, Any] | None
    baseline_commit: Annotated[str | None, exact(64)]
    baseline_snapshot_id: Annotated[int | None, BigInt, ForeignKey("draft_snapshots.id")]
    baseline_fingerprint: str | None
    baseline_external: dict[str, Any] | None
    # The model that judges, chosen when the experiment was started; none where it is null.
    judge_model_id: Annotated[int | None, BigInt]
    # The parameters that the experiment was started with, as in the API.
    design: Annotated[dict[str, Any], Json]
    # The numbers of replays that have ended and that are planned so far.
    done: Annotated[int, Integer, DefaultClause("0")]
    total: Annotated[int, Integer, DefaultClause("0")]
    # The JSON of `app.services.experiments.findings.Summary` as of the last advance; of a guard map the JSON of
    # `app.services.experiments.guard_plan.Decided`.
    summary: Annotated[dict[str, Any], Json]
    created_at: Annotated[datetime, Timestamp]
    started_at: Annotated[datetime | None, Timestamp]
    finished_at: Annotated[datetime | None, Timestamp]

    @property
    def finished(self) -> bool:
        return self.status not in UNFINISHED


experiments = new_table(
    "experiments",
    ExperimentRow,
    # [{"testCaseId", "name", "snapshotId", "steps"}], in order.
    Column("cases", LongJson, nullable=False),
    # [{"languageModelName", "snapshotId"}] of the other compared models; of a guard map its mutants.
    Column("models", Json, nullable=False),
    # The findings on each test case, which outlive its replays; NULL until the experiment has ended.
    Column("result", LongJson),
    lock_count(),
    Index("ix_experiments_prompt_id_kind_id", "prompt_id", "kind", "id"),
    Index("ix_experiments_project_id_created_at", "project_id", "created_at"),
    Index("ix_experiments_status_created_at", "status", "created_at"),
)


@dataclass(frozen=True, slots=True)
class Contents:
    """The test cases and models of an experiment, as they are stored."""

    cases: list[dict[str, Any]]
    models: list[dict[str, Any]]


_E = experiments.c
_CANDIDATE, _BASELINE = draft_snapshots.alias("candidate"), draft_snapshots.alias("baseline")


def _is_snapshot(snapshot: FromClause, snapshot_id: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that a row is this snapshot of an experiment and has its prompt."""
    return (snapshot.c.id == snapshot_id) & (snapshot.c.prompt_id == _E.prompt_id)


_OF_SNAPSHOTS = {
    "candidate_fingerprint": _CANDIDATE.c.fingerprint,
    "candidate_external": _CANDIDATE.c.external,
    "baseline_fingerprint": _BASELINE.c.fingerprint,
    "baseline_external": _BASELINE.c.external,
}
_IS_EXPERIMENT = _E.kind == "experiment"
_ROW = (
    select(*columns_of(ExperimentRow, experiments, **_OF_SNAPSHOTS))
    .join(_CANDIDATE, _is_snapshot(_CANDIDATE, _E.candidate_snapshot_id))
    .outerjoin(_BASELINE, _is_snapshot(_BASELINE, _E.baseline_snapshot_id))
)


def find_experiment(
    connection: Connection, *, project_id: int, experiment_id: int, kind: Kind = "experiment"
) -> ExperimentRow | None:
    found = _ROW.where(_E.id == experiment_id, _E.project_id == project_id, _E.kind == kind)
    return find_row(connection, ExperimentRow, found)


def find_unfinished(connection: Connection, *, experiment_id: int) -> ExperimentRow | None:
    return find_row(connection, ExperimentRow, _ROW.where(_E.id == experiment_id, _E.status.in_(UNFINISHED)))


def queued_maps(connection: Connection, *, limit: int) -> list[ExperimentRow]:
    """Return the guard maps that have not begun to play, the oldest first."""
    maps = _ROW.where(_E.kind == "guard_map", _E.status == "queued").order_by(_E.created_at, _E.id)
    return list_rows(connection, ExperimentRow, maps.limit(limit))


def unfinished_of_prompt(connection: Connection, *, prompt_id: int) -> list[int]:
    """Return the ids of the experiments of a prompt that have not ended."""
    return list(connection.scalars(select(_E.id).where(_E.prompt_id == prompt_id, _E.status.in_(UNFINISHED))))


def contents_of(connection: Connection, *, experiment_id: int) -> Contents:
    """Return the test cases and the models of an experiment. Raises `NoResultFound` for an unknown one."""
    return Contents(*connection.execute(select(_E.cases, _E.models).where(_E.id == experiment_id)).one())


def result_of(connection: Connection, *, experiment_id: int) -> dict[str, Any] | None:
    """Return the JSON of its `app.services.experiments.findings.Findings`, None until it has ended."""
    result: dict[str, Any] | None = connection.scalar(select(_E.result).where(_E.id == experiment_id))
    return result


def newest_finished(connection: Connection, *, prompt_id: int) -> ExperimentRow | None:
    """Return the prompt's newest experiment that has a verdict."""
    finished = _ROW.where(_E.prompt_id == prompt_id, _IS_EXPERIMENT, _E.status == "finished")
    return find_row(connection, ExperimentRow, finished.order_by(_E.id.desc()).limit(1))


def newest_map(connection: Connection, *, prompt_id: int) -> ExperimentRow | None:
    """Return the newest guard map of a prompt."""
    maps = _ROW.where(_E.prompt_id == prompt_id, _E.kind == "guard_map").order_by(_E.id.desc()).limit(1)
    return find_row(connection, ExperimentRow, maps)


def prompts_with_verdict(connection: Connection, *, project_id: int, prompt_ids: Collection[int]) -> set[int]:
    """Return which of these prompts have an experiment with a verdict."""
    finished = (*_of_prompts(project_id, prompt_ids), _E.status == "finished")
    return set(connection.scalars(select(_E.prompt_id).where(*finished).distinct()))


def newest_of_prompts(
    connection: Connection, *, project_id: int, prompt_ids: Collection[int], limit: int
) -> list[ExperimentRow]:
    """List the newest experiment with a verdict of each prompt, newest first."""
    finished = (*_of_prompts(project_id, prompt_ids), _E.status == "finished")
    newest = select(func.max(_E.id)).where(*finished).group_by(_E.prompt_id)
    statement = _ROW.where(_E.project_id == project_id, _E.id.in_(newest)).order_by(_E.id.desc()).limit(limit)
    return list_rows(connection, ExperimentRow, statement)


def _of_prompts(project_id: int, prompt_ids: Collection[int]) -> list[ColumnElement[bool]]:
    return [_E.project_id == project_id, _E.prompt_id.in_(sorted(prompt_ids)), _IS_EXPERIMENT]


def list_passed_programs(connection: Connection, *, prompt_id: int, limit: int) -> list[dict[str, Any]]:
    """List the programs of a prompt's newest experiments that passed, the newest first."""
    passed = (_E.prompt_id == prompt_id, _E.verdict == "passed", _E.candidate_kind == "external")
    statement = select(_CANDIDATE.c.external).join(_CANDIDATE, _is_snapshot(_CANDIDATE, _E.candidate_snapshot_id))
    newest = statement.where(*passed, _CANDIDATE.c.external.is_not(None)).order_by(_E.id.desc()).limit(limit)
    return list(connection.scalars(newest))


def list_experiments(
    connection: Connection,
    *,
    prompt_id: int,
    verdict: Verdict | None,
    before_id: int | None,
    limit: int,
    newest_first: bool = True,
    kind: Kind = "experiment",
) -> list[ExperimentRow]:
    """List a prompt's experiments after `before_id`, optionally only those with one verdict."""
    chosen = _ROW.where(*_found(prompt_id, verdict, kind))
    statement = in_order(chosen, _E.id, _E.id, descending=newest_first, last_id=before_id, limit=limit)
    return list_rows(connection, ExperimentRow, statement)


def count_experiments(
    connection: Connection, *, prompt_id: int, verdict: Verdict | None, kind: Kind = "experiment"
) -> int:
    return count_rows(connection, select(_E.id).where(*_found(prompt_id, verdict, kind)))


def _found(prompt_id: int, verdict: Verdict | None, kind: Kind) -> list[ColumnElement[bool]]:
    return [_E.prompt_id == prompt_id, _E.kind == kind, *([] if verdict is None else [_E.verdict == verdict])]


def lock_unfinished(connection: Connection, *, experiment_id: int) -> bool:
    """Lock the experiment until the commit; returns False if it has ended or does not exist."""
    statement = select(_E.id).where(_E.id == experiment_id, _E.status.in_(UNFINISHED)).with_for_update()
    return connection.execute(statement).one_or_none() is not None


def lock_experiment(connection: Connection, *, experiment_id: int) -> None:
    """Lock the experiment until the commit, whether it has ended or not."""
    lock_rows(connection, experiments, _E.id == experiment_id)


def change_experiment(connection: Connection, *, experiment_id: int, values: dict[str, Any]) -> None:
    connection.execute(update(experiments).where(_E.id == experiment_id).values(values))


@dataclass(frozen=True, slots=True)
class ExperimentEvidence:
    """An outcome, with the content hashes of both sides, for guarded labels; `baseline` is None without one.

    `design`, `summary` and `cases` are the JSON of the experiment's columns.
    """

    status: Status
    verdict: Verdict | None
    candidate: str
    baseline: str | None
    design: dict[str, Any]
    summary: dict[str, Any]
    cases: list[dict[str, Any]]
    judge_model_id: int | None
    finished_at: datetime | None

    @property
    def passed(self) -> bool:
        return (self.status, self.verdict) == ("finished", "passed")


def find_evidence(connection: Connection, *, prompt_id: int, experiment_id: int) -> ExperimentEvidence | None:
    """Return what a guarded label needs to know of an experiment of the prompt."""
    baseline = draft_snapshots.alias()
    sides = (draft_snapshots.c.fingerprint, baseline.c.fingerprint)
    statement = (
        select(_E.status, _E.verdict, *sides, _E.design, _E.summary, _E.cases, _E.judge_model_id, _E.finished_at)
        .join(draft_snapshots, _is_snapshot(draft_snapshots, _E.candidate_snapshot_id))
        .outerjoin(baseline, _is_snapshot(baseline, _E.baseline_snapshot_id))
        .where(_E.id == experiment_id, _E.prompt_id == prompt_id)
    )
    return find_row(connection, ExperimentEvidence, statement)
