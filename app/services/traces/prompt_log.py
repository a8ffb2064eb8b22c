"""A prompt's log: its runs and its sessions in one list, newest first; rejected spans have a list of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice

from sqlalchemy import Connection

from app import cursors
from app.cursors import Page, page_by_id
from app.db import Database
from app.models import prompts, sessions, spans
from app.models.run_log import RunEntry, RunFilter, count_runs, nth_created_at, page_of_runs
from app.models.scores import ScoreRange
from app.models.sessions import SessionRange
from app.models.spans import RejectedSpan, RejectionCause
from app.prices.book import NO_PRICES, PriceBook
from app.services.language_models.prices import PriceService
from app.services.traces.logs import SessionSummary, summarise
from app.timestamps import NS_PER_MS

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WINDOW, SEARCH_S = 1_000, 0.5
# Sessions whose summaries are in memory at once, while a search looks for those that match.
SUMMARIES = 100
COUNTED = 1_000
"""The most entries of a log that are counted."""


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Conditions on a log's entries, each None for all entries; a `status` is a run's, so it excludes sessions.

    `errors` is true for sessions with errors and runs that failed or were not OK, false for sessions and runs that are
    OK. `version` is a commit hash, or "draft" for runs of the draft; `model` is the name of a model. `score` is the
    name of a score of the run, or of the session or a part of it, with a value from `min_score` to `max_score`.
    """

    type: str | None = None
    from_at: datetime | None = None
    to_at: datetime | None = None
    search: str | None = None
    status: str | None = None
    errors: bool | None = None
    version: str | None = None
    model: str | None = None
    score: str | None = None
    min_score: float | None = None
    max_score: float | None = None

    @property
    def has_runs(self) -> bool:
        return self.type != "otel"

    @property
    def has_sessions(self) -> bool:
        return self.type != "run" and not self.status

    @property
    def runs(self) -> RunFilter:
        return RunFilter(
            self.from_at, self.to_at, self.search, self.status, self.errors, self.version, self.model, self.scored
        )

    @property
    def scored(self) -> ScoreRange | None:
        return ScoreRange(self.score, self.min_score, self.max_score) if self.score else None

    @property
    def of_summaries(self) -> bool:
        """True if only the summaries of sessions tell which ones match."""
        return self.errors is not None or bool(self.version or self.model)

    @property
    def sparse(self) -> bool:
        """True if no index knows the matching entries, so that a page of them may be far apart."""
        return bool(self.search or self.status or self.score) or self.of_summaries

    def takes(self, session: SessionSummary) -> bool:
        """Return whether a session has the errors, the version and the model that are asked for."""
        return (
            self.errors in (None, session.errors > 0)
            and self.version in (None, *session.prompt_versions)
            and self.model in (None, *session.models)
        )


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
    prices: PriceBook = NO_PRICES

    def check(self, connection: Connection) -> None:
        """Raise `NotFound` unless the prompt is the project's."""
        prompts.require_head(connection, project_id=self.project_id, prompt_id=self.prompt_id)

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
            found += islice(self._sessions(connection, limit), limit)
        return sorted(found, key=lambda entry: _Position.of(entry).order)

    def _sessions(self, connection: Connection, limit: int) -> Iterator[SessionSummary]:
        """Return the matching sessions; their summaries are read some at a time, at most `limit` at once."""
        within, at_once = self.sessions, min(limit, SUMMARIES) if self.filter.of_summaries else limit
        scored = sessions.scored_as(self.project_id, self.filter.scored)
        while True:
            rows = sessions.list_sessions(connection, within, limit=at_once, search=self.filter.search, scored=scored)
            yield from filter(self.filter.takes, summarise(connection, rows, self.prices))
            if len(rows) < at_once:
                return
            within = replace(within, before=(rows[-1].start_ns, rows[-1].id))

    def count(self, connection: Connection) -> int:
        """Return the number of entries between the times of the filter, of each kind `COUNTED` at most."""
        count = 0
        if self.filter.has_runs:
            count += count_runs(connection, prompt_id=self.prompt_id, filters=self.filter.runs, most=COUNTED)
        if self.filter.has_sessions:
            count += sessions.count_sessions(connection, self.sessions, most=COUNTED)
        return count

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
    prices: PriceService
    window: int = WINDOW
    tick: Callable[[], float] = time.monotonic

    def page(
        self, *, project_id: int, prompt_id: int, filters: LogFilter, limit: int = 50, cursor: str | None = None
    ) -> Page[Entry]:
        """Return runs and sessions, newest first.

        A search for something rare returns what it found in half a second, perhaps nothing, and a cursor to go on.
        """
        after = _Position(*cursors.decode(cursor, int, int, int)) if cursor else None  # type: ignore[arg-type]
        query = _Query(project_id, prompt_id, filters, after)
        with self.database.read() as connection:
            query.check(connection)
            query = replace(query, prices=self.prices.book(connection, project_id=project_id))
            read = self._search if filters.sparse else _read
            found, last = read(connection, query, limit + 1)
        if len(found) > limit:
            last = _Position.of(found[limit - 1])
        return Page(found[:limit], cursors.encode(last.start_ns, last.kind, last.id) if last else None)

    def count(self, *, project_id: int, prompt_id: int, filters: LogFilter) -> int | None:
        """Return the number of entries; None for more than `COUNTED`, or where only a search could count them."""
        if filters.sparse:
            return None
        query = _Query(project_id, prompt_id, filters, None)
        with self.database.read() as connection:
            query.check(connection)
            count = query.count(connection)
        return count if count < COUNTED else None

    def _search(self, connection: Connection, query: _Query, limit: int) -> tuple[list[Entry], _Position | None]:
        """Return entries, and the position up to which the log was read, or None at its end."""
        found: list[Entry] = []
        until = self.tick() + SEARCH_S
        while True:
            floor = query.floor(connection, min(self.window, SUMMARIES) if query.filter.of_summaries else self.window)
            since = floor or query.filter.from_at
            found += replace(query, filter=replace(query.filter, from_at=since)).entries(connection, limit)
            query = replace(query, after=_Position(ns_of(floor), SESSION, 0) if floor else None)
            if query.after is None or len(found) >= limit or self.tick() >= until:
                return found, query.after

    def rejected(
        self,
        *,
        project_id: int,
        prompt_id: int | None = None,
        code: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[RejectedSpan]:
        """Return the spans that were rejected, newest first; `code` is that of their cause."""
        with self.database.read() as connection:
            read = partial(spans.list_rejected, connection, project_id=project_id, prompt_id=prompt_id, code=code)
            return page_by_id(read, limit=limit, cursor=cursor)

    def rejection_causes(self, *, project_id: int) -> list[RejectionCause]:
        """Return the causes for which spans were rejected, those of the most spans first."""
        with self.database.read() as connection:
            causes = spans.rejection_causes(connection, project_id=project_id)
        return sorted(causes, key=lambda cause: (-cause.count, cause.newest.code))


def _read(connection: Connection, query: _Query, limit: int) -> tuple[list[Entry], _Position | None]:
    return query.entries(connection, limit), None


def ns_of(when: datetime) -> int:
    """Return the Unix nanoseconds of a time in whole milliseconds."""
    return (when - EPOCH) // timedelta(milliseconds=1) * NS_PER_MS


def _time_of(start_ns: int) -> datetime:
    """Return the time of Unix nanoseconds, in whole milliseconds."""
    return EPOCH + timedelta(milliseconds=start_ns // NS_PER_MS)
