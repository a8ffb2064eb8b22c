"""Makes the fingerprints of sessions that have changed, and of sessions that earlier releases stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import structlog
from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import MALFORMED_DATA
from app.metrics import Metrics
from app.metrics.registry import FINGERPRINTS
from app.models import organizations, session_fingerprints, session_samples, sessions, turns
from app.models.queries import new_early_id
from app.models.session_fingerprints import WaitingSession
from app.models.sessions import SessionRow
from app.models.spans import StoredSpan
from app.otlp.logs import events_of
from app.services.sessions.reading import read_spans
from app.sessions.build import build_session
from app.sessions.facts import TurnFacts, load
from app.suites.fingerprints import EDITION, SPANS_MAX, TURNS_MAX, Fingerprint, dump, of_facts, of_turns
from app.timestamps import Now, utc_now
from app.work.round_robin import RoundRobin
from app.work.work_time import WorkTime

log = structlog.get_logger(__name__)

WORK_S, EVERY_S = 0.5, 1.5
"""The clock makes fingerprints for `WORK_S` seconds, then pauses for `EVERY_S`."""
BUSY_PART = 0.02
"""The fraction of `WORK_S` while batches arrive. A fingerprint needs a tenth of the processor time of a whole batch."""
SESSIONS_AT_ONCE, SESSIONS_WHILE_BUSY = 20, 4
"""Sessions that are read together, and those while batches arrive."""
BYTES_MAX = 4 * 1024 * 1024
"""A session with more bytes of spans has a fingerprint of its facts only."""
CLAIMED_FOR = timedelta(minutes=5)
"""A clock makes some fingerprints within this time, or it has died."""
LOOKED_THROUGH = 500
"""Sessions of earlier releases that are looked through at once."""


@dataclass(slots=True, kw_only=True)
class FingerprintMaker:
    """Makes fingerprints in slices; a session that changes meanwhile keeps its mark and is read again.

    Sessions are claimed before they are read. If the process dies, one of them may be the reason: after `CLAIMED_FOR`
    they are read one by one, and then, if the process dies again, only the facts of the session that was read.
    """

    database: Database
    metrics: Metrics
    now: Now = utc_now
    work_time: WorkTime = field(default_factory=partial(WorkTime, WORK_S))
    _round_robin: RoundRobin = field(default_factory=RoundRobin, init=False)
    # The last session of each project that was looked through; None when all were.
    _looked_through: dict[int, int | None] = field(default_factory=dict, init=False)

    def sweep(self) -> None:
        """Make fingerprints until no session waits for one or the time is used up."""
        self.work_time.begin()
        with self.database.read() as connection:
            owners = organizations.owners(connection)
        if self._round_robin.serve(owners, self.make_some, is_over=lambda: self.work_time.is_over):
            self.work_time.caught_up()

    def make_some(self, project_id: int) -> bool:
        """Make the fingerprints of some sessions of a project; returns whether more may be left."""
        now = self.now()
        limit = SESSIONS_WHILE_BUSY if self.work_time.gives_way else SESSIONS_AT_ONCE
        with self.database.read() as connection:
            waiting = session_fingerprints.list_waiting(connection, project_id=project_id, now=now, limit=limit)
        if not waiting:
            return self._look_through(project_id)
        rows = self._claimed(project_id, [row for row in waiting if not row.attempts] or waiting[:1], now)
        failed = {row.session_key for row in rows if row.has_failed}
        with self.database.read() as connection:
            present = sessions.find_sessions(
                connection, project_id=project_id, session_keys=[row.session_key for row in rows]
            )
            made = {
                row.session_key: dump(_fingerprint_of(connection, row, only_facts=row.session_key in failed))
                for row in present
            }
        store = partial(session_fingerprints.put, project_id=project_id, rows=rows, fingerprints=made, edition=EDITION)
        self.metrics.count(FINGERPRINTS, by=self.database.background.retrying(store))
        return True

    def _claimed(self, project_id: int, rows: Sequence[WaitingSession], now: datetime) -> list[WaitingSession]:
        claim = partial(session_fingerprints.claim, project_id=project_id, rows=rows, now=now, until=now + CLAIMED_FOR)
        return self.database.background.retrying(claim)

    def _look_through(self, project_id: int) -> bool:
        """Note some sessions of earlier releases, which nothing has noted; returns whether more may be left."""
        last = self._looked_through.setdefault(project_id, 0)
        if last is None:
            return False
        with self.database.read() as connection:
            listed = session_samples.list_counted(
                connection, project_id=project_id, edition=EDITION, after_id=last, limit=LOOKED_THROUGH
            )
        # Their early ids let them come after the sessions that ingest has changed.
        lacking = [
            WaitingSession(row.session_key, project_id, row.prompt_id, new_early_id())
            for row in listed
            if not row.is_made
        ]
        if lacking:
            self.database.background.retrying(partial(session_fingerprints.note, rows=lacking))
        self._looked_through[project_id] = listed[-1].id if len(listed) == LOOKED_THROUGH else None
        return bool(listed)


def _fingerprint_of(connection: Connection, row: SessionRow, *, only_facts: bool) -> Fingerprint:
    key, project_id = row.session_key, row.project_id
    if only_facts or row.turns > TURNS_MAX:
        return of_facts(_facts_in_pieces(connection, row))
    first = turns.first_turns(connection, project_id=project_id, session_key=key, limit=TURNS_MAX + 1)
    if len(first) > TURNS_MAX:
        return of_facts(_facts_in_pieces(connection, row))
    facts = [load(turn.facts) for turn in first]
    if sum(turn_facts.span_count for turn_facts in facts) > SPANS_MAX:
        return of_facts(facts)
    return _of_spans(connection, row, [turn.trace_id for turn in first], facts)


def _of_spans(
    connection: Connection, row: SessionRow, trace_ids: Sequence[bytes], facts: Sequence[TurnFacts]
) -> Fingerprint:
    read = read_spans(connection, row, trace_ids, most=BYTES_MAX)
    if +read.left_out:
        return of_facts(facts)
    traces: dict[bytes, list[StoredSpan]] = defaultdict(list)
    for span in read.spans:
        traces[span.trace_id].append(span)
    named = frozenset[str]().union(*(turn_facts.prompt_versions for turn_facts in facts))
    try:
        built = build_session(traces.values(), named, events_of(read.records))
    except MALFORMED_DATA as error:
        log.error("session_unreadable", project=row.project_id, session=row.session_key.hex(), exc_info=error)
        return of_facts(facts)
    return of_turns(built, facts)


def _facts_in_pieces(connection: Connection, row: SessionRow) -> Iterator[TurnFacts]:
    pieces = turns.turns_in_pieces(connection, project_id=row.project_id, session_keys=[row.session_key])
    return (load(turn.facts) for piece in pieces for turn in piece)
