"""The text search over everything said in the turns of sessions."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from operator import and_

from sqlalchemy import Connection

from app.errors import Invalid
from app.models import queries, search
from app.models.search import IndexedTurn
from app.search.blocks import ALL, TURNS, needed, turns_with, unindexed_in
from app.search.query import Query, Term, parse
from app.services.traces.search_index import TURNS_AT_ONCE, SearchIndexer, built_turns
from app.sessions.said import Kind, Said, said_in

RARE = 1_000
"""Turns that are looked up at once by their ids; where more are found, lists are looked through for them."""
FIND_S = 0.25
FIRST_BLOCKS, BLOCKS_AT_ONCE = 50, 250
"""Blocks that are looked at together: the newest, which tell that a word is said often, and the others."""
AROUND = 60
"""Characters of a hit's text before and after the words, and at most as many of the words."""

Places = tuple[tuple[int, int], ...]
"""The first character of each of some words, and the one after its last."""
Sets = dict[int, int]
"""Sets of turns by their blocks."""


@dataclass(frozen=True, slots=True)
class Hit:
    """The first text of a session that a query finds: a part of it, and the places of the words in that part.

    `turn` is the turn's number in the session; `span_id` is None for what the user said.
    """

    turn: int
    trace_id: str
    span_id: str | None
    kind: Kind
    text: str
    places: Places


@dataclass(frozen=True, slots=True)
class FoundTurn:
    """A turn that may match, with its number in its session, and the hit in it where its texts were read.

    Of an `indexed` one all words of the query are known to be there, and those not to be there that it excludes.
    """

    number: int
    turn: IndexedTurn
    indexed: bool = True
    hit: Hit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchService:
    """`monotonic` returns seconds."""

    indexer: SearchIndexer
    monotonic: Callable[[], float] = time.monotonic

    def query(self, text: str) -> Query:
        """Return what a text asks for; raises `Invalid` if it can't be searched for."""
        if not self.indexer.enabled:
            raise Invalid("q: The search is switched off here.")
        try:
            return parse(text)
        except Invalid as error:
            raise Invalid(f"q: {error}") from error

    def rare(self, connection: Connection, *, project_id: int, query: Query) -> list[bytes] | None:
        """Return the keys of all sessions in which a turn may match; None where these are many, or take too long."""
        until, found, below = self.monotonic() + FIND_S, list[int](), None
        limit = FIRST_BLOCKS
        while True:
            blocks, below = self._next_blocks(connection, project_id, query, below, limit)
            limit = BLOCKS_AT_ONCE
            found += (block * TURNS + index for block, turns in blocks.items() for index in _indices(turns))
            if len(found) > RARE or (below is not None and self.monotonic() >= until):
                return None
            if below is None:
                turns = search.turns_by_id(connection, project_id=project_id, ids=found)
                return sorted({turn.session_key for turn in turns})

    def _next_blocks(
        self, connection: Connection, project_id: int, query: Query, below: int | None, limit: int
    ) -> tuple[Sets, int | None]:
        """Return the turns that may match in the next blocks under `below`, and the last of these; None at the end."""
        (bucket, terms), *others = needed(query).items()
        rows = search.buckets_in(connection, project_id=project_id, bucket=bucket, below=below, limit=limit)
        last = rows[-1][0] if len(rows) == limit else None
        self._note_damaged(project_id, rows)
        sets = {block: turns for block, words in rows if (turns := _meet(terms, words))}
        for bucket, terms in others:
            sets = self._narrowed(connection, project_id, sets, bucket, terms)
        return sets, last

    def first_turns(
        self,
        connection: Connection,
        *,
        project_id: int,
        query: Query,
        session_keys: Sequence[bytes],
        is_over: Callable[[], bool] = lambda: False,
    ) -> dict[bytes, FoundTurn | None]:
        """Return the first turn of each session that matches, None for a session without one.

        The sessions are looked at in their order, and once `is_over` no further one is: it is not in what is returned.
        At least the first session is.
        """
        candidates = self._candidates(connection, project_id, query, session_keys)
        first: dict[bytes, FoundTurn | None] = dict.fromkeys(session_keys)
        if query.is_exact:
            first |= {key: turns[0] for key, turns in candidates.items() if turns[0].indexed}
        undecided = (found for key in session_keys for found in candidates.get(key, ()) if first[key] is None)
        for found, said in _read(connection, project_id, undecided):
            key = found.turn.session_key
            if key != session_keys[0] and is_over():
                decided = session_keys.index(key) + (first[key] is not None)
                return {one: first[one] for one in session_keys[:decided]}
            if first[key] is None and query.holds(one.text for one in said):
                first[key] = replace(found, hit=_first_hit(query, found, said))
        return first

    def hits(
        self,
        connection: Connection,
        *,
        project_id: int,
        query: Query,
        first: Sequence[FoundTurn],
        is_over: Callable[[], bool] = lambda: False,
    ) -> dict[bytes, Hit | None]:
        """Return the first text of each of these turns that has words of the query, by the keys of their sessions.

        Once `is_over` no further turn is read, in the order of `first`: it is not in what is returned.
        """
        hits: dict[bytes, Hit | None] = {}
        unread = _read(connection, project_id, (found for found in first if not found.hit))
        for found in first:
            if hits and is_over():
                break
            hits[found.turn.session_key] = found.hit or _first_hit(query, *next(unread))
        return hits

    def _candidates(
        self, connection: Connection, project_id: int, query: Query, session_keys: Sequence[bytes]
    ) -> dict[bytes, list[FoundTurn]]:
        """Return the turns that may have the words of the query of each session that has any, in order."""
        listed = search.turns_of_sessions(connection, project_id=project_id, session_keys=session_keys)
        sets = dict.fromkeys({turn.place[0] for turn in listed}, ALL)
        unindexed: Sets = defaultdict(int)
        for bucket, terms in needed(query).items():
            sets = self._narrowed(connection, project_id, sets, bucket, terms, unindexed)
        numbers: Counter[bytes] = Counter()
        found: dict[bytes, list[FoundTurn]] = defaultdict(list)
        for turn in listed:
            numbers[turn.session_key] += 1
            block, index = turn.place
            if sets.get(block, 0) >> index & 1:
                indexed = not unindexed[block] >> index & 1
                found[turn.session_key].append(FoundTurn(numbers[turn.session_key], turn, indexed))
        return found

    def _narrowed(
        self,
        connection: Connection,
        project_id: int,
        sets: Sets,
        bucket: int,
        terms: Iterable[Term],
        unindexed: Sets | None = None,
    ) -> Sets:
        """Return those of the turns that may meet the terms of a bucket; adds to the sets of those not indexed."""
        words = dict[int, bytes | None]()
        for some in queries.pieces(sorted(sets)):
            words.update(search.buckets_in(connection, project_id=project_id, bucket=bucket, blocks=some))
        self._note_damaged(project_id, words.items())
        if unindexed is not None:
            for block, lines in words.items():
                unindexed[block] |= ALL if lines is None else unindexed_in(lines)
        narrowed = {block: turns & _meet(terms, words.get(block, b"")) for block, turns in sets.items()}
        return {block: turns for block, turns in narrowed.items() if turns}

    def _note_damaged(self, project_id: int, rows: Iterable[tuple[int, bytes | None]]) -> None:
        for block in [block for block, words in rows if words is None]:
            self.indexer.note_damaged((project_id, block))


def _read(
    connection: Connection, project_id: int, turns: Iterator[FoundTurn]
) -> Iterator[tuple[FoundTurn, list[Said]]]:
    """Yield turns with what is said in them, of which some are in memory at once."""
    while some := list(islice(turns, TURNS_AT_ONCE)):
        built = built_turns(connection, project_id=project_id, listed=[found.turn for found in some])
        for found in some:
            yield found, list(said_in(built[found.turn.key])) if found.turn.key in built else []


def _meet(terms: Iterable[Term], words: bytes | None) -> int:
    """Return the set of turns that may meet the terms of a bucket: all of them if its words are damaged."""
    return ALL if words is None else reduce(and_, (turns_with(term, words) for term in terms))


def _indices(turns: int) -> Iterator[int]:
    return (index for index in range(TURNS) if turns >> index & 1)


def _first_hit(query: Query, found: FoundTurn, said: Iterable[Said]) -> Hit | None:
    return next(filter(None, (_hit(query, found, one) for one in said)), None)


def _hit(query: Query, found: FoundTurn, said: Said) -> Hit | None:
    part = part_with(query, said.text)
    return part and Hit(found.number, found.turn.trace_id.hex(), said.span_id, said.kind, *part)


def part_with(query: Query, text: str) -> tuple[str, Places] | None:
    """Return the part of a text around the first words of a query, and where they are in it; None without any."""
    places = query.places_in(text, reach=2 * AROUND)
    if not places:
        return None
    begin, end = max(0, places[0][0] - AROUND), min(places[0][1], places[0][0] + AROUND) + AROUND
    return text[begin:end], tuple((start - begin, min(stop, end) - begin) for start, stop in places if start < end)
