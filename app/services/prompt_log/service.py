"""A prompt's log: its runs and its sessions in one list, newest first; rejected spans are listed separately."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from sqlalchemy import Connection

from app.database.transactions import Database
from app.models import rejected_spans
from app.models.rejected_spans import RejectedSpan, RejectionCause
from app.models.run_log import RunEntry
from app.pagination import ListPage, page_by_id
from app.services.language_models.prices import PriceService
from app.services.prompt_log.query import (
    COUNTED_MAX,
    SUMMARIES_AT_ONCE,
    Entry,
    LogFilter,
    LogPosition,
    LogQuery,
    cost_of,
    duration_ms_of,
)
from app.services.prompt_log.words import IsOver, LogWords
from app.services.search.scanning import SEARCH_S, SORTED_MAX, WINDOW_ENTRIES, Position, Scan, Tick, over_after
from app.services.search.service import SearchService

LogSort = Literal["time", "oldest", "duration", "cost", "errors"]
"""The order of a log: the latest, the oldest, the longest, the highest cost or the most errors first."""


def _errors(entry: Entry) -> float:
    return entry.outcome in ("nok", "failed") if isinstance(entry, RunEntry) else entry.errors


# The orders without an index.
_VALUES: Mapping[str, Callable[[Entry], float | None]] = {
    "duration": duration_ms_of,
    "cost": cost_of,
    "errors": _errors,
}


@dataclass(slots=True, kw_only=True)
class LogScan(Scan[Entry]):
    """The entries of a query; see `Scan`. Filters without an index are applied to `window` entries at a time.

    `words` is the text search, None without one. Once half a second is over, it reads only a few more entries.
    """

    connection: Connection
    query: LogQuery
    words: LogWords | None
    window: int
    position_length = len(LogPosition._fields)

    def parts(self, after: Position | None) -> Iterator[tuple[Sequence[Entry], Position | None]]:
        query = replace(self.query, after=LogPosition(*after) if after else None)
        if not self.by_value and not query.filter.sparse:
            yield query.entries(self.connection, query.rows(self.connection, self.limit + 1)), None
            return
        is_over = over_after(self.tick, SEARCH_S)
        size = min(self.window, SUMMARIES_AT_ONCE) if self.by_value or query.filter.of_summaries else self.window
        rest: LogQuery | None = query
        while rest:
            part, rest = rest.window(self.connection, size)
            after = rest.after if rest else None
            yield from ((entries, left or after) for entries, left in self._within(part, is_over))

    def _within(self, query: LogQuery, is_over: IsOver) -> Iterator[tuple[list[Entry], LogPosition | None]]:
        """Yield the matching entries of a window, piece by piece, each with the position after it; None at the end.

        A text search may stop before the last of the rows that were read: the next piece then begins there.
        """
        at_once = self.words.at_once if self.words else SORTED_MAX if self.by_value else self.limit + 1
        last = query.after
        while True:
            query = replace(query, after=last)
            rows = query.rows(self.connection, at_once)
            searched, matching = len(rows), rows
            if self.words:
                searched, matching = self.words.matching(self.connection, query.project_id, rows, is_over)
            is_end = searched == len(rows) < at_once
            last = None if is_end else LogPosition.of(rows[searched - 1])
            yield query.entries(self.connection, matching), last
            if last is None:
                return

    def position_of(self, entry: Entry) -> Position:
        return LogPosition.of(entry)

    def values_of(self, entries: Sequence[Entry]) -> Iterator[float | None]:
        return map(_VALUES[self.order], entries)

    def with_hits(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return entries with their hits, as many as are read within another half a second."""
        if self.words is None or not entries:
            return entries
        is_over = over_after(self.tick, SEARCH_S)
        return self.words.with_hits(self.connection, self.query.project_id, entries, is_over)


@dataclass(slots=True, kw_only=True)
class LogService:
    """Reads logs. A search without an index reads `window` entries at a time, for at most half a second.

    `tick` returns monotonic seconds.
    """

    database: Database
    prices: PriceService
    search: SearchService
    window: int = WINDOW_ENTRIES
    tick: Tick = time.monotonic

    def page(
        self,
        *,
        project_id: int,
        prompt_id: int,
        filters: LogFilter,
        order: LogSort = "time",
        limit: int = 50,
        cursor: str | None = None,
    ) -> ListPage[Entry]:
        """Return a page of runs and sessions in the order.

        Only the orders by time have an index; see `Scan.page` for the others, and for searches.
        """
        query = LogQuery(project_id, prompt_id, filters, None, oldest_first=order == "oldest")
        with self.database.read() as connection:
            query.check(connection)
            query = replace(query, prices=self.prices.book(connection, project_id=project_id))
            query, words = self._words(connection, query)
            scan = LogScan(
                connection=connection,
                query=query,
                words=words,
                order="" if order == "time" else order,
                by_value=order in _VALUES,
                limit=limit,
                window=self.window,
                tick=self.tick,
            )
            return scan.page(cursor)

    def _words(self, connection: Connection, query: LogQuery) -> tuple[LogQuery, LogWords | None]:
        """Return the text search of the query, and the query limited to the sessions that may match."""
        if query.filter.words is None:
            return query, None
        words = LogWords(self.search, self.search.query(query.filter.words), {})
        keys = self.search.rare(connection, project_id=query.project_id, query=words.query)
        return replace(query, session_keys=keys), words

    def count(self, *, project_id: int, prompt_id: int, filters: LogFilter) -> int | None:
        """Return the number of entries; None beyond `COUNTED_MAX`, or if only a search could count them."""
        if filters.sparse:
            return None
        query = LogQuery(project_id, prompt_id, filters, None)
        with self.database.read() as connection:
            query.check(connection)
            count = query.count(connection)
        return count if count < COUNTED_MAX else None

    def rejected(
        self,
        *,
        project_id: int,
        prompt_id: int | None = None,
        code: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> ListPage[RejectedSpan]:
        """Return the rejected spans, newest first; `code` is the code of their cause."""
        with self.database.read() as connection:
            read = partial(
                rejected_spans.list_rejected, connection, project_id=project_id, prompt_id=prompt_id, code=code
            )
            return page_by_id(read, limit=limit, cursor=cursor)

    def rejection_causes(self, *, project_id: int) -> list[RejectionCause]:
        """Return the causes of rejections, most spans first."""
        with self.database.read() as connection:
            causes = rejected_spans.rejection_causes(connection, project_id=project_id)
        return sorted(causes, key=lambda cause: (-cause.count, cause.newest.code))
