"""Rules that stored rows never break once their transactions have ended, and the queries that look for broken ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import chain, groupby
from operator import attrgetter, itemgetter
from typing import NamedTuple

import orjson
from sqlalchemy import ColumnElement, Connection, Table, and_, func, select, true

from app.models import queries, span_packing
from app.models.base import no_index
from app.models.bulk import by_size
from app.models.experiment_replays import experiment_replays, in_unfinished_experiment
from app.models.experiments import experiments
from app.models.judge_audits import judge_audits
from app.models.organizations import projects
from app.models.prompt_versions import prompt_versions
from app.models.prompts import labels_of, prompts
from app.models.replays import UNFINISHED, replays
from app.models.runs import runs
from app.models.sessions import SessionRow, sessions
from app.models.span_blocks import span_blocks
from app.models.spans import spans, spans_of
from app.models.turns import TurnRow, list_turns, turns
from app.models.usage import usage_daily
from app.sessions.facts import load
from app.sessions.model_calls import calls_in
from app.sessions.sums import SessionTotals

TURNS_MAX = 200
"""Sessions with more turns are not examined: reading them would delay other rules."""
TURNS_AT_ONCE, SPANS_AT_ONCE = TURNS_MAX, 500
"""The most facts of turns, and the most spans, that are in memory together, unless a single turn has more."""
SILENT = timedelta(minutes=10)
"""Work without a heartbeat for this time is broken: the clock gives such work to another worker within a minute."""
ERASED = timedelta(days=1)
"""The time within which the rows of an erased prompt are removed."""


class RowRef(NamedTuple):
    """The project and the id of a row that is examined."""

    project_id: int
    id: int


FindBroken = Callable[[Connection, int, Sequence[int], datetime], Iterable[int]]
"""Finds broken rows: (connection, project id, ids of the rows to examine, now) to the ids of the broken rows.

Raises `ValueError` if a row can't be read.
"""


@dataclass(frozen=True, slots=True)
class Invariant:
    """A rule that the rows of `table` which match `condition` never break.

    `meaning` is the rule in words, and `remedy` is what an operator can do about a row that breaks it. A `slow` rule is
    examined by `reprise doctor --deep` only, and not by the clock.
    """

    name: str
    table: Table
    find_broken: FindBroken
    meaning: str
    remedy: str
    condition: ColumnElement[bool] = true()
    slow: bool = False

    def row_refs(self, connection: Connection, *, after: int, limit: int) -> list[RowRef]:
        """List the next rows, of all projects, in the order of their ids."""
        c = self.table.c
        project_id = c.id if self.table is projects else c.project_id
        statement = select(project_id, c.id).where(c.id > after, self.condition).order_by(c.id).limit(limit)
        return [RowRef(*row) for row in connection.execute(statement)]


def _with_wrong_sums(connection: Connection, project_id: int, ids: Sequence[int], now: datetime) -> Iterable[int]:
    c = sessions.c
    counted = and_(c.errors.is_not(None), c.turns <= TURNS_MAX)
    statement = select(*queries.columns_of(SessionRow, sessions)).where(
        no_index(c.project_id) == project_id, c.id.in_(ids), counted
    )
    rows = queries.list_rows(connection, SessionRow, statement)
    for piece in by_size(rows, attrgetter("turns"), TURNS_AT_ONCE):
        yield from _wrong_among(connection, project_id, piece)


def _wrong_among(connection: Connection, project_id: int, rows: Sequence[SessionRow]) -> Iterator[int]:
    keys = [row.session_key for row in rows]
    totals = {key: SessionTotals() for key in keys}
    for turn in list_turns(connection, project_id=project_id, session_keys=keys):
        totals[turn.session_key].add(load(turn.facts))
    for row in rows:
        of_turns = totals[row.session_key]
        same_time = (of_turns.start_ns, of_turns.last_ns) == (row.start_ns, row.last_ns)
        same_calls = row.calls is None or calls_in(row.calls).usage == of_turns.calls.usage
        if of_turns.sums != row.sums or not same_calls or not same_time:
            yield row.id


def _turns_of(connection: Connection, project_id: int, ids: Sequence[int]) -> list[tuple[int, TurnRow]]:
    c = turns.c
    statement = select(c.id, *queries.columns_of(TurnRow, turns)).where(
        no_index(c.project_id) == project_id, c.id.in_(ids)
    )
    return [(id_, TurnRow(*row)) for id_, *row in connection.execute(statement)]


def _with_wrong_span_counts(
    connection: Connection, project_id: int, ids: Sequence[int], now: datetime
) -> Iterable[int]:
    rows, c = _turns_of(connection, project_id, ids), spans.c
    statement = select(c.prompt_id, c.trace_id, func.count()).where(
        c.project_id == project_id, c.trace_id.in_(sorted({row.trace_id for _, row in rows}))
    )
    grouped = connection.execute(statement.group_by(c.prompt_id, c.trace_id))
    counts = {(prompt_id, trace_id): count for prompt_id, trace_id, count in grouped}
    return [id_ for id_, row in rows if load(row.facts).span_count != counts.get(row.key, 0)]


def _unreadable_spans(connection: Connection, project_id: int, ids: Sequence[int], now: datetime) -> Iterable[int]:
    rows = sorted(
        (row.prompt_id, row.trace_id, load(row.facts).span_count) for _, row in _turns_of(connection, project_id, ids)
    )
    for prompt_id, of_prompt in groupby(rows, key=itemgetter(0)):
        for piece in by_size(list(of_prompt), itemgetter(2), SPANS_AT_ONCE):
            traces = [trace_id for _, trace_id, _ in piece]
            for span in spans_of(connection, project_id=project_id, prompt_id=prompt_id, trace_ids=traces):
                orjson.loads(span.raw)
    return ()


def _with_misfitting_bodies(
    connection: Connection, project_id: int, ids: Sequence[int], now: datetime
) -> Iterable[int]:
    return span_packing.misfits(connection, project_id=project_id, ids=ids)


def _with_unknown_versions(connection: Connection, project_id: int, ids: Sequence[int], now: datetime) -> Iterable[int]:
    v = prompt_versions.c
    hashes = {
        id_: set(chain.from_iterable(label.commit_hashes for label in labels.values()))
        for id_, labels in labels_of(connection, project_id=project_id, prompt_ids=ids)
    }
    named = sorted(set().union(*hashes.values()))
    known = connection.execute(
        select(v.prompt_id, v.commit_hash).where(v.prompt_id.in_(sorted(hashes)), v.commit_hash.in_(named))
    )
    for prompt_id, commit_hash in known:
        hashes[prompt_id].discard(commit_hash)
    return [id_ for id_, unknown in hashes.items() if unknown]


def _with_turns_after_erasure(
    connection: Connection, project_id: int, ids: Sequence[int], now: datetime
) -> Iterable[int]:
    c, t = prompts.c, turns.c
    first = select(t.id).where(t.project_id == project_id, t.prompt_id == c.id).limit(1).scalar_subquery()
    erased = select(c.id).where(c.project_id == project_id, c.id.in_(ids), c.erased_at < now - ERASED)
    return connection.scalars(erased.where(first.is_not(None)))


def _silent(table: Table) -> FindBroken:
    c = table.c

    def broken(connection: Connection, project_id: int, ids: Sequence[int], now: datetime) -> Iterable[int]:
        of_project = (no_index(c.project_id) == project_id, no_index(c.status) == "running")
        claimed = select(c.id).where(c.id.in_(ids), *of_project)
        return connection.scalars(claimed.where(c.claim.is_not(None), c.alive_at < now - SILENT))

    return broken


def _ended_with_open_replays(
    connection: Connection, project_id: int, ids: Sequence[int], now: datetime
) -> Iterable[int]:
    link, r = experiment_replays.c, replays.c
    unfinished = select(link.experiment_id).join(replays, r.id == link.replay_id)
    ended = experiments.c.status.not_in(UNFINISHED)
    of_ended = unfinished.join(experiments, experiments.c.id == link.experiment_id).where(
        experiments.c.project_id == project_id, link.experiment_id.in_(ids), ended
    )
    lone = and_(r.status.in_(UNFINISHED), ~in_unfinished_experiment(r.id))
    return connection.scalars(of_ended.where(lone).distinct())


def _missing_usage(connection: Connection, project_id: int, ids: Sequence[int], now: datetime) -> Iterable[int]:
    """Compare the runs of the day before yesterday. More runs may be counted than are stored: runs are removed."""
    day = (now - timedelta(days=2)).date()
    since = datetime.combine(day, time(), UTC)
    until = since + timedelta(days=1)
    c, u = runs.c, usage_daily.c
    within = and_(c.project_id == project_id, c.created_at >= since, c.created_at < until, c.finished_at < until)
    stored = connection.scalar(select(func.count()).select_from(runs).where(within))
    counted = connection.scalar(select(func.sum(u.runs)).where(u.project_id == project_id, u.day == day))
    return [project_id] if (stored or 0) > (counted or 0) else []


_RESTORE = "Keep the logs of the time when it was stored, and report it. A backup shows what it was before."
DAMAGED = "The disk has damaged them: check it, and restore a backup that is older than the damage."
_SEND_AGAIN = "Start the process that works on it: `reprise doctor` names the queues without one."

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("session sums", sessions, _with_wrong_sums, "A session has the sums and times of its turns.", _RESTORE),
    Invariant("turn spans", turns, _with_wrong_span_counts, "A turn counts its stored spans.", _RESTORE),
    Invariant(
        "span bodies",
        turns,
        _unreadable_spans,
        "The spans of a turn can be read.",
        DAMAGED,
        slow=True,
    ),
    Invariant(
        "span blocks",
        span_blocks,
        _with_misfitting_bodies,
        "A block has the bodies of its spans, and no others.",
        "Report it: what was erased may still be in it.",
        slow=True,
    ),
    Invariant(
        "labels",
        prompts,
        _with_unknown_versions,
        "A label points to a version of its prompt.",
        "Move the label to a version of the prompt.",
        prompts.c.labels.is_not(None),
    ),
    Invariant(
        "erased prompts",
        prompts,
        _with_turns_after_erasure,
        "Nothing is left of a prompt that was erased a day ago.",
        "Start the clock, which removes what is left; if it runs, its log has `periodic_job_failed` with the job"
        " `finish_erasures`, or `erasure_left_to_sweep`, with the error.",
        prompts.c.erased_at.is_not(None),
    ),
    *(
        Invariant(
            f"{table.name} in work",
            table,
            _silent(table),
            "What is in work has a worker that is alive.",
            _SEND_AGAIN,
            table.c.status == "running",
        )
        for table in (runs, replays, judge_audits)
    ),
    Invariant(
        "replays of experiments",
        experiments,
        _ended_with_open_replays,
        "An experiment that has ended has no replay in work.",
        "Cancel the replay on its page.",
    ),
    Invariant(
        "usage",
        projects,
        _missing_usage,
        "Each run is in the usage of its day.",
        "Keep the logs of that day and report it: bills and budgets may be too low.",
    ),
)
"""All rules, in the order in which they are examined."""


def broken_of(
    invariant: Invariant, connection: Connection, project_id: int, ids: Sequence[int], now: datetime
) -> set[int]:
    """Return the ids of the rows that break the rule; a row that can't be read breaks it, too.

    If a row can't be read, halves of the rows are examined until that row is found.
    """
    try:
        return set(invariant.find_broken(connection, project_id, ids, now))
    except ValueError:
        if len(ids) == 1:
            return set(ids)
    middle = len(ids) // 2
    return broken_of(invariant, connection, project_id, ids[:middle], now) | broken_of(
        invariant, connection, project_id, ids[middle:], now
    )
