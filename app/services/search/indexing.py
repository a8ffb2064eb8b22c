"""Keeps the index of the text search: reads the words of changed turns after the commit that changed them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import structlog
from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import MALFORMED_DATA
from app.models import bulk, log_records, search, spans
from app.models.search import BlockKey, IndexedTurn
from app.models.spans import StoredSpan, TurnKey
from app.otlp.logs import events_of
from app.search.blocks import ALL_TURNS, TurnSet, changed_buckets
from app.search.words import word_set
from app.services.search.order import BlockOrder
from app.services.search.turn_sizes import first_spans, last_rows, sizes_of
from app.sessions.build import build_lone_turn
from app.sessions.turn_texts import LoneTurn, texts_in
from app.work.work_time import WorkTime

log = structlog.get_logger(__name__)
K = TypeVar("K")
V = TypeVar("V")

# The clock indexes for `WORK_S` seconds out of `EVERY_S`; the rest of the processor's time is left to ingest.
WORK_S, EVERY_S = 0.5, 1.5
TURNS_AT_ONCE, BYTES_AT_ONCE = 8, 256 * 1024
"""Turns with all spans in memory at once, and the bytes that they need. A turn that needs more is read by itself."""
TURN_WORDS, WORDS_AT_ONCE = 50_000, 100_000
"""Distinct words of a turn, and of the turns that are read before their words are stored."""
CLEARED_AT_ONCE = 500


@dataclass(slots=True)
class ReadTurns:
    """The words of turns of a block: `words` has the set of turns that have a word, by word.

    `read` is the set of all turns that were read, and `unindexed` that of the turns with too many words to be indexed.
    """

    read: TurnSet = 0
    unindexed: TurnSet = 0
    words: dict[str, TurnSet] = field(default_factory=dict)

    def add(self, index: int, words: set[str] | None) -> None:
        """Add the words of the turn at an index of the block; None if they are too many."""
        bit = 1 << index
        self.read |= bit
        if words is None:
            self.unindexed |= bit
        for word in words or ():
            self.words[word] = self.words.get(word, 0) | bit


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchIndexer:
    """Updates the index; an indexer that is not `enabled` removes it."""

    database: Database
    enabled: bool
    work_time: WorkTime = field(default_factory=partial(WorkTime, WORK_S))
    order: BlockOrder = field(default_factory=BlockOrder)

    def sweep(self) -> None:
        """Index waiting turns until none is left or the time is used up."""
        self.work_time.begin()
        step = self._next if self.enabled else self._clear
        while step():
            if self.work_time.is_over:
                return
        self.work_time.caught_up()

    def note_damaged(self, block: BlockKey) -> None:
        """Note that the words of a block must be read again."""
        self.database.retrying(partial(search.note_block, block=block))

    def _next(self) -> bool:
        """Index turns of a block; returns False if none waits."""
        work: Callable[[Connection], object]
        with self.database.read() as connection:
            block = self.order.next(connection)
            if block is None:
                return False
            ids, turns = search.waiting_of(connection, block)
            if block == search.EVERYTHING:
                work = partial(search.note_everything, ids=ids)
            else:
                work = self._update(connection, block, ids, turns)
        self.database.background.retrying(work)
        return True

    def _update(
        self, connection: Connection, block: BlockKey, ids: list[int], turns: TurnSet
    ) -> Callable[[Connection], bool]:
        """Read the waiting turns of a block; returns the function that stores their words.

        `ids` are the waiting rows of the block. If a bucket of the block is damaged, all turns of the block are read.
        """
        buckets = search.stored_buckets(connection, block)
        stored = {bucket: lines for bucket, lines in buckets.items() if lines is not None}
        if damaged := len(stored) < len(buckets):
            turns, stored = ALL_TURNS, {}
        reading = self._read(connection, block, turns)
        changed = changed_buckets(stored, reading.read, reading.words, reading.unindexed)
        if damaged:
            changed = dict.fromkeys(buckets, b"") | changed
        return partial(search.put, block=block, buckets=changed, waiting_ids=ids, left=turns & ~reading.read)

    def _clear(self) -> bool:
        return self.database.retrying(partial(search.clear, limit=CLEARED_AT_ONCE)) > 0

    def _read(self, connection: Connection, block: BlockKey, turns: TurnSet) -> ReadTurns:
        """Read the words of turns of a block, at least of one group, until they are many or the time is used up."""
        listed = [turn for turn in search.turns_of_block(connection, block) if turns >> turn.index & 1]
        reading = ReadTurns(read=turns & ~sum(1 << turn.index for turn in listed))
        sizes = sizes_of(connection, project_id=block.project_id, keys=[turn.key for turn in listed])
        for group in in_groups(listed, sizes):
            words = readable(partial(_words_of, connection, block.project_id), block.project_id, group)
            for turn in group:
                # Turns that can't be built have no words, so that the other turns can still be indexed.
                reading.add(turn.index, words.get(turn.index, set()))
            if len(reading.words) >= WORDS_AT_ONCE or self.work_time.is_over:
                break
        return reading


def in_groups(turns: Sequence[IndexedTurn], sizes: Mapping[TurnKey, int]) -> Iterator[Sequence[IndexedTurn]]:
    """Yield the turns in groups that fit into memory with their spans; `sizes` has the bytes of the spans by turn."""
    return bulk.by_size(turns, lambda turn: max(sizes[turn.key], BYTES_AT_ONCE // TURNS_AT_ONCE), BYTES_AT_ONCE)


def readable(
    read: Callable[[Sequence[IndexedTurn]], dict[K, V]], project_id: int, turns: Sequence[IndexedTurn]
) -> dict[K, V]:
    """Return what `read` returns for the turns. Turns that can't be read are logged and left out.

    A turn can be unreadable because of a bad disk, for example. `project_id` is the project of the turns.
    """
    try:
        return read(turns)
    except MALFORMED_DATA as error:
        traces = [turn.trace_id.hex() for turn in turns]
        log.error("turns_unreadable", project=project_id, traces=traces, error=str(error), exc_info=error)
    if len(turns) == 1:
        return {}
    return {key: value for turn in turns for key, value in readable(read, project_id, [turn]).items()}


def _words_of(connection: Connection, project_id: int, turns: Sequence[IndexedTurn]) -> dict[int, set[str] | None]:
    built = built_turns(connection, project_id=project_id, listed=turns)
    return {turn.index: _words_in(built.get(turn.key)) for turn in turns}


def _words_in(turn: LoneTurn | None) -> set[str] | None:
    """Return the words of a turn; None if they are too many."""
    words = set[str]()
    for item in texts_in(turn) if turn else ():
        words |= word_set(item.text)
        if len(words) > TURN_WORDS:
            return None
    return words


def built_turns(connection: Connection, *, project_id: int, listed: Sequence[IndexedTurn]) -> dict[TurnKey, LoneTurn]:
    """Return turns built from their spans; turns without spans are left out. `listed` is a group of `in_groups`.

    A single turn may need more memory than a group may have, so only the spans that were stored first are read of it.
    """
    traces: dict[int, list[bytes]] = defaultdict(list)
    for turn in listed:
        traces[turn.prompt_id].append(turn.trace_id)
    last_span, last_record = (
        last_rows(connection, project_id=project_id, key=listed[0].key) if len(listed) == 1 else (None, None)
    )
    trace_ids = [turn.trace_id for turn in listed]
    logged = events_of(
        log_records.records_of(connection, project_id=project_id, trace_ids=trace_ids, last_id=last_record)
    )
    turns: dict[TurnKey, LoneTurn] = {}
    for prompt_id, trace_ids in traces.items():
        by_trace: dict[bytes, list[StoredSpan]] = defaultdict(list)
        for span in spans.spans_of(
            connection, project_id=project_id, prompt_id=prompt_id, trace_ids=trace_ids, last_id=last_span
        ):
            by_trace[span.trace_id].append(span)
        for trace_id, of_turn in by_trace.items():
            if read := first_spans(of_turn):
                turns[prompt_id, trace_id] = build_lone_turn(read, logged)
    return turns
