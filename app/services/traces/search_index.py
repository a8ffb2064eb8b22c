"""Keeps the index of the text search: reads the words of turns that changed, after the commit that changed them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog
from sqlalchemy import Connection

from app.db import Database
from app.errors import UNREADABLE
from app.models import log_records, search, spans
from app.models.search import Block, IndexedTurn
from app.models.spans import StoredSpan, TurnKey
from app.otlp.logs import events_of
from app.search.blocks import buckets_of
from app.search.words import word_set
from app.sessions.build import build_lone_turn
from app.sessions.said import LoneTurn, said_in
from app.work.work_time import WorkTime

log = structlog.get_logger(__name__)

# The part of its time that a clock reads words in: ingest keeps the rest of the processor.
WORK_S, EVERY_S = 0.5, 1.5
TURNS_AT_ONCE = 8
"""Turns whose spans are in memory at once."""
CLEARED_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchIndexer:
    """An indexer that is not `enabled` removes the index."""

    database: Database
    enabled: bool
    work_time: WorkTime = field(default_factory=partial(WorkTime, WORK_S))

    def sweep(self) -> None:
        """Read the blocks that wait, the newest first, until none is left or the time is used up."""
        self.work_time.begin()
        step = self._next if self.enabled else self._clear
        while step():
            if self.work_time.is_over:
                return
        self.work_time.caught_up()

    def _next(self) -> bool:
        """Read a block; returns False if none waits."""
        with self.database.read() as connection:
            found = search.newest_waiting(connection)
            if found is None:
                return False
            block, ids = found
            if block != search.EVERYTHING:
                words = self._words(connection, block)
        work: Callable[[Connection], object]
        if block == search.EVERYTHING:
            work = partial(search.note_everything, ids=ids)
        else:
            work = partial(search.put, block=block, buckets=buckets_of(words), waiting_ids=ids)
        self.database.background.retrying(work)
        return True

    def _clear(self) -> bool:
        return self.database.retrying(partial(search.clear, limit=CLEARED_AT_ONCE)) > 0

    def _words(self, connection: Connection, block: Block) -> dict[int, set[str]]:
        """Return the words of the turns of a block, by the index of the turn."""
        listed = search.turns_of_block(connection, block)
        found: dict[int, set[str]] = {}
        for start in range(0, len(listed), TURNS_AT_ONCE):
            found |= _readable_words(connection, block[0], listed[start : start + TURNS_AT_ONCE])
        return found


def _readable_words(connection: Connection, project_id: int, some: Sequence[IndexedTurn]) -> dict[int, set[str]]:
    """Return the words of turns, but for those that can't be built, which must not keep the others from being found."""
    try:
        return _words_of(connection, project_id, some)
    except UNREADABLE as error:
        traces = [turn.trace_id.hex() for turn in some]
        log.error("turns_unreadable", project=project_id, traces=traces, error=str(error), exc_info=error)
    alone = [_readable_words(connection, project_id, [turn]) for turn in some] if len(some) > 1 else []
    return {index: words for one in alone for index, words in one.items()}


def _words_of(connection: Connection, project_id: int, some: Sequence[IndexedTurn]) -> dict[int, set[str]]:
    built = built_turns(connection, project_id=project_id, listed=some)
    return {turn.place[1]: _words_in(built.get(turn.key)) for turn in some}


def _words_in(turn: LoneTurn | None) -> set[str]:
    return set[str]().union(*(word_set(said.text) for said in said_in(turn))) if turn else set()


def built_turns(connection: Connection, *, project_id: int, listed: Sequence[IndexedTurn]) -> dict[TurnKey, LoneTurn]:
    """Return turns built from their spans, those that have any spans."""
    traces: dict[int, list[bytes]] = defaultdict(list)
    for turn in listed:
        traces[turn.prompt_id].append(turn.trace_id)
    logged = events_of(
        log_records.records_of(connection, project_id=project_id, trace_ids=[turn.trace_id for turn in listed])
    )
    found: dict[TurnKey, LoneTurn] = {}
    for prompt_id, trace_ids in traces.items():
        by_trace: dict[bytes, list[StoredSpan]] = defaultdict(list)
        for span in spans.spans_of(connection, project_id=project_id, prompt_id=prompt_id, trace_ids=trace_ids):
            by_trace[span.trace_id].append(span)
        for trace_id, of_turn in by_trace.items():
            found[prompt_id, trace_id] = build_lone_turn(of_turn, logged)
    return found
