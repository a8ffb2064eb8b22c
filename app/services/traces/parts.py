"""Long sessions, one part at a time: the facts of all turns, and some turns built from their spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app.db import Database
from app.errors import require
from app.models import spans, turns
from app.models.sessions import SessionRow
from app.models.turns import TurnRow
from app.prices.book import PriceBook
from app.services.language_models.prices import PriceService
from app.services.traces.logs import Session, SessionSummary, built_session, require_session, summary_of
from app.sessions.facts import TurnFacts, load
from app.sessions.types import ShownSpan, Turn

# Turns, and spans, of a part; a turn with more spans is a separate part.
TURNS, SPANS = 10, 120


@dataclass(frozen=True, slots=True)
class SessionPart:
    """Some turns of a session, and the facts of all of them.

    `session` has only the turns of the part, and the scores of these turns and of the whole session. `start` is the
    index of its first turn in `facts`.
    """

    session: Session
    summary: SessionSummary
    facts: tuple[TurnFacts, ...]
    start: int

    @property
    def end(self) -> int:
        """The index after the part's last turn."""
        return self.start + len(self.session.turns)


@dataclass(frozen=True, slots=True)
class _Stored:
    """The rows of a session and of its turns, in order, with the facts of each turn."""

    row: SessionRow
    turns: Sequence[TurnRow]
    facts: tuple[TurnFacts, ...]
    prices: PriceBook

    def built(self, connection: Connection, start: int, end: int) -> Session:
        """Return the session with the turns from index `start` up to `end`.

        The turns before and after them are read too: a call of one turn may have its answer in the messages of the
        next.
        """
        session = built_session(connection, self.row, self.turns[max(0, start - 1) : end + 1], self.facts, self.prices)
        traces = {turn.trace_id for turn in self.turns[start:end]}
        return replace(
            session,
            turns=tuple(turn for turn in session.turns if bytes.fromhex(turn.trace_id) in traces),
            scores=tuple(score for score in session.scores if score.trace_id is None or score.trace_id in traces),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPartService:
    """Reads a session without building all of it.

    An answer that comes two turns after its call is missed.
    """

    database: Database
    prices: PriceService

    def part(self, *, project_id: int, session_id: str, turn: int = 1) -> SessionPart:
        """Return the part that contains turn number `turn`; `NotFound` without such a session or turn."""
        with self.database.read() as connection:
            stored = self._stored(connection, project_id, session_id)
            start, end = _bounds(stored.facts, turn)
            session = stored.built(connection, start, end)
        return SessionPart(session, summary_of(stored.row, stored.facts, stored.prices), stored.facts, start)

    def turn(self, *, project_id: int, session_id: str, turn: int) -> Turn:
        """Return turn number `turn` of a session; `NotFound` without such a session or turn."""
        with self.database.read() as connection:
            stored = self._stored(connection, project_id, session_id)
            found = stored.built(connection, turn - 1, turn).turns
        return require(next(iter(found), None), "The session has no such turn.")

    def span(self, *, project_id: int, session_id: str, span_id: str) -> ShownSpan:
        """Return a span of a session, from the first turn with this id; `NotFound` without one."""
        with self.database.read() as connection:
            stored = self._stored(connection, project_id, session_id)
            places = {turn.trace_id: index for index, turn in enumerate(stored.turns)}
            found = spans.traces_with(
                connection,
                project_id=project_id,
                prompt_id=stored.row.prompt_id,
                trace_ids=list(places),
                span_id=span_id,
            )
            index = require(min(map(places.__getitem__, found), default=None), "The session has no such span.")
            found_turns = stored.built(connection, index, index + 1).turns
        return next(span for turn in found_turns for span in turn.spans if span.span_id == span_id)

    def _stored(self, connection: Connection, project_id: int, session_id: str) -> _Stored:
        row = require_session(connection, project_id=project_id, session_id=session_id)
        found = turns.list_turns(connection, project_id=project_id, session_keys=[row.session_key])
        prices = self.prices.book(connection, project_id=project_id)
        return _Stored(row, found, tuple(load(turn.facts) for turn in found), prices)


def _bounds(facts: Sequence[TurnFacts], turn: int) -> tuple[int, int]:
    """Return the indices of the part with turn number `turn`, the last one exclusive; (0, 0) without any turns."""
    start = count = 0
    for index, each in enumerate(facts):
        if index > start and (index - start == TURNS or count + each.span_count > SPANS):
            if index >= turn:
                return start, index
            start, count = index, 0
        count += each.span_count
    require(turn <= max(1, len(facts)) or None, "The session has no such turn.")
    return start, len(facts)
