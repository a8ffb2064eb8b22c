"""A prompt's log: its runs and its sessions in one list, newest first; and the spans that were rejected."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection

from app import cursors
from app.cursors import Page, page_by_id
from app.db import Database
from app.errors import NotFound
from app.models import prompts, rejected_spans, sessions
from app.models.rejected_spans import RejectedSpan
from app.models.run_log import RunEntry, RunFilter, nth_created_at, page_of_runs
from app.services.traces.sessions import SessionSummary, summarise

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NS_PER_MS = 1_000_000
WINDOW = 1_000
SEARCH_S = 0.5


@dataclass(frozen=True, slots=True)
class LogFilter:
    """What of the log is wanted; None everywhere for all of it."""

    type: str | None = None
    from_at: datetime | None = None
    to_at: datetime | None = None
    search: str | None = None
    status: str | None = None

    @property
    def runs(self) -> RunFilter:
        return RunFilter(self.from_at, self.to_at, self.search, self.status)

    @property
    def sparse(self) -> bool:
        """Whether entries have to be read to know if they are wanted, so that a page of them may be far apart."""
        return bool(self.search or self.status)


Entry = RunEntry | SessionSummary
# Runs come first among entries that started at once.
RUN, SESSION = 0, 1


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an entry stands in the log: newest first."""

    start_ns: int
    kind: int
    id: int

    @classmethod
    def of(cls, entry: Entry) -> _Place:
        if isinstance(entry, RunEntry):
            return cls(ns_of(entry.created_at), RUN, entry.id)
        return cls(entry.start_ns, SESSION, entry.row_id)

    @property
    def order(self) -> tuple[int, int, int]:
        return (-self.start_ns, self.kind, -self.id)

    def before_runs(self) -> tuple[datetime, int]:
        """What (created at, id) runs must be before, to come after this place; times of runs are whole milliseconds."""
        if self.kind == RUN:
            return (EPOCH + timedelta(milliseconds=self.start_ns // NS_PER_MS), self.id)
        return (EPOCH + timedelta(milliseconds=-(-self.start_ns // NS_PER_MS)), 0)

    def before_sessions(self) -> tuple[int, int]:
        return (self.start_ns, self.id) if self.kind == SESSION else (self.start_ns + 1, 0)


class LogService:
    """Who looks for what no index knows has the log read `window` entries at a time, for half a second at most.

    `tick` tells seconds that only go forward.
    """

    def __init__(self, *, database: Database, window: int = WINDOW, tick: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._window = window
        self._tick = tick

    def page(
        self, *, project_id: int, prompt_id: int, wanted: LogFilter, limit: int, cursor: str | None
    ) -> Page[Entry]:
        """Runs and sessions by their start; `wanted.status` is a run's, so it leaves sessions out.

        Who looks for something rare gets what was found in half a second, perhaps nothing, and a cursor to go on.
        """
        after = _Place(*cursors.decode(cursor, int, int, int)) if cursor else None  # type: ignore[arg-type]
        with self._database.read() as connection:
            if prompts.find_prompt(connection, project_id=project_id, prompt_id=prompt_id) is None:
                raise NotFound("There is no such prompt.")
            found, last = self._find(connection, _Wanted(project_id, prompt_id, wanted, limit + 1), after)
        if len(found) > limit:
            last = _Place.of(found[limit - 1])
        return Page(found[:limit], cursors.encode(last.start_ns, last.kind, last.id) if last else None)

    def _find(self, connection: Connection, wanted: _Wanted, after: _Place | None) -> tuple[list[Entry], _Place | None]:
        """What comes after the place, at least `wanted.limit` if there are so many; else how far was looked."""
        if not wanted.filter.sparse:
            return _entries(connection, wanted, after), None
        found: list[Entry] = []
        until = self._tick() + SEARCH_S
        while True:
            floor = _floor(connection, wanted, after, self._window)
            since = floor or wanted.filter.from_at
            found += _entries(connection, replace(wanted, filter=replace(wanted.filter, from_at=since)), after)
            after = _Place(ns_of(floor), SESSION, 0) if floor else None
            if after is None or len(found) >= wanted.limit or self._tick() >= until:
                return found, after

    def rejected(self, *, project_id: int, prompt_id: int | None, limit: int, cursor: str | None) -> Page[RejectedSpan]:
        """Newest first."""
        with self._database.read() as connection:
            read = partial(rejected_spans.list_rejected, connection, project_id=project_id, prompt_id=prompt_id)
            return page_by_id(read, limit=limit, cursor=cursor)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A prompt, what is wanted of its log, and how many entries."""

    project_id: int
    prompt_id: int
    filter: LogFilter
    limit: int

    @property
    def has_runs(self) -> bool:
        return self.filter.type != "otel"

    @property
    def has_sessions(self) -> bool:
        return self.filter.type != "run" and not self.filter.status

    def sessions_after(self, after: _Place | None) -> dict[str, Any]:
        """Which sessions come after the place."""
        from_at, to_at = self.filter.from_at, self.filter.to_at
        return {
            "prompt_id": self.prompt_id,
            "before": after.before_sessions() if after else None,
            "from_ns": ns_of(from_at) if from_at else None,
            "to_ns": ns_of(to_at) if to_at else None,
        }


def _entries(connection: Connection, wanted: _Wanted, after: _Place | None) -> list[Entry]:
    """At most `wanted.limit` of each kind, in the log's order."""
    found: list[Entry] = []
    if wanted.has_runs:
        found += page_of_runs(
            connection,
            project_id=wanted.project_id,
            prompt_id=wanted.prompt_id,
            wanted=wanted.filter.runs,
            before=after.before_runs() if after else None,
            limit=wanted.limit,
        )
    if wanted.has_sessions:
        within = wanted.sessions_after(after)
        rows = sessions.list_sessions(connection, limit=wanted.limit, search=wanted.filter.search, **within)
        found += summarise(connection, rows) if rows else []
    return sorted(found, key=lambda entry: _Place.of(entry).order)


def _floor(connection: Connection, wanted: _Wanted, after: _Place | None, window: int) -> datetime | None:
    """A time, in whole milliseconds, with about `window` entries between it and the place; None if there are fewer."""
    starts: list[datetime] = []
    if wanted.has_runs:
        before = after.before_runs() if after else None
        created_at = nth_created_at(
            connection, prompt_id=wanted.prompt_id, nth=window, wanted=wanted.filter.runs, before=before
        )
        starts += [created_at] if created_at else []
    if wanted.has_sessions:
        start_ns = sessions.nth_start_ns(connection, nth=window, **wanted.sessions_after(after))
        starts += [EPOCH + timedelta(milliseconds=start_ns // NS_PER_MS)] if start_ns is not None else []
    if wanted.filter.from_at and starts:
        starts.append(wanted.filter.from_at)
    return max(starts, default=None)


def ns_of(when: datetime) -> int:
    """Unix nanoseconds of a time in whole milliseconds."""
    return (when - EPOCH) // timedelta(milliseconds=1) * NS_PER_MS
