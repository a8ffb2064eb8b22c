"""The list of a project's sessions: filtered, ordered, counted and exported."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, repeat
from types import MappingProxyType
from typing import Literal

from sqlalchemy import Connection

from app import pagination
from app.database.transactions import Database
from app.errors import Invalid
from app.models import session_list
from app.models.session_list import Conditions, Order, Position, Range
from app.models.sessions import SessionRow
from app.pagination import ListPage
from app.prices.book import PriceBook
from app.prices.types import NOTHING, Bill
from app.services.language_models.prices import PriceService
from app.services.search.scanning import SEARCH_S, WINDOW, over_after, page_of_sorted, read_for_a_while
from app.services.search.service import FoundTurn, Hit, SearchService
from app.services.sessions.bills import bills_of
from app.services.sessions.filters import SessionFilter, stored_conditions
from app.sessions.sums import Kind, names_in
from app.sessions.types import Usage
from app.timestamps import Now

PRICED_AT_ONCE, SEARCHED_AT_ONCE, READ_AT_ONCE = 200, 200, 20
"""Sessions that are read together: to price them, to search the index, and if turns may have to be read."""
COUNT_S, COUNT_MAX = 0.1, 10_000
"""The time for counting sessions that have to be read, and the limit if an index serves all conditions."""
OTHER_ORDER = "cursor: Not a cursor of this order."
Found = tuple[SessionRow, Position]
Hits = dict[bytes, Hit | None]
Sort = Order | Literal["cost"]
"""An order of the list. "cost", the highest first, has no index."""


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A session of the list; it has a `hit` if the filter has words."""

    row: SessionRow
    prompt_name: str
    preview: str | None
    bill: Bill = NOTHING
    hit: Hit | None = None

    @property
    def id(self) -> str:
        return self.row.session_key.hex()

    @property
    def usage(self) -> Usage:
        return Usage(self.row.input_tokens, self.row.output_tokens)

    def names(self, kind: Kind) -> tuple[str, ...]:
        return names_in(self.row.names or "", kind)


@dataclass(frozen=True, slots=True)
class Count:
    """A number of sessions; there are more unless it is `complete`."""

    sessions: int
    complete: bool


@dataclass(slots=True, kw_only=True)
class SessionListService:
    """Lists sessions. Conditions without an index are checked on `window` sessions at a time.

    A request does so for at most half a second. `tick` returns monotonic seconds.
    """

    database: Database
    now: Now
    prices: PriceService
    search: SearchService
    window: int = WINDOW
    tick: Callable[[], float] = time.monotonic

    def page(
        self,
        *,
        project_id: int,
        filters: SessionFilter,
        order: Sort = "time",
        limit: int = 50,
        cursor: str | None = None,
    ) -> ListPage[ListedSession]:
        """Return a page of the sessions that match, in the order.

        A search for something rare returns what it found within half a second, perhaps nothing, and a cursor to
        continue. By cost, the newest `SORTED_MAX` sessions are sorted, or as many as were found within half a second;
        the page is part of these.
        """
        if order == "cost":
            return self._by_cost(project_id, filters, limit, cursor)
        begin = _position(cursor, order)
        is_over = over_after(self.tick, SEARCH_S)
        matched: dict[bytes, FoundTurn] = {}
        with self.database.read() as connection:
            conditions = self._conditions(connection, project_id, filters)
            parts = self._windows(connection, conditions, order, begin, limit + 1, matched, is_over)
            sessions, after = read_for_a_while(parts, limit + 1, self.tick)
            hits = self._hits(connection, conditions, [row for row, _ in sessions[:limit]], matched)
            shown = sessions[: len(hits)]
            if len(sessions) > len(shown):
                after = shown[-1][1]
            listed = self._listed(connection, conditions, [row for row, _ in shown], hits)
        return ListPage(listed, pagination.encode(order, *after) if after else None)

    def _by_cost(
        self, project_id: int, filters: SessionFilter, limit: int, cursor: str | None
    ) -> ListPage[ListedSession]:
        offset, begin = _sorted_position(cursor)
        is_over = over_after(self.tick, SEARCH_S)
        matched: dict[bytes, FoundTurn] = {}
        hits: Hits = {}

        def following(end: int, newest: Found) -> str:
            start_ns, id_ = begin or (newest[1][0], newest[1][1] + 1)
            return pagination.encode("cost", end, start_ns, id_)

        def read(sessions: list[Found]) -> list[Found]:
            hits.update(self._hits(connection, conditions, [row for row, _ in sessions], matched))
            return sessions[: len(hits)]

        with self.database.read() as connection:
            prices = self.prices.book(connection, project_id=project_id)
            conditions = self._conditions(connection, project_id, filters)
            parts = self._windows(connection, conditions, "time", begin, PRICED_AT_ONCE, matched, is_over)
            priced = ((_with_costs(connection, rows, prices), after) for rows, after in parts)
            page = page_of_sorted(priced, tick=self.tick, offset=offset, limit=limit, cursor=following, read=read)
            listed = self._listed(connection, conditions, [row for row, _ in page.entries], hits)
        return ListPage(listed, page.next_cursor, page.sorted)

    def count(self, *, project_id: int, filters: SessionFilter) -> Count:
        """Count the sessions that match: up to `COUNT_MAX`, or for `COUNT_S` if they have to be read."""
        is_over, count = over_after(self.tick, COUNT_S), 0
        with self.database.read() as connection:
            conditions = self._conditions(connection, project_id, filters)
            if not conditions.looks_through("time"):
                number = session_list.count(connection, conditions, most=COUNT_MAX + 1)
                return Count(min(number, COUNT_MAX), complete=number <= COUNT_MAX)
            for rows, after in self._windows(connection, conditions, "time", None, self.window, is_over=is_over):
                count += len(rows)
                if after and is_over():
                    return Count(count, complete=False)
        return Count(count, complete=True)

    def all(self, *, project_id: int, filters: SessionFilter, order: Order) -> Iterator[ListedSession]:
        """Yield all sessions that match, reading them lazily; raises `Invalid` for a wrong filter immediately.

        Each piece is read in a separate transaction, which ends before the caller gets the sessions.
        """
        with self.database.read() as connection:
            conditions = self._conditions(connection, project_id, filters)
        return self._all(conditions, order)

    def _all(self, conditions: Conditions, order: Order) -> Iterator[ListedSession]:
        after: Position | None = None
        while True:
            with self.database.read() as connection:
                rows, after = next(self._windows(connection, conditions, order, after, self.window))
                listed = self._listed(connection, conditions, [row for row, _ in rows])
            yield from listed
            if after is None:
                return

    def _windows(
        self,
        connection: Connection,
        conditions: Conditions,
        order: Order,
        after: Position | None,
        least: int,
        matched: dict[bytes, FoundTurn] | None = None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[list[Found], Position | None]]:
        """Yield the sessions that match among the next ones, and the position to continue after, None at the end.

        `least` sessions are read at once if an index serves all conditions. `matched` is filled with the first matching
        turn of each session, if the filter has words. Once `is_over`, fewer sessions are read, but at least one.
        """
        most = min(self.window, _at_once(conditions)) if conditions.looks_through(order) else least
        # If many sessions match, the first window may fill the page.
        for size in chain((min(least, most),), repeat(most)):
            positions = session_list.window(connection, conditions, order=order, after=after, limit=size)
            rows = session_list.matching(connection, conditions, order=order, positions=positions)
            rows = self._within_cost(connection, conditions, rows)
            at = {id_: (key, id_) for key, id_ in positions}
            after = positions[-1] if len(positions) == size else None
            if conditions.query is not None:
                first = self.search.first_turns(
                    connection,
                    project_id=conditions.project_id,
                    query=conditions.query,
                    session_keys=[row.session_key for row in rows],
                    is_over=is_over,
                )
                if len(first) < len(rows):
                    after = at[rows[len(first) - 1].id]
                rows = [row for row in rows if first.get(row.session_key)]
                if matched is not None:
                    matched |= {key: turn for key, turn in first.items() if turn}
            yield [(row, at[row.id]) for row in rows], after
            if after is None:
                return

    def _within_cost(self, connection: Connection, conditions: Conditions, rows: list[SessionRow]) -> list[SessionRow]:
        if conditions.cost == Range():
            return rows
        bills = bills_of(connection, rows, self.prices.book(connection, project_id=conditions.project_id))
        return [row for row in rows if conditions.cost.has(bills[row.session_key].total_usd)]

    def _hits(
        self,
        connection: Connection,
        conditions: Conditions,
        rows: list[SessionRow],
        matched: Mapping[bytes, FoundTurn],
    ) -> Hits:
        """Return the hits of the first sessions, at least one, as many as are read within another half a second."""
        if conditions.query is None:
            return dict.fromkeys(row.session_key for row in rows)
        return self.search.hits(
            connection,
            project_id=conditions.project_id,
            query=conditions.query,
            first=[matched[row.session_key] for row in rows],
            is_over=over_after(self.tick, SEARCH_S),
        )

    def _listed(
        self,
        connection: Connection,
        conditions: Conditions,
        rows: list[SessionRow],
        hits: Mapping[bytes, Hit | None] = MappingProxyType({}),
    ) -> list[ListedSession]:
        """Return the sessions with first words, prompts, costs and hits; sessions of erased prompts are left out."""
        if not rows:
            return []
        project_id = conditions.project_id
        prompt_ids = sorted({row.prompt_id for row in rows})
        names = session_list.prompt_names(connection, project_id=project_id, prompt_ids=prompt_ids)
        keys = [row.session_key for row in rows]
        previews = session_list.previews(connection, project_id=project_id, session_keys=keys)
        bills = bills_of(connection, rows, self.prices.book(connection, project_id=project_id))
        return [
            ListedSession(
                row,
                names[row.prompt_id],
                previews.get(row.session_key),
                bills[row.session_key],
                hits.get(row.session_key),
            )
            for row in rows
            if row.prompt_id in names
        ]

    def _conditions(self, connection: Connection, project_id: int, filters: SessionFilter) -> Conditions:
        conditions = stored_conditions(connection, project_id, filters, self.now())
        if filters.words is None:
            return conditions
        query = self.search.query(filters.words)
        keys = self.search.rare(connection, project_id=project_id, query=query)
        if keys is not None and conditions.session_keys is not None:
            of_conversation = frozenset(conditions.session_keys)
            keys = [key for key in keys if key in of_conversation]
        return replace(conditions, query=query, session_keys=conditions.session_keys if keys is None else keys)


def _position(cursor: str | None, order: Order) -> Position | None:
    if not cursor:
        return None
    named, key, id_ = pagination.decode(cursor, str, int, int)
    if named != order:
        raise Invalid(OTHER_ORDER)
    return int(key), int(id_)


def _sorted_position(cursor: str | None) -> tuple[int, Position | None]:
    """Return the number of sorted sessions before the page, and the position at which sorting began.

    Sessions that were stored later come before this position.
    """
    if not cursor:
        return 0, None
    named, offset, start_ns, id_ = pagination.decode(cursor, str, int, int, int)
    if named != "cost":
        raise Invalid(OTHER_ORDER)
    return int(offset), (int(start_ns), int(id_))


def _at_once(conditions: Conditions) -> int:
    """Return the number of sessions that are read at once."""
    if conditions.query is not None:
        return SEARCHED_AT_ONCE if conditions.query.is_exact else READ_AT_ONCE
    return WINDOW if conditions.cost == Range() else PRICED_AT_ONCE


def _with_costs(connection: Connection, rows: list[Found], prices: PriceBook) -> list[tuple[Found, float | None]]:
    bills = bills_of(connection, [row for row, _ in rows], prices)
    return [(entry, bills[entry[0].session_key].total_usd) for entry in rows]
