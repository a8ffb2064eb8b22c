"""Computes the costs of the model calls of listed sessions by today's prices."""

from __future__ import annotations

from sqlalchemy import Connection

from app.models import turns
from app.models.sessions import SessionRow
from app.prices.book import PriceBook
from app.prices.types import Bill, BillSum
from app.sessions.facts import load

SESSIONS_AT_ONCE = 50
"""Sessions with all turns in memory at once."""


def bills_of(connection: Connection, rows: list[SessionRow], prices: PriceBook) -> dict[bytes, Bill]:
    """Return the costs of the model calls of a project's sessions; the turns are read in pieces."""
    sums = {row.session_key: BillSum() for row in rows}
    keys = list(sums)
    for start in range(0, len(keys), SESSIONS_AT_ONCE):
        piece = keys[start : start + SESSIONS_AT_ONCE]
        for turn in turns.list_turns(connection, project_id=rows[0].project_id, session_keys=piece):
            sums[turn.session_key].add(load(turn.facts).bill(prices))
    return {key: bill_sum.bill for key, bill_sum in sums.items()}
