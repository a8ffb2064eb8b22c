"""Adds sessions to the figures of their day, version and model, soon after ingest has changed them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter

from msgspec import structs
from sqlalchemy import Connection

from app.database.transactions import Database
from app.metrics import Metrics
from app.metrics.registry import (
    MILLION,
    OBSERVED_COST,
    OBSERVED_ERRORS,
    OBSERVED_FAILED_SESSIONS,
    OBSERVED_SESSIONS,
    OBSERVED_TOKENS,
)
from app.models import insight, organizations, session_fingerprints, sessions, turns
from app.models.bulk import by_size
from app.models.insight import InsightKey
from app.models.queries import new_batch_id
from app.models.session_fingerprints import WaitingSession
from app.models.sessions import SessionRow
from app.prices.book import PriceBook
from app.services.language_models.prices import PriceService
from app.sessions import figures
from app.sessions.facts import TurnFacts, load
from app.sessions.figures import Counted, Figures, total
from app.timestamps import Now, of_unix_ns
from app.work.round_robin import RoundRobin
from app.work.work_time import WorkTime

# One call works for this time; then the clock process pauses.
SWEEP_S = 3.0
SESSIONS_AT_ONCE = 100
NAMES_PER_DAY = 300
"""Pairs of a version and a model that have figures on a day of a prompt. A month of them is read by one request."""
# Sessions with at most this many turns are short: the turns of several short sessions are read together.
SHORT_TURNS_MAX = 20
TURNS_PER_COUNT = 2_000
"""Turns that one count reads: other organizations wait for it. A session of more turns is counted by itself."""
TURNS_AT_ONCE = 100
"""Turns of several short sessions of which the facts are in memory at once."""
LONG_TURNS, REST_FACTOR = 1_000, 20
"""A session of more than `LONG_TURNS` turns is counted again after `REST_FACTOR` times the time that this needed."""


@dataclass(frozen=True, slots=True)
class CountedSession:
    """A session as it was read, its figures, and its model calls as lines of `CallSums`."""

    row: SessionRow
    counted: Counted
    calls: bytes


@dataclass(slots=True, kw_only=True)
class InsightCounter:
    """Counts each session once: a session keeps the figures that it was counted with.

    Each change of a session reads all of its turns again, so long ones rest after a count. `monotonic` returns seconds.
    """

    database: Database
    prices: PriceService
    metrics: Metrics
    now: Now
    work_time: WorkTime = field(default_factory=partial(WorkTime, SWEEP_S))
    monotonic: Callable[[], float] = time.monotonic
    _round_robin: RoundRobin = field(default_factory=RoundRobin, init=False)
    _rests: dict[bytes, float] = field(default_factory=dict, init=False)

    def sweep(self) -> None:
        """Count sessions that have changed until none are left or the time is used up."""
        self.work_time.begin()
        with self.database.read() as connection:
            owners = organizations.owners(connection)

        def count_some(project_id: int) -> bool:
            return self.count(project_id) > 0

        if self._round_robin.serve(owners, count_some, is_over=lambda: self.work_time.is_over):
            self.work_time.caught_up()

    def count(self, project_id: int) -> int:
        """Count some sessions of a project, of few turns together or one; returns how many they were."""
        with self.database.read() as connection:
            now = self.monotonic()
            self._rests = {key: until for key, until in self._rests.items() if until > now}
            waiting = sessions.uncounted(
                connection, project_id=project_id, limit=SESSIONS_AT_ONCE, resting=self._rests.keys()
            )
            rows = next(by_size(waiting, attrgetter("turns"), TURNS_PER_COUNT), [])
            book = self.prices.book(connection, project_id=project_id)
            listed = _with_facts(connection, project_id, rows)
            figures_by_key = {row.session_key: self._counted(row, facts, book) for row, facts in listed}
        if figures_by_key:
            store = partial(self._store, project_id=project_id, figures_by_key=figures_by_key)
            self._note(project_id, self.database.background.retrying(store))
        return len(rows)

    def _counted(self, row: SessionRow, facts: Iterable[TurnFacts], book: PriceBook) -> CountedSession:
        begin = self.monotonic()
        counted, calls = figures.count(of_unix_ns(row.start_ns).date(), facts, book)
        if row.turns > LONG_TURNS:
            end = self.monotonic()
            self._rests[row.session_key] = end + REST_FACTOR * (end - begin)
        return CountedSession(row, counted, calls.lines)

    def _store(
        self, connection: Connection, *, project_id: int, figures_by_key: Mapping[bytes, CountedSession]
    ) -> Figures:
        """Store the figures of sessions that ingest did not change meanwhile; returns what they add to all sums."""
        marks = {key: session.row.uncounted for key, session in figures_by_key.items()}
        calls = {key: session.calls for key, session in figures_by_key.items()}
        counted = _with_few_names(connection, project_id, figures_by_key)
        before = sessions.put_counted(connection, project_id=project_id, marks=marks, counted=counted, calls=calls)
        waiting = new_batch_id(self.now())
        _note_fingerprints(connection, [figures_by_key[key] for key in before], waiting=waiting)
        changes: dict[InsightKey, list[Figures]] = defaultdict(list)
        for key, earlier in before.items():
            row, later = figures_by_key[key].row, counted[key]
            changes[InsightKey.of(project_id, row.prompt_id, later)].append(later.figures)
            if earlier:
                changes[InsightKey.of(project_id, row.prompt_id, earlier)].append(earlier.figures.negative)
        added = {key: total(figures_of_key) for key, figures_of_key in changes.items()}
        insight.add(connection, added)
        return total(added.values())

    def _note(self, project_id: int, change: Figures) -> None:
        """Add what is new to the metrics. Metrics never fall, so negative changes are left out."""
        for metric, labels, by in (
            (OBSERVED_SESSIONS, (), change.sessions),
            (OBSERVED_FAILED_SESSIONS, (), change.failed),
            (OBSERVED_ERRORS, (), change.errors),
            (OBSERVED_TOKENS, ("input",), change.input_tokens),
            (OBSERVED_TOKENS, ("output",), change.output_tokens),
            (OBSERVED_COST, (), round(change.cost_usd * MILLION)),
        ):
            if by > 0:
                self.metrics.count(metric, str(project_id), *labels, by=by)


def _with_facts(
    connection: Connection, project_id: int, rows: Sequence[SessionRow]
) -> Iterator[tuple[SessionRow, Iterable[TurnFacts]]]:
    """Yield the sessions with the facts of their turns; the turns of short sessions are read together."""
    for piece in by_size([row for row in rows if row.turns <= SHORT_TURNS_MAX], attrgetter("turns"), TURNS_AT_ONCE):
        of_short: dict[bytes, list[TurnFacts]] = {row.session_key: [] for row in piece}
        for turn in turns.list_turns(connection, project_id=project_id, session_keys=list(of_short)):
            of_short[turn.session_key].append(load(turn.facts))
        yield from ((row, of_short.pop(row.session_key)) for row in piece)
    for row in rows:
        if row.turns > SHORT_TURNS_MAX:
            yield row, _facts(connection, project_id, row.session_key)


def _facts(connection: Connection, project_id: int, session_key: bytes) -> Iterator[TurnFacts]:
    for piece in turns.turns_in_pieces(connection, project_id=project_id, session_keys=[session_key]):
        yield from (load(turn.facts) for turn in piece)


def _note_fingerprints(connection: Connection, counted: Iterable[CountedSession], *, waiting: int) -> None:
    """Note that fingerprints are to be made of these sessions, but not of sessions that count as none."""
    rows = [
        WaitingSession(session.row.session_key, session.row.project_id, session.row.prompt_id, waiting)
        for session in counted
        if session.counted.figures.sessions
    ]
    session_fingerprints.note(connection, rows)


def _with_few_names(
    connection: Connection, project_id: int, figures_by_key: Mapping[bytes, CountedSession]
) -> dict[bytes, Counted]:
    """Return the figures without the version and model of the ones beyond `NAMES_PER_DAY`: spans choose both names."""
    places = {
        key: InsightKey.of(project_id, session.row.prompt_id, session.counted)
        for key, session in figures_by_key.items()
    }
    beyond = insight.keys_without_room(connection, set(places.values()), limit=NAMES_PER_DAY)
    return {
        key: structs.replace(session.counted, version="", model="") if places[key] in beyond else session.counted
        for key, session in figures_by_key.items()
    }
