"""Reads a part of a session: the outlines of neighbouring traces, and the turns of some of them.

A trace is one turn, or several (see `app/sessions`). A *part* has at most `PART_TURNS` traces and about `PART_SPANS`
spans. A *large* trace, with more spans than `pieces.PIECE_SPANS`, is a part by itself, and is read a piece at a time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from sqlalchemy import Connection

from app.errors import require
from app.models import spans, turns
from app.models.scores import ScoreRow
from app.models.sessions import SessionRow
from app.prices.book import PriceBook
from app.services.search.turn_numbers import TurnNumbers
from app.services.sessions.reading import ReadSpans, read_spans
from app.services.sessions.service import Session, built_session, session_of
from app.sessions import pieces
from app.sessions.facts import load
from app.sessions.outlines import TurnOutline, load_outline

NO_TURN = "The session has no such turn."
# The most traces and spans of a part. A trace with more spans is a separate part.
PART_TURNS, PART_SPANS = 10, 120
_SPAN_ID = re.compile(r"[0-9a-f]{16}")
READ_MAX = 20_000
"""The most spans of a trace that are read to find those of a piece: the ones that were stored first."""


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session with the numbers of its turns, from which parts are read; for `most` see `read_spans`."""

    connection: Connection
    row: SessionRow
    numbers: TurnNumbers
    prices: PriceBook
    most: int | None

    def traces(self, start: int, end: int) -> NearbyTraces:
        """Read the outlines of the traces from index `start` up to `end`, as far as the session has such traces."""
        start, end = max(0, start), min(end, self.numbers.traces)
        trace_ids = turns.traces_of(
            self.connection,
            project_id=self.row.project_id,
            session_key=self.row.session_key,
            offset=start,
            limit=max(0, end - start),
        )
        outlines = {trace_id: load_outline(facts) for trace_id, facts in self.facts(trace_ids)}
        # On MySQL and MariaDB other transactions may have removed turns meanwhile.
        stored = tuple(trace_id for trace_id in trace_ids if trace_id in outlines)
        return NearbyTraces(self, start, stored, tuple(outlines[trace_id] for trace_id in stored))

    def index_of_span(self, span_id: str) -> int | None:
        """Return the index of the first trace with a span of this id (16 lower-case hex digits); None without one."""
        if not _SPAN_ID.fullmatch(span_id):
            return None
        project_id, key = self.row.project_id, self.row.session_key
        return turns.index_of_span(
            self.connection, project_id=project_id, session_key=key, span_id=bytes.fromhex(span_id)
        )

    def facts(self, trace_ids: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        of_prompt = {"project_id": self.row.project_id, "prompt_id": self.row.prompt_id}
        return turns.facts_of(self.connection, **of_prompt, trace_ids=trace_ids)


@dataclass(frozen=True, slots=True)
class NearbyTraces:
    """Neighbouring traces of a session with their outlines. The first one has the index `start` in the session."""

    stored: StoredSession
    start: int
    trace_ids: tuple[bytes, ...]
    outlines: tuple[TurnOutline, ...]

    def bounds(self, index: int) -> tuple[int, int]:
        """Return the first index of the part that has the trace at an index, and the index after its last trace.

        Parts begin at each multiple of `PART_TURNS`, so that nothing has to be read before them.
        """
        begin = index // PART_TURNS * PART_TURNS
        start, count = begin, 0
        for place, outline in enumerate(self.outlines[begin - self.start :][:PART_TURNS], begin):
            if place > start and count + outline.span_count > PART_SPANS:
                if place > index:
                    return start, place
                start, count = place, 0
            count += outline.span_count
        return start, min(begin + PART_TURNS, self.start + len(self.outlines))

    def numbers_with(self, session: Session, start: int, end: int) -> tuple[int, ...]:
        """Return the number in the session of the first turn of each trace, and of the turn after the last trace.

        The traces from `start` up to `end` were built, so their turns are those of `session`: the clock may not have
        counted the turns of a new trace yet.
        """
        built = Counter(turn.trace_id for turn in session.turns)
        number_of = self.stored.numbers.number_of
        counts = [
            max(1, built[trace_id.hex()]) if start <= index < end else number_of(index + 1) - number_of(index)
            for index, trace_id in enumerate(self.trace_ids, self.start)
        ]
        return tuple(accumulate(counts, initial=number_of(self.start)))

    def is_large(self, index: int) -> bool:
        """Return whether the trace at an index is large: it is built a piece at a time, and is a part by itself."""
        return self._outline(index).span_count > pieces.PIECE_SPANS

    def _outline(self, index: int) -> TurnOutline:
        place = index - self.start
        return require(next(iter(self.outlines[place : place + 1]), None), NO_TURN)

    def built(self, start: int, end: int) -> Session:
        """Return the session with only the turns of the traces from index `start` up to `end`, none of which is large.

        The traces before and after them are read too, unless they are large: a call of one turn may have its answer in
        the messages of the next turn.
        """
        stored = self.stored
        read = range(max(self.start, start - 1), min(end + 1, self.start + len(self.trace_ids)))
        chosen = [self.trace_ids[index - self.start] for index in read if not self.is_large(index)]
        traces = set(self.trace_ids[start - self.start : end - self.start])
        session = built_session(stored.connection, stored.row, chosen, stored.prices, most=stored.most, least_of=traces)
        return replace(
            session,
            turns=tuple(turn for turn in session.turns if bytes.fromhex(turn.trace_id) in traces),
            scores=tuple(score for score in session.scores if score.trace_id is None or score.trace_id in traces),
        )

    def read(self, index: int) -> ReadSpans:
        """Return the spans of a large trace in the order of their start."""
        stored, trace_ids = self.stored, [self.trace_ids[index - self.start]]
        read = read_spans(
            stored.connection, stored.row, trace_ids, most=stored.most, least_of=trace_ids, limit=READ_MAX
        )
        read.spans = pieces.in_start_order(read.spans)
        return read

    def piece(self, index: int, read: ReadSpans, number: int) -> Session:
        """Return the session with one piece of a large trace; `read` are its spans, and pieces are numbered from 1.

        The times, tokens and costs are those of the whole trace.
        """
        stored = self.stored
        ids = {span.span_id.hex() for span in pieces.piece_of(read.spans, number)}
        require(ids or None, "The turn has no such part.")
        trace_ids, around = [self.trace_ids[index - self.start]], list(pieces.around(read.spans, number))
        read = replace(read, spans=around)
        session = session_of(stored.connection, stored.row, trace_ids, read, stored.prices, divide=False)
        facts = require(next((load(dumped) for _, dumped in stored.facts(trace_ids)), None), NO_TURN)
        turn = session.turns[0]
        turn = replace(
            turn,
            start_ns=facts.start_ns,
            end_ns=facts.end_ns,
            usage=facts.usage,
            bill=facts.bill(stored.prices),
            steps=tuple(step for step in turn.steps if step.span_id in ids),
            spans=tuple(span for span in turn.spans if span.span_id in ids),
        )
        return replace(session, turns=(turn,), scores=tuple(filter(_is_in(ids), session.scores)))

    def single_span(self, index: int, span_id: str) -> Session:
        """Return the session with only one span of a trace that is too long to be read."""
        stored, trace_id = self.stored, self.trace_ids[index - self.start]
        keys = [(trace_id, bytes.fromhex(span_id))]
        by_turn = spans.spans_by_key(stored.connection, project_id=stored.row.project_id, keys=keys)
        read = ReadSpans(spans=[span for of_turn in by_turn.values() for span in of_turn])
        return session_of(stored.connection, stored.row, [trace_id], read, stored.prices, divide=False)


def _is_in(span_ids: Collection[str]) -> Callable[[ScoreRow], bool]:
    """Return whether a score is of one of the spans, of the whole turn, or of the session."""
    return lambda score: score.span_id is None or score.span_id.hex() in span_ids
