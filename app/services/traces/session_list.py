"""The list of a project's sessions: filtered, ordered, counted and exported."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from app import cursors
from app.cursors import Page
from app.db import Database
from app.errors import Invalid
from app.models import session_list, turns
from app.models.scores import ScoreRange
from app.models.session_list import Conditions, Order, Position, Range
from app.models.sessions import SessionRow
from app.prices.book import PriceBook
from app.prices.types import NOTHING, Bill
from app.services.language_models.prices import PriceService
from app.services.traces.prompt_log import SEARCH_S, WINDOW, ns_of
from app.services.traces.search import FoundTurn, Hit, SearchService
from app.services.traces.turns import conversation_key
from app.sessions.facts import load
from app.sessions.sums import Kind, names_in
from app.sessions.types import Usage

NS_PER_MS = 1_000_000
SESSIONS_AT_ONCE = 50
SEARCHED_AT_ONCE, READ_AT_ONCE = 200, 20
"""Sessions whose turns are looked up in the index of words at once, and those whose turns may have to be read."""
COUNT_S = 0.2
"""The time after which counting ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Conditions on a project's sessions, each None for all of them.

    `words` is what the text search looks for: one turn of a session has all of it. `label` names a label that points to
    the version of a session's turns, now. `score` is the name of a score that it, or one of its turns or spans, has.
    `errors` is true for sessions in which a span has an error, false for others.
    """

    prompt_id: int | None = None
    version: str | None = None
    label: str | None = None
    model: str | None = None
    user_id: str | None = None
    conversation_id: str | None = None
    errors: bool | None = None
    tool: str | None = None
    failed_tool: str | None = None
    score: str | None = None
    min_score: float | None = None
    max_score: float | None = None
    min_tokens: int | None = None
    max_tokens: int | None = None
    min_duration_ms: int | None = None
    max_duration_ms: int | None = None
    min_turns: int | None = None
    max_turns: int | None = None
    from_at: datetime | None = None
    to_at: datetime | None = None
    words: str | None = None


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A session as the list shows it; with a `hit` where words were looked for."""

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
    """Conditions that no index serves are looked for in `window` sessions at a time, for half a second at most.

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
        filters: SessionFilter,
        order: Order = "time",
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[ListedSession]:
        """Return the sessions that match, those first that have the most of what the list is ordered by.

        A search for something rare returns what it found in half a second, perhaps nothing, and a cursor to go on.
        """
        begin, after = _position(cursor, order), None
        until = self.tick() + SEARCH_S
        found: list[tuple[SessionRow, Position]] = []
        with self.database.read() as connection:
            conditions = self._conditions(connection, project_id, filters)
            for rows, after in self._windows(connection, conditions, order, begin, limit + 1):  # noqa: B007
                found += rows
                if len(found) > limit or self.tick() >= until:
                    break
            if len(found) > limit:
                found, after = found[:limit], found[limit - 1][1]
            listed = self._listed(connection, conditions, [row for row, _ in found], hits=True)
        return Page(listed, cursors.encode(order, *after) if after else None)

    def count(self, *, project_id: int, filters: SessionFilter) -> Count:
        """Count the sessions that match, for a fifth of a second at most."""
        until, count = self.tick() + COUNT_S, 0
        with self.database.read() as connection:
            conditions = self._conditions(connection, project_id, filters)
            for rows, after in self._windows(connection, conditions, "time", None, self.window):
                count += len(rows)
                if after and self.tick() >= until:
                    return Count(count, complete=False)
        return Count(count, complete=True)

    def all(self, *, project_id: int, filters: SessionFilter, order: Order) -> Iterator[ListedSession]:
        """Yield all sessions that match; no transaction spans them, and none is open while the caller has one."""
        with self.database.read() as connection:
            conditions = self._conditions(connection, project_id, filters)
        after: Position | None = None
        while True:
            with self.database.read() as connection:
                rows, after = next(self._windows(connection, conditions, order, after, self.window))
                listed = self._listed(connection, conditions, [row for row, _ in rows])
            yield from listed
            if after is None:
                return

    def _windows(
        self, connection: Connection, conditions: Conditions, order: Order, after: Position | None, least: int
    ) -> Iterator[tuple[list[tuple[SessionRow, Position]], Position | None]]:
        """Yield the sessions that match among the next ones, and the position after which to go on, None at the end.

        `least` are looked at where an index serves all conditions.
        """
        query = conditions.query
        size = self.window if conditions.other(order) else least
        if query is not None:
            size = min(size, SEARCHED_AT_ONCE if query.is_exact else READ_AT_ONCE)
        while True:
            positions = session_list.window(connection, conditions, order=order, after=after, limit=size)
            rows = session_list.matching(connection, conditions, order=order, positions=positions)
            at = {id_: (key, id_) for key, id_ in positions}
            after = positions[-1] if len(positions) == size else None
            if query is not None:
                first = self._first_turns(connection, conditions, rows)
                rows = [row for row in rows if row.session_key in first]
            yield [(row, at[row.id]) for row in rows], after
            if after is None:
                return

    def _first_turns(
        self, connection: Connection, conditions: Conditions, rows: list[SessionRow]
    ) -> dict[bytes, FoundTurn]:
        if conditions.query is None:
            return {}
        keys = [row.session_key for row in rows]
        return self.search.first_turns(
            connection, project_id=conditions.project_id, query=conditions.query, session_keys=keys
        )

    def _listed(
        self, connection: Connection, conditions: Conditions, rows: list[SessionRow], *, hits: bool = False
    ) -> list[ListedSession]:
        """The sessions with their first words, prompts and costs, without those of erased prompts."""
        if not rows:
            return []
        project_id, query = conditions.project_id, conditions.query
        prompt_ids = sorted({row.prompt_id for row in rows})
        names = session_list.prompt_names(connection, project_id=project_id, prompt_ids=prompt_ids)
        said = session_list.previews(connection, [row.session_key for row in rows])
        bills = _bills(connection, rows, self.prices.book(connection, project_id=project_id))
        found: dict[bytes, Hit] = {}
        if hits and query is not None:
            first = self._first_turns(connection, conditions, rows)
            found = self.search.hits(connection, project_id=project_id, query=query, first=first.values())
        return [
            ListedSession(
                row,
                names[row.prompt_id],
                said.get(row.session_key),
                bills[row.session_key],
                found.get(row.session_key),
            )
            for row in rows
            if row.prompt_id in names
        ]

    def _conditions(self, connection: Connection, project_id: int, filters: SessionFilter) -> Conditions:
        conditions = _stored_conditions(connection, project_id, filters)
        if filters.words is None:
            return conditions
        query = self.search.query(filters.words)
        keys = self.search.rare(connection, project_id=project_id, query=query)
        if keys is not None and conditions.session_keys is not None:
            keys = [key for key in keys if key in conditions.session_keys]
        return replace(conditions, query=query, session_keys=conditions.session_keys if keys is None else keys)


def _position(cursor: str | None, order: Order) -> Position | None:
    if not cursor:
        return None
    named, key, id_ = cursors.decode(cursor, str, int, int)
    if named != order:
        raise Invalid("cursor: Not a cursor of this order.")
    return int(key), int(id_)


def _stored_conditions(connection: Connection, project_id: int, filters: SessionFilter) -> Conditions:
    prompts = session_list.prompts_with_labels(connection, project_id=project_id) if _asks_prompts(filters) else {}
    keys, versions = None, None
    if filters.conversation_id is not None:
        keys = [conversation_key(prompt_id, filters.conversation_id) for prompt_id in prompts]
    if filters.label is not None:
        pointed = {id_: labels[filters.label] for id_, labels in prompts.items() if filters.label in labels}
        versions = {
            id_: [one.commit_hash, *([one.split.commit_hash] if one.split else [])] for id_, one in pointed.items()
        }
    return Conditions(
        project_id=project_id,
        prompt_id=filters.prompt_id,
        session_keys=keys,
        user_id=filters.user_id,
        from_ns=ns_of(filters.from_at) if filters.from_at else None,
        to_ns=ns_of(filters.to_at) if filters.to_at else None,
        version=filters.version,
        versions=versions,
        model=filters.model,
        tool=filters.tool,
        failed_tool=filters.failed_tool,
        errors=filters.errors,
        score=ScoreRange(filters.score, filters.min_score, filters.max_score) if filters.score is not None else None,
        tokens=Range(filters.min_tokens, filters.max_tokens),
        duration_ns=Range(_ns(filters.min_duration_ms), _ns(filters.max_duration_ms)),
        turns=Range(filters.min_turns, filters.max_turns),
    )


def _asks_prompts(filters: SessionFilter) -> bool:
    return filters.conversation_id is not None or filters.label is not None


def _ns(ms: int | None) -> int | None:
    return None if ms is None else ms * NS_PER_MS


def _bills(connection: Connection, rows: list[SessionRow], prices: PriceBook) -> dict[bytes, Bill]:
    """Return what the model calls of sessions cost, by the prices of now; the turns of some are read at a time."""
    found = dict.fromkeys([row.session_key for row in rows], NOTHING)
    keys = list(found)
    for start in range(0, len(keys), SESSIONS_AT_ONCE):
        for turn in turns.list_turns(connection, session_keys=keys[start : start + SESSIONS_AT_ONCE]):
            found[turn.session_key] += load(turn.facts).bill(prices)
    return found
