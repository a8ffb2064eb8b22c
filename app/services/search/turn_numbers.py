"""The numbers of the turns of a session: a trace is one turn, or several of a conversation."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from sqlalchemy import Connection

from app.models import turns
from app.models.sessions import SessionRow
from app.sessions.outlines import load_outline

NUMBERED_MAX = 20_000
"""Traces that are read to number turns, if some traces of the session are several turns. Later ones count as one."""


@dataclass(frozen=True, slots=True)
class TurnNumbers:
    """The numbers of a session's turns, from 1 on. `firsts` has that of the first turn of each of the first traces.

    Its last number is the one after the turns of these traces. Each other trace is one turn.
    """

    traces: int
    firsts: Sequence[int] = (1,)

    def number_of(self, index: int) -> int:
        """Return the number of the first turn of the trace with an index."""
        known = min(index, len(self.firsts) - 1)
        return self.firsts[known] + index - known

    def index_of(self, turn: int) -> int | None:
        """Return the index of the trace with a turn; the last one for a number beyond the counted turns.

        It is 0 for turn 1 of an empty session.
        """
        if not self.traces:
            return 0 if turn == 1 else None
        beyond = turn - self.firsts[-1]
        index = len(self.firsts) - 1 + beyond if beyond >= 0 else bisect_right(self.firsts, turn) - 1
        return min(index, self.traces - 1) if turn > 0 else None


def turn_numbers(connection: Connection, row: SessionRow, *, most: int = NUMBERED_MAX) -> TurnNumbers:
    """Return the numbers of a session's turns; the facts of at most the first `most` traces are read for them."""
    of_session: dict[str, Any] = {"project_id": row.project_id, "session_key": row.session_key}
    count = turns.count_turns(connection, **of_session)
    if row.errors is not None and row.turns <= count:
        return TurnNumbers(count)
    trace_ids = turns.traces_of(connection, **of_session, limit=most)
    facts = turns.facts_of(connection, project_id=row.project_id, prompt_id=row.prompt_id, trace_ids=trace_ids)
    turns_by_trace = {trace_id: load_outline(dumped).turns for trace_id, dumped in facts}
    counts = [turns_by_trace.get(trace_id, 1) for trace_id in trace_ids]
    return TurnNumbers(count, tuple(accumulate(counts, initial=1)))
