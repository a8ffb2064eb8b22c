"""Sessions as people read them, built from the stored spans for each request, and a prompt's log.

The log is a list of a prompt's runs and its sessions, newest first; rejected spans have a list of their own.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from sqlalchemy import Connection

from app import cursors
from app.cursors import Page, page_by_id
from app.db import Database
from app.errors import require
from app.models import log_records, prompts, scores, sessions, spans, turns
from app.models.run_log import RunEntry, RunFilter, nth_created_at, page_of_runs
from app.models.scores import ScoreRow
from app.models.sessions import SessionRange, SessionRow
from app.models.spans import RejectedSpan, StoredSpan
from app.models.turns import TurnRow
from app.otlp.logs import events_of
from app.sessions.build import build_session
from app.sessions.facts import TurnFacts, load
from app.sessions.types import Turn, Usage

_SESSION_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Session:
    """A session with its turns, and the scores of its spans, both in order."""

    id: str
    prompt_id: int
    conversation_id: str | None
    turns: tuple[Turn, ...]
    scores: tuple[ScoreRow, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session as a log lists it, made from the facts of its turns without reading any span."""

    id: str
    row_id: int
    conversation_id: str | None
    start_ns: int
    last_ns: int
    turns: int
    preview: str | None
    models: tuple[str, ...]
    prompt_versions: tuple[str, ...]
    usage: Usage
    errors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionService:
    database: Database

    def get(self, *, project_id: int, session_id: str) -> Session:
        """Return a session; `NotFound` in another project, or when all of its turns have joined another session."""
        key = session_key_of(session_id)
        with self.database.read() as connection:
            known = sessions.find_session(connection, project_id=project_id, session_key=key) if key else None
            row = require(known, "There is no such session.")
            found = turns.list_turns(connection, session_keys=[row.session_key])
            trace_ids = [turn.trace_id for turn in found]
            stored = spans.spans_of(connection, project_id=project_id, prompt_id=row.prompt_id, trace_ids=trace_ids)
            logged = log_records.records_of(connection, project_id=project_id, trace_ids=trace_ids)
            scored = scores.scores_of(connection, project_id=project_id, trace_ids=trace_ids)
        traces: dict[bytes, list[StoredSpan]] = defaultdict(list)
        for span in stored:
            traces[span.trace_id].append(span)
        named = frozenset[str]().union(*(load(turn.facts).prompt_versions for turn in found))
        found_turns = build_session(traces.values(), named, events_of(logged))
        known_spans = {(span.trace_id, span.span_id) for span in stored}
        of_spans = tuple(score for score in scored if score.key in known_spans)
        return Session(session_id, row.prompt_id, row.conversation_id, found_turns, of_spans)


def session_key_of(session_id: str) -> bytes | None:
    """Return the key of a session's id, 32 lower-case hex digits; None for any other text."""
    return bytes.fromhex(session_id) if _SESSION_ID.fullmatch(session_id) else None


def summarise(connection: Connection, rows: Sequence[SessionRow]) -> list[SessionSummary]:
    """Return the summaries of sessions, in their order, by one query."""
    if not rows:
        return []
    by_session: dict[bytes, list[TurnRow]] = defaultdict(list)
    for turn in turns.list_turns(connection, session_keys=[row.session_key for row in rows]):
        by_session[turn.session_key].append(turn)
    return [_summary(row, [load(turn.facts) for turn in by_session[row.session_key]]) for row in rows]


def _summary(row: SessionRow, facts: Sequence[TurnFacts]) -> SessionSummary:
    opening = next((one.opening for one in facts if one.opening), None)
    return SessionSummary(
        id=row.session_key.hex(),
        row_id=row.id,
        conversation_id=row.conversation_id,
        start_ns=row.start_ns,
        last_ns=row.last_ns,
        turns=len(facts),
        preview=opening[1] if opening else None,
        models=tuple(sorted(frozenset().union(*(one.models for one in facts)))),
        prompt_versions=tuple(sorted(frozenset().union(*(one.prompt_versions for one in facts)))),
        usage=sum((one.usage for one in facts), Usage()),
        errors=sum(one.errors for one in facts),
    )


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NS_PER_MS = 1_000_000
WINDOW, SEARCH_S = 1_000, 0.5


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Conditions on a log's entries, each None for all entries; a `status` is a run's, so it excludes sessions."""

    type: str | None = None
    from_at: datetime | None = None
    to_at: datetime | None = None
    search: str | None = None
    status: str | None = None

    @property
    def has_runs(self) -> bool:
        return self.type != "otel"

    @property
    def has_sessions(self) -> bool:
        return self.type != "run" and not self.status

    @property
    def runs(self) -> RunFilter:
        return RunFilter(self.from_at, self.to_at, self.search, self.status)

    @property
    def sparse(self) -> bool:
        """True if no index knows the matching entries, so that a page of them may be far apart."""
        return bool(self.search or self.status)


Entry = RunEntry | SessionSummary
# Runs come first among entries that started at the same time.
RUN, SESSION = 0, 1


@dataclass(frozen=True, slots=True)
class _Position:
    """The position of an entry in the log."""

    start_ns: int
    kind: int
    id: int

    @classmethod
    def of(cls, entry: Entry) -> _Position:
        if isinstance(entry, RunEntry):
            return cls(ns_of(entry.created_at), RUN, entry.id)
        return cls(entry.start_ns, SESSION, entry.row_id)

    @property
    def order(self) -> tuple[int, int, int]:
        return (-self.start_ns, self.kind, -self.id)

    def before_runs(self) -> tuple[datetime, int]:
        """Return the (created at, id) that runs after this position are below; runs have times in milliseconds."""
        if self.kind == RUN:
            return (_time_of(self.start_ns), self.id)
        return (_time_of(self.start_ns + NS_PER_MS - 1), 0)

    def before_sessions(self) -> tuple[int, int]:
        return (self.start_ns, self.id) if self.kind == SESSION else (self.start_ns + 1, 0)


@dataclass(frozen=True, slots=True)
class _Query:
    """The entries of a prompt's log that match a filter and come after a position."""

    project_id: int
    prompt_id: int
    filter: LogFilter
    after: _Position | None

    @property
    def before_runs(self) -> tuple[datetime, int] | None:
        return self.after.before_runs() if self.after else None

    @property
    def sessions(self) -> SessionRange:
        from_at, to_at = self.filter.from_at, self.filter.to_at
        return SessionRange(
            self.prompt_id,
            self.after.before_sessions() if self.after else None,
            ns_of(from_at) if from_at else None,
            ns_of(to_at) if to_at else None,
        )

    def entries(self, connection: Connection, limit: int) -> list[Entry]:
        """Return at most `limit` entries of each kind, in the log's order."""
        found: list[Entry] = []
        if self.filter.has_runs:
            found += page_of_runs(
                connection,
                project_id=self.project_id,
                prompt_id=self.prompt_id,
                filters=self.filter.runs,
                before=self.before_runs,
                limit=limit,
            )
        if self.filter.has_sessions:
            rows = sessions.list_sessions(connection, self.sessions, limit=limit, search=self.filter.search)
            found += summarise(connection, rows)
        return sorted(found, key=lambda entry: _Position.of(entry).order)

    def floor(self, connection: Connection, window: int) -> datetime | None:
        """Return a time in milliseconds about `window` entries after the position, or None if fewer are left."""
        starts: list[datetime | None] = []
        if self.filter.has_runs:
            starts.append(
                nth_created_at(
                    connection, prompt_id=self.prompt_id, nth=window, filters=self.filter.runs, before=self.before_runs
                )
            )
        if self.filter.has_sessions:
            start_ns = sessions.nth_start_ns(connection, self.sessions, nth=window)
            starts.append(None if start_ns is None else _time_of(start_ns))
        known = [start for start in starts if start]
        return max([*known, self.filter.from_at or EPOCH]) if known else None


@dataclass(slots=True, kw_only=True)
class LogService:
    """Searches that no index serves read the log `window` entries at a time, for half a second at most.

    `tick` returns monotonic seconds.
    """

    database: Database
    window: int = WINDOW
    tick: Callable[[], float] = time.monotonic

    def page(
        self, *, project_id: int, prompt_id: int, filters: LogFilter, limit: int = 50, cursor: str | None = None
    ) -> Page[Entry]:
        """Return runs and sessions, newest first.

        A search for something rare returns what it found in half a second, perhaps nothing, and a cursor to go on.
        """
        after = _Position(*cursors.decode(cursor, int, int, int)) if cursor else None  # type: ignore[arg-type]
        with self.database.read() as connection:
            head = prompts.find_head(connection, project_id=project_id, prompt_id=prompt_id)
            require(head, "There is no such prompt.")
            query = _Query(project_id, prompt_id, filters, after)
            read = self._search if filters.sparse else _read
            found, last = read(connection, query, limit + 1)
        if len(found) > limit:
            last = _Position.of(found[limit - 1])
        return Page(found[:limit], cursors.encode(last.start_ns, last.kind, last.id) if last else None)

    def _search(self, connection: Connection, query: _Query, limit: int) -> tuple[list[Entry], _Position | None]:
        """Return entries, and the position up to which the log was read, or None at its end."""
        found: list[Entry] = []
        until = self.tick() + SEARCH_S
        while True:
            floor = query.floor(connection, self.window)
            since = floor or query.filter.from_at
            found += replace(query, filter=replace(query.filter, from_at=since)).entries(connection, limit)
            query = replace(query, after=_Position(ns_of(floor), SESSION, 0) if floor else None)
            if query.after is None or len(found) >= limit or self.tick() >= until:
                return found, query.after

    def rejected(
        self, *, project_id: int, prompt_id: int | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[RejectedSpan]:
        """Return the spans that were rejected, newest first."""
        with self.database.read() as connection:
            read = partial(spans.list_rejected, connection, project_id=project_id, prompt_id=prompt_id)
            return page_by_id(read, limit=limit, cursor=cursor)


def _read(connection: Connection, query: _Query, limit: int) -> tuple[list[Entry], _Position | None]:
    return query.entries(connection, limit), None


def ns_of(when: datetime) -> int:
    """Return the Unix nanoseconds of a time in whole milliseconds."""
    return (when - EPOCH) // timedelta(milliseconds=1) * NS_PER_MS


def _time_of(start_ns: int) -> datetime:
    """Return the time of Unix nanoseconds, in whole milliseconds."""
    return EPOCH + timedelta(milliseconds=start_ns // NS_PER_MS)
