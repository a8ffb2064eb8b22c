"""Replays: one row for each, which is record, work item and result. Its state only moves forward."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
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
    func,
    select,
    update,
)

from app.chat import TOKEN_COUNTS
from app.experiments.behaviour import Behaviour
from app.models.base import BigInt, Json, JsonStruct, MediumText, Timestamp, exact, new_table, no_index
from app.models.calibrations import CalibrationRow
from app.models.compression import CompressedLongJson, length_in
from app.models.organizations import projects
from app.models.prompt_versions import draft_snapshots
from app.models.queries import changes_row, columns_of, find_row, insert_row, list_rows, newest_first

Status = Literal["queued", "running", "passed", "failed", "needs_review", "void", "error", "cancelled"]
STATUSES = ("queued", "running", "passed", "failed", "needs_review", "void", "error", "cancelled")
UNFINISHED = ("queued", "running")
# Replays in which a remembered verdict or a rule decided report nothing.
REPORTS_READ = 100
CandidateKind = Literal["draft", "version", "overlay", "external"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a replay; `done` of `total` steps are played."""

    # No foreign key: the results outlive the test case.
    test_case_id: Annotated[int, BigInt]
    id: int
    status: Annotated[Status, exact(16)]
    done: Annotated[int, Integer, DefaultClause("0")]
    total: Annotated[int, Integer]
    created_at: Annotated[datetime, Timestamp]

    @property
    def finished(self) -> bool:
        return self.status not in UNFINISHED


@dataclass(frozen=True, slots=True)
class ReplayRow(Outcome):
    """A replay without its turns; `counts` is {result: steps}, None until it is known, as are `violations`."""

    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    organization_id: int
    prompt_id: Annotated[int, BigInt, ForeignKey("prompts.id")]
    draft_snapshot_id: Annotated[int, BigInt, ForeignKey("draft_snapshots.id")]
    fingerprint: str
    # {"name", "revision", "dirty"} of a program; None for the prompt's own text.
    external: dict[str, Any] | None
    # The requested content, which the snapshot has. The hash is the version's, or that of an overlay's base.
    candidate_kind: Annotated[CandidateKind, exact(8), DefaultClause("draft")]
    candidate_commit: Annotated[str | None, exact(64)]
    # The test case as it was when the replay was requested; NULL in replays of older releases.
    case_snapshot_id: Annotated[int | None, BigInt]
    # {"variant", "faults"}: the calls that fail on purpose, and the name of the test case's variant that has them or
    # null; NULL without faults.
    faults: Annotated[dict[str, Any] | None, Json]
    # The judge's model, chosen when the replay was started; NULL without a judge.
    judge_model_id: Annotated[int | None, BigInt]
    # The calibration that the replay belongs to and that has the copy of the test case; it may be deleted.
    calibration_id: Annotated[int | None, BigInt]
    # The experiment that limits the replay's costs; NULL without one.
    budget_id: Annotated[int | None, BigInt]
    counts: Annotated[dict[str, int] | None, Json]
    # Columns of the result that lists show too.
    violations: Annotated[list[dict[str, Any]] | None, Json]
    accepted_partial: Annotated[bool, Boolean(create_constraint=False), DefaultClause("0")]
    # The verdicts of people.
    reviews: Annotated[int, Integer, DefaultClause("0")]
    error: Annotated[str | None, MediumText]
    prompt_tokens: int
    completion_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    prompt_cost_usd: Annotated[float, Float, DefaultClause("0")]
    completion_cost_usd: Annotated[float, Float, DefaultClause("0")]
    # The worker's claim, the number of claims so far, and the worker's last heartbeat.
    claim: Annotated[str | None, exact(36)]
    attempts: Annotated[int, Integer, DefaultClause("0")]
    alive_at: Annotated[datetime | None, Timestamp]
    started_at: Annotated[datetime | None, Timestamp]
    finished_at: Annotated[datetime | None, Timestamp]


replays = new_table(
    "replays",
    ReplayRow,
    Column("result", CompressedLongJson),
    # The steps that both a judge and a person decided, and those of them on which they agree.
    Column("judge_reviewed", Integer, nullable=False, server_default="0"),
    Column("judge_agreed", Integer, nullable=False, server_default="0"),
    # The model that the vendor of the judge reported in the last answer; NULL if no judge was asked.
    Column("judge_snapshot", exact(200)),
    # The model that the vendor of the prompt's model reported in the last answer; NULL if it reported none.
    Column("model_snapshot", exact(200)),
    # A digest of the calls and answers of the candidate; NULL before revision 0049, and without a result.
    Column("answers_digest", exact(32)),
    # The fingerprint of what the candidate answered; NULL before revision 0054, and without a result.
    Column("behaviour", JsonStruct(Behaviour)),
    # The usage of all its calls, including the judge's and those of interrupted attempts.
    *(Column(f"{count}_tokens", Integer, nullable=False, server_default="0") for count in TOKEN_COUNTS),
    Index("ix_replays_prompt_id_id", "prompt_id", "id"),
    Index("ix_replays_test_case_id_id", "test_case_id", "id"),
    Index("ix_replays_project_id_created_at", "project_id", "created_at"),
    Index("ix_replays_status_project_id_created_at", "status", "project_id", "created_at"),
    Index("ix_replays_draft_snapshot_id", "draft_snapshot_id"),
    Index("ix_replays_calibration_id", "calibration_id"),
    Index("ix_replays_case_snapshot_id", "case_snapshot_id"),
)


@dataclass(frozen=True, slots=True)
class ReplayFilter:
    """Conditions on a prompt's replays; None is no condition."""

    test_case_id: int | None = None
    status: str | None = None
    fingerprints: Collection[str] | None = None
    ids: Collection[int] | None = None


@dataclass(frozen=True, slots=True)
class ReplaySetup:
    """The columns that replays which are started together have in common."""

    project_id: int
    prompt_id: int
    draft_snapshot_id: int
    candidate_kind: CandidateKind
    candidate_commit: str | None
    judge_model_id: int | None
    calibration_id: int | None = None
    budget_id: int | None = None
    claim: str | None = None
    started_at: datetime | None = None


def add_replays(
    connection: Connection, setup: ReplaySetup, cases: Iterable[Mapping[str, Any]], *, now: datetime
) -> list[int]:
    """Add a queued replay of each test case; returns ids.

    Each has `test_case_id`, `case_snapshot_id`, `total` and `faults`.
    """
    shared = {**asdict(setup), "status": "queued", "created_at": now}
    return [insert_row(connection, replays, **shared, **case) for case in cases]


_ELSEWHERE = {
    "organization_id": projects.c.organization_id,
    "fingerprint": draft_snapshots.c.fingerprint,
    "external": draft_snapshots.c.external,
}
_ROW = (
    select(*columns_of(ReplayRow, replays, **_ELSEWHERE))
    .join(projects, projects.c.id == replays.c.project_id)
    .join(draft_snapshots, draft_snapshots.c.id == replays.c.draft_snapshot_id)
)


def find_replay(connection: Connection, *, project_id: int, replay_id: int) -> ReplayRow | None:
    statement = _ROW.where(replays.c.id == replay_id, replays.c.project_id == project_id)
    return find_row(connection, ReplayRow, statement)


def get_replays(connection: Connection, *, ids: Collection[int]) -> list[ReplayRow]:
    """List replays in order of id."""
    statement = _ROW.where(replays.c.id.in_(sorted(ids))).order_by(replays.c.id)
    return list_rows(connection, ReplayRow, statement)


def replays_of_calibration(connection: Connection, *, calibration: CalibrationRow) -> list[ReplayRow]:
    """List replays in order of id, without replays of an older calibration with the same id, which SQLite can reuse."""
    c = replays.c
    of_calibration = _ROW.where(no_index(c.project_id) == calibration.project_id, c.calibration_id == calibration.id)
    return list_rows(connection, ReplayRow, of_calibration.where(c.created_at >= calibration.created_at).order_by(c.id))


def result_of(connection: Connection, *, replay_id: int) -> dict[str, Any] | None:
    """Return the JSON of the replay's `app.replay.result_types.ReplayResult`; None without one, or if it is removed."""
    statement = select(replays.c.result).where(replays.c.id == replay_id)
    result: dict[str, Any] | None = connection.scalar(statement)
    return result


def result_length(connection: Connection, *, replay_id: int) -> int:
    """Return the bytes of the replay's result; 0 without one."""
    return length_in(connection, replays.c.result, replays.c.id == replay_id)


def results_of(connection: Connection, *, project_id: int, ids: Collection[int]) -> dict[int, dict[str, Any]]:
    """Return the results of those of a project's replays that have one, by id."""
    of_project = replays.c.id.in_(sorted(ids)), replays.c.project_id == project_id, replays.c.result.is_not(None)
    rows = connection.execute(select(replays.c.id, replays.c.result).where(*of_project))
    return {row.id: row.result for row in rows}


def list_replays(
    connection: Connection, *, prompt_id: int, filters: ReplayFilter, before_id: int | None, limit: int
) -> list[ReplayRow]:
    """List replays, newest first; `before_id` is the last one of the page before."""
    c = replays.c
    statement = newest_first(_ROW.where(c.prompt_id == prompt_id), c.id, before_id=before_id, limit=limit)
    if filters.test_case_id is not None:
        statement = statement.where(c.test_case_id == filters.test_case_id)
    if filters.status is not None:
        statement = statement.where(c.status == filters.status)
    if filters.ids is not None:
        statement = statement.where(c.id.in_(sorted(filters.ids)))
    if filters.fingerprints is not None:
        statement = statement.where(draft_snapshots.c.fingerprint.in_(sorted(filters.fingerprints)))
    return list_rows(connection, ReplayRow, statement)


@dataclass(frozen=True, slots=True)
class DraftTally:
    """The number of replays of one draft with one status."""

    fingerprint: str
    status: Status
    replays: int
    first_at: datetime
    last_at: datetime


def tally(connection: Connection, *, prompt_id: int, test_case_id: int | None = None) -> list[DraftTally]:
    """Count all replays of a prompt's own content, or those of one test case, by draft and status."""
    c = replays.c
    fingerprint = draft_snapshots.c.fingerprint
    statement = (
        select(fingerprint, c.status, func.count(), func.min(c.created_at), func.max(c.created_at))
        .join(draft_snapshots, draft_snapshots.c.id == c.draft_snapshot_id)
        .where(c.prompt_id == prompt_id, c.candidate_kind != "external")
        .group_by(fingerprint, c.status)
    )
    if test_case_id is not None:
        statement = statement.where(c.test_case_id == test_case_id)
    return list_rows(connection, DraftTally, statement)


def complete_cancelled(connection: Connection, *, replay_id: int, token: str, values: dict[str, Any]) -> bool:
    """Add what a worker found before it noticed that its replay was cancelled; the status does not change."""
    c = replays.c
    statement = update(replays).where(c.id == replay_id, c.claim == token, c.status == "cancelled")
    return changes_row(connection, statement.values(values))


@dataclass(frozen=True, slots=True)
class ReportedJudge:
    """The `model` that a judge's vendor reported, and when the replay with that judge ended."""

    model: str
    finished_at: datetime


def reported_judge(connection: Connection, *, prompt_id: int, judge_model_id: int) -> ReportedJudge | None:
    """Return the model that the judge's vendor reported last in the newest `REPORTS_READ` replays of a prompt."""
    c = replays.c
    asked = select(c.id, c.judge_snapshot, c.finished_at).where(
        c.prompt_id == prompt_id, c.judge_model_id == judge_model_id
    )
    newest = asked.order_by(c.id.desc()).limit(REPORTS_READ).subquery()
    known = newest.c.judge_snapshot.is_not(None) & newest.c.finished_at.is_not(None)
    last = select(newest.c.judge_snapshot, newest.c.finished_at).where(known).order_by(newest.c.id.desc()).limit(1)
    row = connection.execute(last).one_or_none()
    return ReportedJudge(*row) if row else None


def put_verdict(connection: Connection, *, before: ReplayRow, values: dict[str, Any]) -> bool:
    """Write a person's verdict; returns False if there is one already."""
    c = replays.c
    unchanged = update(replays).where(c.id == before.id, c.status == before.status, c.reviews == before.reviews)
    return changes_row(connection, unchanged.values(reviews=before.reviews + 1, **values))


def judge_agreement(connection: Connection, *, prompt_id: int) -> tuple[int, int]:
    """Return the number of steps of a prompt's replays that a judge and a person decided, and of agreements."""
    c = replays.c
    sums = (func.coalesce(func.sum(column), 0) for column in (c.judge_reviewed, c.judge_agreed))
    judged, agreed = connection.execute(select(*sums).where(c.prompt_id == prompt_id)).one()
    return int(judged), int(agreed)
