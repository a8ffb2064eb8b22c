"""The list of a project's sessions: filtered, ordered, counted and exported."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, repeat
from typing import Literal

from sqlalchemy import Connection

from app.database.transactions import Database
from app.models import session_list
from app.models.session_list import Conditions, Order, Range
from app.models.sessions import SessionRow
from app.pagination import ListPage
from app.prices.book import PriceBook
from app.prices.types import NOTHING, Bill
from app.search.query import Query
from app.services.language_models.prices import PriceService
from app.services.search.scanning import SEARCH_S, WINDOW_ENTRIES, Position, Scan, Tick, over_after
from app.services.search.service import FoundTurn, Hit, SearchService
from app.services.sessions.bills import bills_of
from app.services.sessions.filters import SessionFilter, stored_conditions
from app.sessions.sums import Kind, names_in
from app.sessions.types import Usage
from app.timestamps import Now

COUNT_S, COUNT_MAX = 0.1, 10_000
"""The time for counting sessions that have to be read, and the limit if an index serves all conditions."""
PRICED_AT_ONCE, SEARCHED_AT_ONCE, READ_AT_ONCE = 200, 200, 20
"""Sessions that are read together: to price them, to search the index, and if turns may have to be read."""
Sort = Order | Literal["cost"]
"""An order of the list. "cost", the highest first, has no index."""
PlacedSession = tuple[SessionRow, session_list.Position]
"""A session, and its position in the list."""


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


@dataclass(slots=True, kw_only=True)
class SessionScan(Scan[PlacedSession]):
    """The sessions that meet the conditions. Conditions without an index are checked on `window` sessions at a time.

    They are read in the order of `index`. If it serves all conditions, each piece has `least` sessions; otherwise only
    the first one has. Once `is_over`, a text search reads fewer sessions, but at least one. `prices` returns today's
    prices.
    """

    connection: Connection
    conditions: Conditions
    index: Order
    least: int
    window: int
    prices: Callable[[], PriceBook]
    search: SearchService
    is_over: Callable[[], bool]
    position_length = 2
    _matched: dict[bytes, FoundTurn] = field(default_factory=dict, init=False)
    _hits: dict[bytes, Hit | None] = field(default_factory=dict, init=False)

    def parts(self, after: Position | None) -> Iterator[tuple[Sequence[PlacedSession], Position | None]]:
        conditions, order = self.conditions, self.index
        most = min(self.window, _at_once(conditions)) if conditions.looks_through(order) else self.least
        begin = None if after is None else (after[0], after[1])
        # If many sessions match, the first window may fill the page.
        for size in chain((min(self.least, most),), repeat(most)):
            positions = session_list.window(self.connection, conditions, order=order, after=begin, limit=size)
            rows = session_list.matching(self.connection, conditions, order=order, positions=positions)
            rows = self._within_cost(rows)
            at = {id_: (key, id_) for key, id_ in positions}
            begin = positions[-1] if len(positions) == size else None
            if conditions.query is not None:
                decided, matching = self._with_words(conditions.query, rows)
                if decided < len(rows):
                    begin = at[rows[decided - 1].id]
                rows = matching
            yield [(row, at[row.id]) for row in rows], begin
            if begin is None:
                return

    def _within_cost(self, rows: list[SessionRow]) -> list[SessionRow]:
        if self.conditions.cost == Range():
            return rows
        bills = bills_of(self.connection, rows, self.prices())
        return [row for row in rows if self.conditions.cost.has(bills[row.session_key].total_usd)]

    def _with_words(self, query: Query, rows: list[SessionRow]) -> tuple[int, list[SessionRow]]:
        """Return how many of the first sessions were searched, and which of them match."""
        first = self.search.first_turns(
            self.connection,
            project_id=self.conditions.project_id,
            query=query,
            session_keys=[row.session_key for row in rows],
            is_over=self.is_over,
        )
        self._matched |= {key: turn for key, turn in first.items() if turn}
        return len(first), [row for row in rows if first.get(row.session_key)]

    def position_of(self, entry: PlacedSession) -> Position:
        return entry[1]

    def values_of(self, entries: Sequence[PlacedSession]) -> list[float | None]:
        """Return the costs of sessions in US dollars."""
        bills = bills_of(self.connection, [row for row, _ in entries], self.prices())
        return [bills[row.session_key].total_usd for row, _ in entries]

    def with_hits(self, entries: Sequence[PlacedSession]) -> Sequence[PlacedSession]:
        """Read the hits of the first sessions, at least one, as many as are read within another half a second."""
        if self.conditions.query is None:
            return entries
        self._hits = self.search.hits(
            self.connection,
            project_id=self.conditions.project_id,
            query=self.conditions.query,
            first=[self._matched[row.session_key] for row, _ in entries],
            is_over=over_after(self.tick, SEARCH_S),
        )
        return entries[: len(self._hits)]

    def listed(self, entries: Sequence[PlacedSession]) -> list[ListedSession]:
        """Return the sessions with first words, prompts, costs and hits; sessions of erased prompts are left out."""
        if not entries:
            return []
        rows, project_id = [row for row, _ in entries], self.conditions.project_id
        prompt_ids = sorted({row.prompt_id for row in rows})
        names = session_list.prompt_names(self.connection, project_id=project_id, prompt_ids=prompt_ids)
        previews = session_list.previews(self.connection, rows)
        bills = bills_of(self.connection, rows, self.prices())
        return [
            ListedSession(
                row,
                names[row.prompt_id],
                previews.get(row.session_key),
                bills[row.session_key],
                self._hits.get(row.session_key),
            )
            for row in rows
            if row.prompt_id in names
        ]


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
    window: int = WINDOW_ENTRIES
    tick: Tick = time.monotonic

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

        Only the order by cost has no index; see `Scan.page` for it, and for searches.
        """
        is_over = over_after(self.tick, SEARCH_S)
        with self.database.read() as connection:
            conditions = self._conditions(connection, project_id, filters)
            scan = self._scan(connection, conditions, order, limit=limit, is_over=is_over)
            page = scan.page(cursor)
            return ListPage(scan.listed(page.entries), page.next_cursor, page.sorted)

    def count(self, *, project_id: int, filters: SessionFilter) -> Count:
        """Count the sessions that match: up to `COUNT_MAX`, or for `COUNT_S` if they have to be read."""
        is_over, count = over_after(self.tick, COUNT_S), 0
        with self.database.read() as connection:
            conditions = self._conditions(connection, project_id, filters)
            if not conditions.looks_through("time"):
                number = session_list.count(connection, conditions, most=COUNT_MAX + 1)
                return Count(min(number, COUNT_MAX), complete=number <= COUNT_MAX)
            for rows, after in self._scan(connection, conditions, "time", is_over=is_over).parts(None):
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
                scan = self._scan(connection, conditions, order)
                sessions, after = next(scan.parts(after))
                listed = scan.listed(sessions)
            yield from listed
            if after is None:
                return

    def _scan(
        self,
        connection: Connection,
        conditions: Conditions,
        order: Sort,
        *,
        limit: int | None = None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> SessionScan:
        return SessionScan(
            connection=connection,
            conditions=conditions,
            order=order,
            by_value=order == "cost",
            index="time" if order == "cost" else order,
            limit=limit or self.window,
            least=PRICED_AT_ONCE if order == "cost" else limit + 1 if limit else self.window,
            window=self.window,
            prices=cache(partial(self.prices.book, connection, project_id=conditions.project_id)),
            search=self.search,
            tick=self.tick,
            is_over=is_over,
        )

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


def _at_once(conditions: Conditions) -> int:
    """Return the number of sessions that are read at once."""
    if conditions.query is not None:
        return SEARCHED_AT_ONCE if conditions.query.is_exact else READ_AT_ONCE
    return WINDOW_ENTRIES if conditions.cost == Range() else PRICED_AT_ONCE
