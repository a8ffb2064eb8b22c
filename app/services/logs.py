"""A prompt's log: its runs and its sessions in one list, newest first; and the spans that were rejected."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar

from sqlalchemy import Connection

from app import cursors
from app.db import Database
from app.errors import NotFound
from app.models import prompts, rejected_spans, sessions
from app.models.rejected_spans import RejectedSpan
from app.models.run_log import RunEntry, RunFilter, page_of_runs
from app.services.sessions import SessionSummary, summarise

T = TypeVar("T")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """`next_cursor` is None on the last page."""

    entries: list[T]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class LogFilter:
    """What of the log is wanted; None everywhere for all of it."""

    type: str | None = None
    from_at: datetime | None = None
    to_at: datetime | None = None
    search: str | None = None
    status: str | None = None


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
    def __init__(self, *, database: Database) -> None:
        self._database = database

    def page(
        self, *, project_id: int, prompt_id: int, wanted: LogFilter, limit: int, cursor: str | None
    ) -> Page[Entry]:
        """Runs and sessions by their start; `wanted.status` is a run's, so it leaves sessions out."""
        after = _Place(*cursors.decode(cursor, int, int, int)) if cursor else None  # type: ignore[arg-type]
        with self._database.read() as connection:
            if prompts.find_prompt(connection, project_id=project_id, prompt_id=prompt_id) is None:
                raise NotFound("There is no such prompt.")
            found: list[Entry] = []
            if wanted.type != "otel":
                found += _runs(connection, project_id, prompt_id, wanted, limit + 1, after)
            if wanted.type != "run" and not wanted.status:
                found += _sessions(connection, prompt_id, wanted, limit + 1, after)
        found.sort(key=lambda entry: _Place.of(entry).order)
        last = _Place.of(found[limit - 1]) if len(found) > limit else None
        return Page(found[:limit], cursors.encode(last.start_ns, last.kind, last.id) if last else None)

    def rejected(self, *, project_id: int, prompt_id: int | None, limit: int, cursor: str | None) -> Page[RejectedSpan]:
        """Newest first."""
        before = int(cursors.decode(cursor, int)[0]) if cursor else None
        with self._database.read() as connection:
            rows = rejected_spans.list_rejected(
                connection, project_id=project_id, prompt_id=prompt_id, before_id=before, limit=limit + 1
            )
        return Page(rows[:limit], cursors.encode(rows[limit - 1].id) if len(rows) > limit else None)


def _runs(
    connection: Connection, project_id: int, prompt_id: int, wanted: LogFilter, limit: int, after: _Place | None
) -> list[RunEntry]:
    return page_of_runs(
        connection,
        project_id=project_id,
        prompt_id=prompt_id,
        wanted=RunFilter(wanted.from_at, wanted.to_at, wanted.search, wanted.status),
        before=after.before_runs() if after else None,
        limit=limit,
    )


def _sessions(
    connection: Connection, prompt_id: int, wanted: LogFilter, limit: int, after: _Place | None
) -> list[SessionSummary]:
    rows = sessions.list_sessions(
        connection,
        prompt_id=prompt_id,
        limit=limit,
        before=after.before_sessions() if after else None,
        from_ns=ns_of(wanted.from_at) if wanted.from_at else None,
        to_ns=ns_of(wanted.to_at) if wanted.to_at else None,
        search=wanted.search,
    )
    return summarise(connection, rows)


def ns_of(when: datetime) -> int:
    """Unix nanoseconds of a time in whole milliseconds."""
    return (when - EPOCH) // timedelta(milliseconds=1) * NS_PER_MS
