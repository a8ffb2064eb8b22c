"""Reads the model calls of listed sessions, and computes their costs by today's prices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import attrgetter

from sqlalchemy import Connection

from app.models import turns
from app.models.bulk import by_size
from app.models.sessions import SessionRow
from app.prices.book import PriceBook
from app.prices.types import Bill
from app.sessions.facts import TurnFacts, load
from app.sessions.model_calls import CallSums, calls_in

TURNS_OF_LISTED = 200
"""Turns that a list reads of a session with unknown sums. Of longer ones the clock makes the sums soon."""
TURNS_AT_ONCE = 200
"""Turns of several sessions in memory at once."""


def bills_of(connection: Connection, rows: Sequence[SessionRow], prices: PriceBook) -> dict[bytes, Bill]:
    """Return the costs of the model calls of a project's sessions.

    They are in the row of a session. Turns are only read of sessions that an earlier release has stored, and that have
    not changed since.
    """
    calls = {row.session_key: calls_in(row.calls) for row in rows if row.calls is not None}
    for row, facts in short_ones(connection, [row for row in rows if row.calls is None]):
        calls[row.session_key] = CallSums(model_calls for turn in facts for model_calls in turn.calls)
    return {row.session_key: calls.get(row.session_key, CallSums()).bill(prices) for row in rows}


def short_ones(connection: Connection, rows: Sequence[SessionRow]) -> Iterator[tuple[SessionRow, Sequence[TurnFacts]]]:
    """Yield the sessions of a project that have at most `TURNS_OF_LISTED` turns, with the facts of these."""
    known = [row for row in rows if row.errors is not None and row.turns <= TURNS_OF_LISTED]
    for piece in by_size(known, attrgetter("turns"), TURNS_AT_ONCE):
        facts: dict[bytes, list[TurnFacts]] = defaultdict(list)
        keys = [row.session_key for row in piece]
        for turn in turns.list_turns(connection, project_id=piece[0].project_id, session_keys=keys):
            facts[turn.session_key].append(load(turn.facts))
        yield from ((row, facts[row.session_key]) for row in piece)
    for row in rows:
        if row.errors is None:
            first = turns.first_turns(
                connection, project_id=row.project_id, session_key=row.session_key, limit=TURNS_OF_LISTED + 1
            )
            if len(first) <= TURNS_OF_LISTED:
                yield row, [load(turn.facts) for turn in first]
