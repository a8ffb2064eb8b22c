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


class LogService:
    def __init__(self, *, database: Database) -> None:
        self._database = database

    def page(
        self, *, project_id: int, prompt_id: int, wanted: LogFilter, limit: int, cursor: str | None
    ) -> Page[SessionSummary]:
        """Entries by their start; those that started at once come runs first, then by id."""
        with self._database.read() as connection:
            if prompts.find_prompt(connection, project_id=project_id, prompt_id=prompt_id) is None:
                raise NotFound("There is no such prompt.")
            return self._sessions(connection, prompt_id, wanted, limit, cursor)

    def _sessions(
        self, connection: Connection, prompt_id: int, wanted: LogFilter, limit: int, cursor: str | None
    ) -> Page[SessionSummary]:
        if wanted.type == "run" or wanted.status:
            return Page([], None)
        before = cursors.decode(cursor, int, int) if cursor else None
        rows = sessions.list_sessions(
            connection,
            prompt_id=prompt_id,
            limit=limit + 1,
            before=(int(before[0]), int(before[1])) if before else None,
            from_ns=_ns(wanted.from_at),
            to_ns=_ns(wanted.to_at),
            search=wanted.search.encode() if wanted.search else None,
        )
        found = summarise(connection, rows[:limit])
        last = rows[limit - 1] if len(rows) > limit else None
        return Page(found, cursors.encode(last.start_ns, last.id) if last else None)

    def rejected(self, *, project_id: int, prompt_id: int | None, limit: int, cursor: str | None) -> Page[RejectedSpan]:
        """Newest first."""
        before = int(cursors.decode(cursor, int)[0]) if cursor else None
        with self._database.read() as connection:
            rows = rejected_spans.list_rejected(
                connection, project_id=project_id, prompt_id=prompt_id, before_id=before, limit=limit + 1
            )
        return Page(rows[:limit], cursors.encode(rows[limit - 1].id) if len(rows) > limit else None)


def _ns(when: datetime | None) -> int | None:
    return None if when is None else (when - EPOCH) // timedelta(milliseconds=1) * NS_PER_MS
