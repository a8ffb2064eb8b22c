"""A prompt's log: its runs and its sessions in one list, newest first; rejected spans are listed separately."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from sqlalchemy import Connection

from app import pagination
from app.database.transactions import Database
from app.errors import Invalid
from app.models import spans
from app.models.run_log import RunEntry
from app.models.spans import RejectedSpan, RejectionCause
from app.pagination import ListPage, page_by_id
from app.services.language_models.prices import PriceService
from app.services.prompt_log.query import (
    COUNTED,
    SUMMARIES,
    Entry,
    LogFilter,
    LogPosition,
    LogQuery,
    cost_of,
    duration_ms_of,
)
from app.services.prompt_log.words import LogWords
from app.services.search.scanning import SEARCH_S, SORTED_MAX, WINDOW, over_after, page_of_sorted, read_for_a_while
from app.services.search.service import SearchService

LogSort = Literal["time", "oldest", "duration", "cost", "errors"]
"""The order of a log: the latest, the oldest, the longest, the highest cost or the most errors first."""


def _errors(entry: Entry) -> float:
    return entry.outcome in ("nok", "failed") if isinstance(entry, RunEntry) else entry.errors


# The orders without an index.
_VALUES: Mapping[LogSort, Callable[[Entry], float | None]] = {
    "duration": duration_ms_of,
    "cost": cost_of,
    "errors": _errors,
}


@dataclass(slots=True, kw_only=True)
class LogService:
    """Reads logs. A search without an index reads `window` entries at a time, for at most half a second.

    `tick` returns monotonic seconds.
    """

    database: Database
    prices: PriceService
    search: SearchService
    window: int = WINDOW
    tick: Callable[[], float] = time.monotonic

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

        A search for something rare returns what it found within half a second, perhaps nothing, and a cursor to
        continue. An order other than by time sorts the newest `SORTED_MAX` matching entries, or as many as were found
        within half a second; the page is part of these.
        """
        offset, after = _decoded(cursor, order)
        query = LogQuery(project_id, prompt_id, filters, after, oldest_first=order == "oldest")
        with self.database.read() as connection:
            query.check(connection)
            query = replace(query, prices=self.prices.book(connection, project_id=project_id))
            query, words = self._words(connection, query)
            if order in _VALUES:
                return self._sorted(connection, query, words, order, offset, limit)
            entries, last = self._next(connection, query, words, limit + 1)
            shown = self._with_hits(connection, query, words, entries[:limit])
        if len(entries) > len(shown):
            last = LogPosition.of(shown[-1])
        return ListPage(shown, _encoded(order, last) if last else None)

    def _words(self, connection: Connection, query: LogQuery) -> tuple[LogQuery, LogWords | None]:
        """Return the text search of the query, and the query limited to the sessions that may match."""
        if query.filter.words is None:
            return query, None
        words = LogWords(self.search, self.search.query(query.filter.words), {})
        keys = self.search.rare(connection, project_id=query.project_id, query=words.query)
        return replace(query, session_keys=keys), words

    def _with_hits(
        self, connection: Connection, query: LogQuery, words: LogWords | None, entries: list[Entry]
    ) -> list[Entry]:
        """Return entries with their hits, as many as are read within another half a second."""
        if words is None or not entries:
            return entries
        return words.with_hits(connection, query.project_id, entries, over_after(self.tick, SEARCH_S))

    def _next(
        self, connection: Connection, query: LogQuery, words: LogWords | None, limit: int
    ) -> tuple[list[Entry], LogPosition | None]:
        if not query.filter.sparse:
            return query.entries(connection, limit), None
        size = min(self.window, SUMMARIES) if query.filter.of_summaries else self.window
        return read_for_a_while(self._parts(connection, query, words, limit, size), limit, self.tick)

    def _sorted(
        self,
        connection: Connection,
        query: LogQuery,
        words: LogWords | None,
        order: LogSort,
        offset: int,
        limit: int,
    ) -> ListPage[Entry]:
        def cursor(end: int, newest: Entry) -> str:
            # Entries that arrive later come before this position, so no entry moves to another page.
            first = LogPosition.of(newest)
            begin = query.after or replace(first, id=first.id + 1)
            return pagination.encode(order, end, begin.start_ns, begin.kind, begin.id)

        parts = self._parts(connection, query, words, SORTED_MAX + 1, min(self.window, SUMMARIES))
        valued = (([(entry, _VALUES[order](entry)) for entry in entries], after) for entries, after in parts)
        read = partial(self._with_hits, connection, query, words)
        return page_of_sorted(valued, tick=self.tick, offset=offset, limit=limit, cursor=cursor, read=read)

    def _parts(
        self, connection: Connection, query: LogQuery, words: LogWords | None, limit: int, size: int
    ) -> Iterator[tuple[list[Entry], LogPosition | None]]:
        """Yield at most `limit` of each `size` entries, and the position after them, None at the end of the log.

        A text search yields some entries at a time, at least one after half a second.
        """
        is_over = over_after(self.tick, SEARCH_S)
        rest: LogQuery | None = query
        while rest:
            part, rest = rest.window(connection, size)
            after = rest.after if rest else None
            if words is None:
                yield part.entries(connection, limit), after
            else:
                yield from ((entries, left or after) for entries, left in words.parts(connection, part, is_over))

    def count(self, *, project_id: int, prompt_id: int, filters: LogFilter) -> int | None:
        """Return the number of entries; None beyond `COUNTED`, or if only a search could count them."""
        if filters.sparse:
            return None
        query = LogQuery(project_id, prompt_id, filters, None)
        with self.database.read() as connection:
            query.check(connection)
            count = query.count(connection)
        return count if count < COUNTED else None

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
            read = partial(spans.list_rejected, connection, project_id=project_id, prompt_id=prompt_id, code=code)
            return page_by_id(read, limit=limit, cursor=cursor)

    def rejection_causes(self, *, project_id: int) -> list[RejectionCause]:
        """Return the causes of rejections, most spans first."""
        with self.database.read() as connection:
            causes = spans.rejection_causes(connection, project_id=project_id)
        return sorted(causes, key=lambda cause: (-cause.count, cause.newest.code))


def _encoded(order: LogSort, last: LogPosition) -> str:
    named = () if order == "time" else (order,)
    return pagination.encode(*named, last.start_ns, last.kind, last.id)


def _decoded(cursor: str | None, order: LogSort) -> tuple[int, LogPosition | None]:
    """Return the number of sorted entries before the page, and the position after which its entries come."""
    if not cursor:
        return 0, None
    named = () if order == "time" else (str,)
    before = (int,) if order in _VALUES else ()
    values = pagination.decode(cursor, *named, *before, int, int, int)
    if named and values[0] != order:
        raise Invalid("cursor: Not a cursor of this order.")
    start_ns, kind, id_ = (int(value) for value in values[-3:])
    return int(values[1]) if before else 0, LogPosition(start_ns, kind, id_)
