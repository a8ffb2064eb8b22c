"""The text search in the turns of sessions."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from operator import and_

from sqlalchemy import Connection

from app.errors import Invalid
from app.models import bulk, search, session_list, sessions
from app.models.search import BlockKey, IndexedTurn
from app.models.spans import TurnKey
from app.search.blocks import ALL_TURNS, TURNS_PER_BLOCK, terms_by_bucket, turns_with, unindexed_in
from app.search.query import Query, Term, parse
from app.services.search.indexing import (
    BYTES_AT_ONCE,
    TURNS_AT_ONCE,
    SearchIndexer,
    built_turns,
    in_groups,
    readable,
)
from app.services.search.turn_numbers import NUMBERED_MAX, turn_numbers
from app.services.search.turn_sizes import sizes_of
from app.sessions.turn_texts import Kind, LoneTurn, TurnText, texts_in
from app.values.budget import OverBudget, WorkBudget

RARE_TURNS_MAX = 1_000
"""Matching turns are looked up by their ids up to this number; beyond it the lists are read and filtered."""
FIND_S = 0.25
FIRST_BLOCKS, BLOCKS_AT_ONCE = 50, 250
"""Blocks that are read together: the newest first, which show whether a word is frequent, then the others."""
WORDS_MAX = 128 * 1024
"""KiB of the index that are read to find rare words, or to narrow the turns of sessions."""
LISTED_MAX, SEARCHED_MAX = 10_000, 50_000
"""Turns of sessions that are listed together, and turns of one session that are searched: the first ones."""
UNDECIDED_BYTES = 4 * 1024 * 1024
"""Bytes of turns that are read even when the time is over. Then the first session is listed without a hit."""
CHARACTERS_AROUND = 60
"""Characters of a hit's text before and after the words, and at most as many of the words themselves."""

Places = tuple[tuple[int, int], ...]
"""The start and end offsets of words in a text; ends are exclusive."""
Sets = dict[int, int]
"""Sets of turns, as bits, by their block."""


@dataclass(frozen=True, slots=True)
class Hit:
    """The first text of a session that matches a query: an excerpt, and the places of the words in it.

    `turn` is the turn's number in the session; `span_id` is None for the user's message.
    """

    turn: int
    trace_id: str
    span_id: str | None
    kind: Kind
    text: str
    places: Places


@dataclass(frozen=True, slots=True)
class FoundTurn:
    """A turn that may match, with the number of its trace in its session, and its hit if its texts were read.

    Each trace is a turn, or several of a conversation. The hit counts the turns from the first one of the trace. If the
    turn is `indexed`, the index shows that it has all words of the query and none of the excluded ones.
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
        """Parse a query; raises `Invalid` for a text that can't be searched for."""
        if not self.indexer.enabled:
            raise Invalid("q: The search is switched off here.")
        try:
            return parse(text)
        except Invalid as error:
            raise Invalid(f"q: {error}") from error

    def rare(self, connection: Connection, *, project_id: int, query: Query) -> list[bytes] | None:
        """Return the keys of all sessions with a turn that may match; None if they are many or slow to find."""
        until, turn_ids, below = self.monotonic() + FIND_S, list[int](), None
        limit, budget = FIRST_BLOCKS, WorkBudget(WORDS_MAX)
        while True:
            try:
                blocks, below = self._next_blocks(connection, project_id, query, below, limit, budget)
            except OverBudget:
                return None
            limit = BLOCKS_AT_ONCE
            turn_ids += (
                block * TURNS_PER_BLOCK + index for block, turns in blocks.items() for index in _indices(turns)
            )
            if len(turn_ids) > RARE_TURNS_MAX or (below is not None and self.monotonic() >= until):
                return None
            if below is None:
                turns = search.turns_by_id(connection, project_id=project_id, ids=turn_ids)
                return sorted({turn.session_key for turn in turns})

    def _next_blocks(
        self, connection: Connection, project_id: int, query: Query, below: int | None, limit: int, budget: WorkBudget
    ) -> tuple[Sets, int | None]:
        """Return the turns that may match in the next blocks below `below`, and the last of these blocks.

        The block is None at the end. Raises `OverBudget`.
        """
        (bucket, terms), *others = terms_by_bucket(query).items()
        sizes = search.blocks_of(connection, project_id=project_id, bucket=bucket, below=below, limit=limit)
        last = min(sizes) if len(sizes) == limit else None
        words = self._words(connection, project_id, bucket, sizes, budget)
        sets = {block: turns for block, lines in words if (turns := _meet(terms, lines))}
        for bucket, terms in others:
            sets = self._narrowed(connection, project_id, sets, bucket, terms, budget)
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

        Sessions are read in their order, at least the first. Sessions that were not read before `is_over`, or have too
        many turns together with those before them, are missing from the result. If the first session could not be read
        to its end, the result has its next turn that may match.
        """
        session_keys = _with_few_turns(connection, project_id, session_keys)
        candidates = self._candidates(connection, project_id, query, session_keys)
        first: dict[bytes, FoundTurn | None] = dict.fromkeys(session_keys)
        if query.is_exact:
            first |= {key: turns[0] for key, turns in candidates.items() if turns[0].indexed}
        undecided = (turn for key in session_keys for turn in candidates.get(key, ()) if first[key] is None)
        left = UNDECIDED_BYTES
        for turn, size, texts in _read(connection, project_id, undecided):
            key = turn.turn.session_key
            is_first = key == session_keys[0]
            if is_over() and (left <= 0 or not is_first):
                if is_first:
                    first[key] = first[key] or turn
                decided = session_keys.index(key) + (first[key] is not None)
                return {item: first[item] for item in session_keys[:decided]}
            left -= max(size, BYTES_AT_ONCE // TURNS_AT_ONCE)
            if first[key] is None and query.matches(item.text for item in texts):
                first[key] = replace(turn, hit=_first_hit(query, turn, texts))
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
        """Return the first text of each of these turns that has words of the query, by session key.

        Turns are read in the order of `first`. Turns that were not read before `is_over` are missing from the result.
        """
        hits: dict[bytes, tuple[FoundTurn, Hit | None]] = {}
        unread = _read(connection, project_id, (turn for turn in first if not turn.hit))
        for turn in first:
            if hits and is_over():
                break
            hit = turn.hit
            if hit is None:
                _, _, texts = next(unread)
                hit = _first_hit(query, turn, texts)
            hits[turn.turn.session_key] = turn, hit
        before = _turns_before(connection, project_id, [turn for turn, _ in hits.values()])
        return {key: hit and replace(hit, turn=hit.turn + before[key]) for key, (_, hit) in hits.items()}

    def _candidates(
        self, connection: Connection, project_id: int, query: Query, session_keys: Sequence[bytes]
    ) -> dict[bytes, list[FoundTurn]]:
        """Return the turns that may have the words of the query, in order, by session key."""
        listed = search.turns_of_sessions(
            connection, project_id=project_id, session_keys=session_keys, limit=SEARCHED_MAX
        )
        sets = dict.fromkeys({turn.block for turn in listed}, ALL_TURNS)
        unindexed: Sets = defaultdict(int)
        budget = WorkBudget(WORDS_MAX)
        for bucket, terms in terms_by_bucket(query).items():
            sets = self._narrowed(connection, project_id, sets, bucket, terms, budget, unindexed)
        numbers: Counter[bytes] = Counter()
        candidates: dict[bytes, list[FoundTurn]] = defaultdict(list)
        for turn in listed:
            numbers[turn.session_key] += 1
            if sets.get(turn.block, 0) >> turn.index & 1:
                indexed = not unindexed[turn.block] >> turn.index & 1
                candidates[turn.session_key].append(FoundTurn(numbers[turn.session_key], turn, indexed))
        return candidates

    def _narrowed(
        self,
        connection: Connection,
        project_id: int,
        sets: Sets,
        bucket: int,
        terms: Iterable[Term],
        budget: WorkBudget,
        unindexed: Sets | None = None,
    ) -> Sets:
        """Return the subset of the turns that may meet the terms of a bucket.

        Turns that are not indexed are added to `unindexed`, and so are the turns of blocks beyond the budget. Without
        `unindexed` these raise `OverBudget`.
        """
        sizes = search.sizes_in(connection, project_id=project_id, bucket=bucket, blocks=sorted(sets))
        met = dict.fromkeys(sets.keys() - sizes.keys(), _meet(terms, b""))
        try:
            for block, words in self._words(connection, project_id, bucket, sizes, budget):
                met[block] = _meet(terms, words)
                if unindexed is not None:
                    unindexed[block] |= ALL_TURNS if words is None else unindexed_in(words)
        except OverBudget:
            if unindexed is None:
                raise
            unindexed |= dict.fromkeys(sets.keys() - met.keys(), ALL_TURNS)
        narrowed = {block: turns & met.get(block, ALL_TURNS) for block, turns in sets.items()}
        return {block: turns for block, turns in narrowed.items() if turns}

    def _words(
        self, connection: Connection, project_id: int, bucket: int, sizes: Mapping[int, int], budget: WorkBudget
    ) -> Iterator[tuple[int, bytes | None]]:
        """Yield the words of blocks, None for damaged ones, until they are more than the budget: see `words_in`."""
        for block, words in search.words_in(connection, project_id=project_id, bucket=bucket, sizes=sizes):
            if words is None:
                self.indexer.note_damaged(BlockKey(project_id, block))
            budget.spend(1 + len(words or b"") // 1024)
            yield block, words


def _with_few_turns(connection: Connection, project_id: int, session_keys: Sequence[bytes]) -> Sequence[bytes]:
    """Return the first sessions, which have at most `LISTED_MAX` turns together; at least one."""
    turns_by_key = session_list.turn_counts(
        connection, project_id=project_id, session_keys=session_keys, unknown=LISTED_MAX
    )
    return next(bulk.by_size(session_keys, lambda key: turns_by_key.get(key, 0), LISTED_MAX), ())


def _turns_before(connection: Connection, project_id: int, first: Iterable[FoundTurn]) -> dict[bytes, int]:
    """Return the number of turns before the traces of these turns, by session key.

    Facts of at most `NUMBERED_MAX` traces are read. Each other trace counts as one turn.
    """
    by_key = {turn.turn.session_key: turn for turn in first}
    before = {key: turn.number - 1 for key, turn in by_key.items()}
    later = [key for key, turn in by_key.items() if turn.number > 1]
    rows = sessions.find_sessions(connection, project_id=project_id, session_keys=later) if later else []
    left = NUMBERED_MAX
    for row in rows:
        index = by_key[row.session_key].number - 1
        numbers = turn_numbers(connection, row, most=min(left, index))
        before[row.session_key] = numbers.number_of(index) - 1
        left -= len(numbers.firsts) - 1
    return before


def _read(
    connection: Connection, project_id: int, turns: Iterator[FoundTurn]
) -> Iterator[tuple[FoundTurn, int, list[TurnText]]]:
    """Yield turns with their bytes and their texts; as many are in memory at once as `in_groups` allows.

    Turns that can't be read have no texts.
    """

    def build(listed: Sequence[IndexedTurn]) -> dict[TurnKey, LoneTurn]:
        return built_turns(connection, project_id=project_id, listed=listed)

    while piece := list(islice(turns, TURNS_AT_ONCE)):
        by_id = {candidate.turn.id: candidate for candidate in piece}
        sizes = sizes_of(connection, project_id=project_id, keys=[candidate.turn.key for candidate in piece])
        for group in in_groups([candidate.turn for candidate in piece], sizes):
            built = readable(build, project_id, group)
            for turn in group:
                yield by_id[turn.id], sizes[turn.key], _texts(built.pop(turn.key, None))


def _texts(turn: LoneTurn | None) -> list[TurnText]:
    return list(texts_in(turn)) if turn else []


def _meet(terms: Iterable[Term], words: bytes | None) -> int:
    """Return the set of turns that may meet the terms of a bucket; all turns if its words are damaged."""
    return ALL_TURNS if words is None else reduce(and_, (turns_with(term, words) for term in terms))


def _indices(turns: int) -> Iterator[int]:
    return (index for index in range(TURNS_PER_BLOCK) if turns >> index & 1)


def _first_hit(query: Query, turn: FoundTurn, texts: Iterable[TurnText]) -> Hit | None:
    return next(filter(None, (_hit(query, turn, text) for text in texts)), None)


def _hit(query: Query, turn: FoundTurn, text: TurnText) -> Hit | None:
    part = part_with(query, text.text)
    return part and Hit(text.part + 1, turn.turn.trace_id.hex(), text.span_id, text.kind, *part)


def part_with(query: Query, text: str) -> tuple[str, Places] | None:
    """Return the excerpt around the first words of a query, and their places in it; None without any."""
    places = query.places_in(text, reach=2 * CHARACTERS_AROUND)
    if not places:
        return None
    begin, end = (
        max(0, places[0][0] - CHARACTERS_AROUND),
        min(places[0][1], places[0][0] + CHARACTERS_AROUND) + CHARACTERS_AROUND,
    )
    cut = ((start, min(stop, end)) for start, stop in places)
    return text[begin:end], tuple((start - begin, stop - begin) for start, stop in cut if start < stop)
