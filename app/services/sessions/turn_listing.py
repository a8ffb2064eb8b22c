"""Long sessions, one part at a time: some turns, or a piece of a turn, with the outlines of the turns around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from msgspec import structs

from app.database.transactions import Database
from app.errors import require
from app.services.language_models.prices import PriceService
from app.services.search.turn_numbers import TurnNumbers, turn_numbers
from app.services.sessions import reading
from app.services.sessions.reading import LargeReads
from app.services.sessions.service import (
    Session,
    SessionSummary,
    require_session,
    summarise,
)
from app.services.sessions.traces import NO_TURN, PART_TURNS, NearbyTraces, StoredSession
from app.sessions import pieces
from app.sessions.outlines import TurnOutline
from app.sessions.types import ShownSpan, Turn

T = TypeVar("T")

NO_SPAN = "The session has no such span."
OUTLINED_TURNS = 1_000
"""Turns around a part of which the outlines are read, for the timeline and the next turns with errors."""


@dataclass(frozen=True, slots=True)
class SessionPart:
    """Some turns of a session, and the outlines of the traces around them.

    `session` has only the turns of the part, and of the scores those of its turns and of the whole session. The first
    turn of each trace of `outlines` has the number in `numbers`; `start` is the number of turns before the part. A turn
    of many spans has those of piece number `piece`, of `pieces`.
    """

    session: Session
    summary: SessionSummary
    outlines: tuple[TurnOutline, ...]
    numbers: tuple[int, ...]
    start: int
    piece: int = 1
    pieces: int = 1

    @property
    def end(self) -> int:
        """The number of the part's last turn."""
        return self.start + len(self.session.turns)

    @property
    def by_number(self) -> dict[int, TurnOutline]:
        """The outline of each trace by its first turn's number; of a trace with several turns here, of each turn."""
        outlines = dict(zip(self.numbers, self.outlines, strict=True))
        times = Counter(turn.trace_id for turn in self.session.turns)
        first: TurnOutline | None = None
        for number, turn in enumerate(self.session.turns, self.start + 1):
            first = outlines.get(number, first)
            if first and times[turn.trace_id] > 1:
                outlines[number] = _part_of(first, turn)
        return dict(sorted(outlines.items()))


def _part_of(outline: TurnOutline, turn: Turn) -> TurnOutline:
    """Return the outline of a trace with the times, spans and errors of one of its turns."""
    errors = sum(span.error is not None for span in turn.spans)
    return structs.replace(
        outline, start_ns=turn.start_ns, end_ns=turn.end_ns, span_count=len(turn.spans), errors=errors
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPartService:
    """Reads a session without building all of it.

    An answer that comes two turns after its call is missed.
    """

    database: Database
    prices: PriceService
    large: LargeReads

    def part(self, *, project_id: int, session_id: str, turn: int = 1, piece: int = 1) -> SessionPart:
        """Return the part that contains turn number `turn`; `NotFound` without such a session, turn or piece."""

        def read(stored: StoredSession) -> SessionPart:
            index, total = _require_index(stored.numbers, turn), stored.numbers.traces
            first = max(0, min(index - OUTLINED_TURNS // 2, total - OUTLINED_TURNS))
            traces = stored.traces(first // PART_TURNS * PART_TURNS, first + OUTLINED_TURNS)
            start, end = traces.bounds(index)
            count = 1
            if total and traces.is_large(start):
                spans_read = traces.read(start)
                count = pieces.pieces_of(len(spans_read.spans))
                session = traces.piece(start, spans_read, piece)
            else:
                session = traces.built(start, end)
            numbers = traces.numbers_with(session, start, end)
            before = numbers[start - traces.start] - 1
            [summary] = summarise(stored.connection, [stored.row], stored.prices)
            after = stored.numbers.number_of(total) - stored.numbers.number_of(traces.start + len(traces.trace_ids))
            summary = replace(summary, turns=numbers[-1] - 1 + after)
            part = SessionPart(session, summary, traces.outlines, numbers[:-1], before, piece, count)
            require(turn <= max(1, part.end) or None, NO_TURN)
            return part

        return self._read(project_id, session_id, read)

    def turn(self, *, project_id: int, session_id: str, turn: int, piece: int = 1) -> Turn:
        """Return turn number `turn` of a session, or a piece of it; `NotFound` without any such."""

        def read(stored: StoredSession) -> Turn | None:
            index = _require_index(stored.numbers, turn)
            require(stored.numbers.traces or None, NO_TURN)
            within = turn - stored.numbers.number_of(index)
            traces = stored.traces(index - 1, index + 2)
            if traces.is_large(index):
                require(within == 0 or None, NO_TURN)
                return traces.piece(index, traces.read(index), piece).turns[0]
            return next(iter(traces.built(index, index + 1).turns[within : within + 1]), None)

        return require(self._read(project_id, session_id, read), NO_TURN)

    def span(self, *, project_id: int, session_id: str, span_id: str) -> ShownSpan:
        """Return a span of a session, from the first turn with this id; `NotFound` without one."""

        def read(stored: StoredSession) -> ShownSpan:
            index = require(stored.index_of_span(span_id), NO_SPAN)
            traces = stored.traces(index - 1, index + 2)
            shown = _shown(_with_span(traces, index, span_id), span_id)
            shown = shown or _shown(traces.single_span(index, span_id), span_id)
            return require(shown, NO_SPAN)

        return self._read(project_id, session_id, read)

    def _read(self, project_id: int, session_id: str, read: Callable[[StoredSession], T]) -> T:
        """Read a session; few large parts of sessions are read at once. Raises `Unavailable` if these are too many."""
        within = partial(self._read_within, project_id, session_id, read)
        with self.large.opened(project_id, within, most=reading.PART_BYTES) as part:
            return part

    def _read_within(self, project_id: int, session_id: str, read: Callable[[StoredSession], T], most: int | None) -> T:
        with self.database.read() as connection:
            row = require_session(connection, project_id=project_id, session_id=session_id)
            prices = self.prices.book(connection, project_id=project_id)
            return read(StoredSession(connection, row, turn_numbers(connection, row), prices, most))


def _require_index(numbers: TurnNumbers, turn: int) -> int:
    return require(numbers.index_of(turn), NO_TURN)


def _with_span(traces: NearbyTraces, index: int, span_id: str) -> Session:
    """Return the session with a turn, of a large one with the piece that has the span."""
    if not traces.is_large(index):
        return traces.built(index, index + 1)
    read = traces.read(index)
    ids = [span.span_id.hex() for span in read.spans]
    place = ids.index(span_id) if span_id in ids else 0
    return traces.piece(index, read, place // pieces.PIECE_SPANS + 1)


def _shown(session: Session, span_id: str) -> ShownSpan | None:
    return next((span for turn in session.turns for span in turn.spans if span.span_id == span_id), None)
