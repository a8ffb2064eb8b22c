"""Long sessions, one part at a time: the facts of all turns, and turns, or a piece of one, built from spans."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeVar

from msgspec import structs
from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import require
from app.models import spans, turns
from app.models.scores import ScoreRow
from app.models.sessions import SessionRow
from app.models.turns import TurnRow
from app.prices.book import PriceBook
from app.services.language_models.prices import PriceService
from app.services.sessions import reading
from app.services.sessions.reading import LargeReads, NeedsPlace, ReadSpans, read_spans
from app.services.sessions.service import (
    Session,
    SessionSummary,
    built_session,
    require_session,
    session_of,
    summary_of,
)
from app.sessions import pieces
from app.sessions.facts import TurnFacts, load
from app.sessions.types import ShownSpan, Turn

T = TypeVar("T")

NO_SPAN = "The session has no such span."
NO_TURN = "The session has no such turn."
# Turns, and spans, of a part; a turn with more spans is a separate part.
TURNS, SPANS = 10, 120
READ_MAX = 20_000
"""Spans of a turn that are read to find those of a piece; of more these that were stored first."""


@dataclass(frozen=True, slots=True)
class SessionPart:
    """Some turns of a session, and the facts of all of its traces.

    `session` has only the turns of the part, and of the scores those of its turns and of the whole session. The first
    turn of each trace has the number in `numbers`; `start` is the number of turns before the part. A turn of many spans
    has those of piece number `piece`, of `pieces`.
    """

    session: Session
    summary: SessionSummary
    facts: tuple[TurnFacts, ...]
    numbers: tuple[int, ...]
    start: int
    piece: int = 1
    pieces: int = 1

    @property
    def end(self) -> int:
        """The number of the part's last turn."""
        return self.start + len(self.session.turns)

    @property
    def by_number(self) -> dict[int, TurnFacts]:
        """The facts of each trace by the number of its first turn; of a trace with several turns here, of each turn."""
        facts = dict(zip(self.numbers, self.facts, strict=True))
        times = Counter(turn.trace_id for turn in self.session.turns)
        first: TurnFacts | None = None
        for number, turn in enumerate(self.session.turns, self.start + 1):
            first = facts.get(number, first)
            if first and times[turn.trace_id] > 1:
                facts[number] = _part_of(first, turn)
        return dict(sorted(facts.items()))


def _part_of(facts: TurnFacts, turn: Turn) -> TurnFacts:
    """Return the facts of a trace with the times, spans and errors of one of its turns."""
    errors = sum(span.error is not None for span in turn.spans)
    return structs.replace(facts, start_ns=turn.start_ns, end_ns=turn.end_ns, span_count=len(turn.spans), errors=errors)


@dataclass(frozen=True, slots=True)
class _Stored:
    """The rows of a session and of its turns, in order, with the facts of each turn; for `most` see `read_spans`."""

    row: SessionRow
    turns: Sequence[TurnRow]
    facts: tuple[TurnFacts, ...]
    prices: PriceBook
    most: int | None

    @property
    def numbers(self) -> list[int]:
        """The number of the first turn of each trace, and at the end that of a turn after the last one."""
        return list(accumulate((turn_facts.turns for turn_facts in self.facts), initial=1))

    def index_of(self, turn: int) -> int | None:
        """Return the index of the trace with a turn, by its number; the last one for a number beyond the counted turns.

        It is 0 for turn 1 of an empty session.
        """
        if not self.turns:
            return 0 if turn == 1 else None
        return min(bisect_right(self.numbers, turn), len(self.turns)) - 1 if turn > 0 else None

    def numbers_with(self, session: Session, start: int, end: int) -> tuple[int, ...]:
        """Return the number of each trace's first turn, and that of a turn after the last one.

        The traces from `start` up to `end` have the session's turns, which the clock may not have counted yet.
        """
        built = Counter(turn.trace_id for turn in session.turns)
        counts = [
            max(1, built[turn.trace_id.hex()]) if start <= index < end else turn_facts.turns
            for index, (turn, turn_facts) in enumerate(zip(self.turns, self.facts, strict=True))
        ]
        return tuple(accumulate(counts, initial=1))

    def is_large(self, index: int) -> bool:
        """Return whether the turn is built a piece at a time; it is a part of the session by itself."""
        return self.facts[index].span_count > pieces.SPANS

    def built(self, connection: Connection, start: int, end: int) -> Session:
        """Return the session with the turns from index `start` up to `end`, none of them large.

        The turns around them are read too, unless they are large: a call of one turn may have its answer in the
        messages of the next.
        """
        read = range(max(0, start - 1), min(end + 1, len(self.turns)))
        chosen = [self.turns[index] for index in read if not self.is_large(index)]
        traces = {turn.trace_id for turn in self.turns[start:end]}
        session = built_session(connection, self.row, chosen, self.facts, self.prices, most=self.most, least_of=traces)
        return replace(
            session,
            turns=tuple(turn for turn in session.turns if bytes.fromhex(turn.trace_id) in traces),
            scores=tuple(score for score in session.scores if score.trace_id is None or score.trace_id in traces),
        )

    def read(self, connection: Connection, index: int) -> ReadSpans:
        """Return the spans of a large turn in the order of their start."""
        turn = self.turns[index]
        read = read_spans(connection, self.row, [turn], most=self.most, least_of=[turn.trace_id], limit=READ_MAX)
        read.spans = pieces.in_start_order(read.spans)
        return read

    def piece(self, connection: Connection, index: int, read: ReadSpans, number: int) -> Session:
        """Return the session with a piece of a large turn, of which these spans were read.

        Its times, tokens and costs are those of the whole turn.
        """
        ids = {span.span_id.hex() for span in pieces.piece_of(read.spans, number)}
        require(ids or None, "The turn has no such part.")
        trace_ids, around = [self.turns[index].trace_id], list(pieces.around(read.spans, number))
        read = replace(read, spans=around)
        session = session_of(connection, self.row, trace_ids, read, self.facts, self.prices, divide=False)
        facts, turn = self.facts[index], session.turns[0]
        turn = replace(
            turn,
            start_ns=facts.start_ns,
            end_ns=facts.end_ns,
            usage=facts.usage,
            bill=facts.bill(self.prices),
            steps=tuple(step for step in turn.steps if step.span_id in ids),
            spans=tuple(span for span in turn.spans if span.span_id in ids),
        )
        return replace(session, turns=(turn,), scores=tuple(filter(_is_in(ids), session.scores)))

    def lone(self, connection: Connection, index: int, span_id: str) -> Session:
        """Return the session with only one span, which its turn is too long to be read with."""
        trace_id = self.turns[index].trace_id
        keys = [(trace_id, bytes.fromhex(span_id))]
        by_turn = spans.spans_by_key(connection, project_id=self.row.project_id, keys=keys)
        read = ReadSpans(spans=[span for of_turn in by_turn.values() for span in of_turn])
        return session_of(connection, self.row, [trace_id], read, self.facts, self.prices, divide=False)


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

        def read(connection: Connection, stored: _Stored) -> SessionPart:
            start, end = _bounds(stored.facts, require(stored.index_of(turn), NO_TURN))
            summary, count = summary_of(stored.row, stored.facts, stored.prices), 1
            if stored.facts and stored.is_large(start):
                spans_read = stored.read(connection, start)
                count = pieces.pieces_of(len(spans_read.spans))
                session = stored.piece(connection, start, spans_read, piece)
            else:
                session = stored.built(connection, start, end)
            numbers = stored.numbers_with(session, start, end)
            before = numbers[start] - 1
            summary = replace(summary, turns=numbers[-1] - 1)
            part = SessionPart(session, summary, stored.facts, numbers[:-1], before, piece, count)
            require(turn <= max(1, part.end) or None, NO_TURN)
            return part

        return self._read(project_id, session_id, read)

    def turn(self, *, project_id: int, session_id: str, turn: int, piece: int = 1) -> Turn:
        """Return turn number `turn` of a session, or a piece of it; `NotFound` without any such."""

        def read(connection: Connection, stored: _Stored) -> Turn | None:
            index = require(stored.index_of(turn) if stored.turns else None, NO_TURN)
            within = turn - stored.numbers[index]
            if stored.is_large(index):
                require(within == 0 or None, NO_TURN)
                return stored.piece(connection, index, stored.read(connection, index), piece).turns[0]
            return next(iter(stored.built(connection, index, index + 1).turns[within : within + 1]), None)

        return require(self._read(project_id, session_id, read), NO_TURN)

    def span(self, *, project_id: int, session_id: str, span_id: str) -> ShownSpan:
        """Return a span of a session, from the first turn with this id; `NotFound` without one."""

        def read(connection: Connection, stored: _Stored) -> ShownSpan:
            places = {turn.trace_id: index for index, turn in enumerate(stored.turns)}
            trace_ids = spans.traces_with(
                connection,
                project_id=project_id,
                prompt_id=stored.row.prompt_id,
                trace_ids=list(places),
                span_id=span_id,
            )
            index = require(min(map(places.__getitem__, trace_ids), default=None), NO_SPAN)
            session = _with_span(connection, stored, index, span_id)
            shown = _shown(session, span_id) or _shown(stored.lone(connection, index, span_id), span_id)
            return require(shown, NO_SPAN)

        return self._read(project_id, session_id, read)

    def _read(self, project_id: int, session_id: str, read: Callable[[Connection, _Stored], T]) -> T:
        """Read a session; few large parts of sessions are read at once. Raises `Unavailable` if these are too many."""
        try:
            return self._read_within(project_id, session_id, read, None)
        except NeedsPlace as needed:
            with self.large.place(project_id, needed.size):
                return self._read_within(project_id, session_id, read, reading.PART_BYTES)

    def _read_within(
        self, project_id: int, session_id: str, read: Callable[[Connection, _Stored], T], most: int | None
    ) -> T:
        with self.database.read() as connection:
            row = require_session(connection, project_id=project_id, session_id=session_id)
            turn_rows = turns.list_turns(connection, project_id=project_id, session_keys=[row.session_key])
            prices = self.prices.book(connection, project_id=project_id)
            stored = _Stored(row, turn_rows, tuple(load(turn.facts) for turn in turn_rows), prices, most)
            return read(connection, stored)


def _with_span(connection: Connection, stored: _Stored, index: int, span_id: str) -> Session:
    """Return the session with a turn, of a large one with the piece that has the span."""
    if not stored.is_large(index):
        return stored.built(connection, index, index + 1)
    read = stored.read(connection, index)
    ids = [span.span_id.hex() for span in read.spans]
    place = ids.index(span_id) if span_id in ids else 0
    return stored.piece(connection, index, read, place // pieces.SPANS + 1)


def _shown(session: Session, span_id: str) -> ShownSpan | None:
    return next((span for turn in session.turns for span in turn.spans if span.span_id == span_id), None)


def _bounds(facts: Sequence[TurnFacts], place: int) -> tuple[int, int]:
    """Return the indices of the part with the trace at an index, the last one exclusive; (0, 0) without any traces."""
    start = count = 0
    for index, turn_facts in enumerate(facts):
        if index > start and (index - start == TURNS or count + turn_facts.span_count > SPANS):
            if index > place:
                return start, index
            start, count = index, 0
        count += turn_facts.span_count
    return start, len(facts)


def _is_in(span_ids: Collection[str]) -> Callable[[ScoreRow], bool]:
    """Return whether a score is of one of the spans, of the whole turn, or of the session."""
    return lambda score: score.span_id is None or score.span_id.hex() in span_ids
