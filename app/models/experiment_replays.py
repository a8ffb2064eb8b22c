"""Queries on the replays of an experiment: list, progress, reusable results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Float,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    func,
    insert,
    select,
    type_coerce,
    update,
)

from app.experiments.behaviour import Behaviour
from app.models.base import BigInt, new_table
from app.models.experiments import experiments
from app.models.language_models import language_models
from app.models.organizations import projects
from app.models.prompt_versions import draft_snapshots
from app.models.queries import KEYS_PER_STATEMENT, columns_of, count_rows, id_pairs, list_rows, pieces
from app.models.replays import UNFINISHED, replays

# The statuses of replays that count as a result of the candidate.
COUNTED = ("passed", "failed", "needs_review", "void")
ERROR_CHARACTERS = 1000
REPLAYS_OF_MEAN_COST = 5
# Replays of one content and test case: more than any experiment needs.
REUSABLE_MAX = 200


# The replays of experiments. A reused replay belongs to several. Arms of equal content share the replays of the first
# of them.
experiment_replays = new_table(
    "experiment_replays",
    Column("experiment_id", BigInt, nullable=False),
    # 0 is the candidate, 1 the baseline, 2 and more the other models or the mutants of a guard map, in their order.
    Column("arm", Integer, nullable=False),
    Column("test_case_id", BigInt, nullable=False),
    # 0 is the recording, 1 and more the variants of the test case in their order.
    Column("variant", Integer, nullable=False, server_default="0"),
    # Counts the replays of an arm and a test case or variant from 0.
    Column("ordinal", Integer, nullable=False),
    Column("replay_id", BigInt, nullable=False),
    Column("reused", Boolean(create_constraint=False), nullable=False, server_default="0"),
    # The most that its model calls in work can cost.
    Column("reserved_usd", Float, nullable=False, server_default="0"),
    UniqueConstraint(
        "experiment_id", "arm", "test_case_id", "variant", "ordinal", name="uq_experiment_replays_series_ordinal"
    ),
    Index("ix_experiment_replays_replay_id", "replay_id"),
)


SnapshotFaults = tuple[int, str | None]
"""The snapshot of a test case, and the faults of its replays as they are stored."""


@dataclass(frozen=True, slots=True)
class PlayedRow:
    """A replay of an experiment; `status` is None for one that was removed."""

    arm: int
    test_case_id: int
    variant: int
    ordinal: int
    replay_id: int
    reused: bool
    status: str | None
    answers_digest: str | None
    violated: bool
    accepted_partial: bool
    attempts: int
    prompt_tokens: int
    completion_tokens: int
    prompt_cost_usd: float
    completion_cost_usd: float
    started_at: datetime | None
    finished_at: datetime | None


_E, _L, _R = experiments.c, experiment_replays.c, replays.c  # L: the link between the two
_LINK = {name: _L[name] for name in ("arm", "test_case_id", "variant", "ordinal", "replay_id", "reused")}
_COUNTS = ("attempts", "prompt_tokens", "completion_tokens", "prompt_cost_usd", "completion_cost_usd")
_VIOLATED = func.coalesce(type_coerce(_R.violations, Text) != "[]", False)
# The columns of a replay; zeros for one that was removed.
_REPLAY = {name: func.coalesce(_R[name], 0) for name in _COUNTS} | {"violated": _VIOLATED}
_REPLAY["accepted_partial"] = func.coalesce(_R.accepted_partial, False)
_PLAYED = (
    select(*columns_of(PlayedRow, replays, **_LINK, **_REPLAY))
    .select_from(experiment_replays)
    .outerjoin(replays, replays.c.id == _L.replay_id)
    .order_by(_L.arm, _L.test_case_id, _L.variant, _L.ordinal)
)


def played_of(connection: Connection, *, experiment_id: int) -> list[PlayedRow]:
    """List an experiment's replays, by arm and test case, in order of ordinal."""
    return list_rows(connection, PlayedRow, _PLAYED.where(_L.experiment_id == experiment_id))


def count_replays(connection: Connection, *, experiment_id: int) -> int:
    return count_rows(connection, select(_L.id).where(_L.experiment_id == experiment_id))


def unfinished_of_replay(connection: Connection, *, replay_id: int) -> list[int]:
    """Return the ids of the unfinished experiments that a replay belongs to."""
    linked = select(_L.experiment_id).where(_L.replay_id == replay_id)
    return list(connection.scalars(select(_E.id).where(_E.id.in_(linked), _E.status.in_(UNFINISHED)).order_by(_E.id)))


def started_by(connection: Connection, *, replay_id: int) -> int | None:
    """Return the id of the experiment that started a replay."""
    return connection.scalar(select(_L.experiment_id).where(_L.replay_id == replay_id, _L.reused.is_(False)))


def is_violated(connection: Connection, *, replay_id: int) -> bool:
    return connection.scalar(select(_R.id).where(_R.id == replay_id, _VIOLATED)) is not None


def count_in_work(connection: Connection, *, experiment_id: int) -> int:
    """Count an experiment's replays that have not ended."""
    linked = select(_L.id).join(replays, _R.id == _L.replay_id)
    return count_rows(connection, linked.where(_L.experiment_id == experiment_id, _R.status.in_(UNFINISHED)))


def unfinished_behind(connection: Connection) -> dict[int, int]:
    """Return {id: organization id} of the unfinished experiments that have to be advanced.

    These are the ones with a replay that ended since the last advance, and the ones without a replay in work.
    """
    ended = func.count(_L.id) - func.coalesce(func.sum(type_coerce(_R.status.in_(UNFINISHED), Integer)), 0)
    behind = (
        select(_E.id, projects.c.organization_id)
        .join(projects, projects.c.id == _E.project_id)
        .outerjoin(experiment_replays, _L.experiment_id == _E.id)
        .outerjoin(replays, _R.id == _L.replay_id)
        .where(_E.status.in_(UNFINISHED))
        .group_by(_E.id, _E.done, projects.c.organization_id)
        .having((ended != _E.done) | (ended == func.count(_L.id)))
    )
    return id_pairs(connection, behind)


def add_replays(connection: Connection, links: Sequence[dict[str, Any]]) -> None:
    """Make replays parts of an experiment; `links` have the columns of `experiment_replays`."""
    for piece in pieces(links):
        connection.execute(insert(experiment_replays), list(piece))


def cancel_replays(
    connection: Connection, *, experiment_id: int, now: datetime, arms: Collection[int] | None = None
) -> int:
    """Cancel the replays of an experiment that have not ended and belong to no other unfinished experiment.

    `arms` restricts this to some arms. Returns how many were cancelled.
    """
    of_experiment = select(_L.replay_id).join(replays, _R.id == _L.replay_id)
    unfinished_ids = of_experiment.where(_L.experiment_id == experiment_id, _R.status.in_(UNFINISHED))
    if arms is not None:
        unfinished_ids = unfinished_ids.where(_L.arm.in_(sorted(arms)))
    elsewhere = select(_L.replay_id).join(experiments, _E.id == _L.experiment_id)
    others = elsewhere.where(_E.id != experiment_id, _E.status.in_(UNFINISHED))
    ids = set(connection.scalars(unfinished_ids))
    for piece in pieces(sorted(ids)):
        ids.difference_update(connection.scalars(others.where(_L.replay_id.in_(piece))))
    cancelled = 0
    for piece in pieces(sorted(ids)):
        unfinished = update(replays).where(_R.id.in_(piece), _R.status.in_(UNFINISHED))
        # With the index on states it would lock, and wait for, replays that workers claim at the same time.
        by_id = unfinished.with_hint("FORCE INDEX (PRIMARY)", dialect_name="mysql")
        cancelled += connection.execute(by_id.values(status="cancelled", finished_at=now)).rowcount
    return cancelled


def reusable_replays(
    connection: Connection,
    *,
    draft_snapshot_id: int,
    case_snapshot_ids: Collection[int],
    judge_model_id: int | None,
    since: datetime,
) -> dict[SnapshotFaults, list[int]]:
    """Return, by the test case's snapshot and the faults, the ids of the first replays that ended with a result.

    Replays that began before their model or the judge was changed, for example its base URL, are left out.
    """
    played = select(draft_snapshots.c.language_model_id).where(draft_snapshots.c.id == draft_snapshot_id)
    models = language_models.c.id.in_(played) | (language_models.c.id == judge_model_id)
    changed_at = select(func.max(language_models.c.updated_at)).where(models).scalar_subquery()
    faults = type_coerce(_R.faults, Text).label("faults")
    nth = func.row_number().over(partition_by=(_R.case_snapshot_id, faults), order_by=_R.id).label("nth")
    replay_ids: dict[SnapshotFaults, list[int]] = {}
    for piece in pieces(sorted(case_snapshot_ids)):
        alike = select(_R.case_snapshot_id, faults, _R.id, nth).where(
            _R.case_snapshot_id.in_(piece),
            _R.draft_snapshot_id == draft_snapshot_id,
            _R.judge_model_id.is_not_distinct_from(judge_model_id),
            _R.status.in_(COUNTED),
            _R.finished_at >= since,
            _R.started_at >= changed_at,
        )
        ranked = alike.subquery()
        for row in connection.execute(select(ranked).where(ranked.c.nth <= REUSABLE_MAX).order_by(ranked.c.id)):
            replay_ids.setdefault((row.case_snapshot_id, row.faults), []).append(row.id)
    return replay_ids


def mean_costs(connection: Connection, *, test_case_ids: Collection[int]) -> dict[int, float]:
    """Return the mean cost in USD of the newest replays of each test case that ended with a result."""
    nth = func.row_number().over(partition_by=_R.test_case_id, order_by=_R.id.desc()).label("nth")
    cost = (_R.prompt_cost_usd + _R.completion_cost_usd).label("cost")
    means: dict[int, float] = {}
    for piece in pieces(sorted(test_case_ids)):
        ended = select(_R.test_case_id, cost, nth).where(_R.test_case_id.in_(piece), _R.status.in_(COUNTED)).subquery()
        newest = select(ended.c.test_case_id, func.avg(ended.c.cost)).where(ended.c.nth <= REPLAYS_OF_MEAN_COST)
        means.update({row[0]: row[1] for row in connection.execute(newest.group_by(ended.c.test_case_id))})
    return means


def model_snapshots(connection: Connection, *, experiment_id: int, limit: int) -> list[str]:
    """Return the models that the vendor reported in the replays of an experiment, the newest replay's first."""
    reported = select(_R.model_snapshot, func.max(_R.id)).join(experiment_replays, _L.replay_id == _R.id)
    known = reported.where(_L.experiment_id == experiment_id, _R.model_snapshot.is_not(None))
    newest = known.group_by(_R.model_snapshot).order_by(func.max(_R.id).desc()).limit(limit)
    return list(connection.scalars(newest))


def behaviours_of(connection: Connection, *, replay_ids: Collection[int]) -> dict[int, Behaviour]:
    """Return the fingerprints of what replays answered, by id; a replay without one is left out."""
    behaviours: dict[int, Behaviour] = {}
    for piece in pieces(sorted(replay_ids)):
        known = select(_R.id, _R.behaviour).where(_R.id.in_(piece), _R.behaviour.is_not(None))
        behaviours.update({row.id: row.behaviour for row in connection.execute(known)})
    return behaviours


def first_error(connection: Connection, *, replay_ids: Collection[int]) -> str | None:
    """Return the beginning of the first error of these replays."""
    statement = select(func.substr(_R.error, 1, ERROR_CHARACTERS)).where(
        _R.id.in_(sorted(replay_ids)[:KEYS_PER_STATEMENT]), _R.error.is_not(None)
    )
    return connection.scalar(statement.order_by(_R.id).limit(1))


def violations_of(connection: Connection, *, replay_id: int) -> list[dict[str, Any]]:
    """Return the violations of a replay; none for one that was removed."""
    return connection.scalar(select(_R.violations).where(_R.id == replay_id)) or []


def in_unfinished_experiment(replay_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that a replay is a part of an unfinished experiment."""
    linked = select(_L.id).join(experiments, _E.id == _L.experiment_id)
    return linked.where(_L.replay_id == replay_id, _E.status.in_(UNFINISHED)).exists()


def made_for_experiment(replay_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that an experiment started a replay; one that it only uses again is not its own."""
    return select(_L.id).where(_L.replay_id == replay_id, _L.reused.is_(False)).exists()
