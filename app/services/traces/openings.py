"""The openings of turns whose words came as log records, which lists show and searches read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from app.db import Database
from app.models import log_records, spans
from app.models.spans import SpanKey
from app.otlp.logs import events_of
from app.services.traces.turns import add_openings
from app.sessions.facts import opening_of

AT_ONCE = 100
"""Spans that are in memory together with their records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningService:
    """Runs after the commit of spans and after that of records: of two at once, the later one sees what both stored.

    A batch is acknowledged after it, so that one which was interrupted before comes again.
    """

    database: Database

    def add(self, project_id: int, keys: Collection[SpanKey]) -> None:
        """Add to the turns of the spans `keys` what log records say that the user said."""
        with self.database.read() as connection:
            # Most projects have none, and hundreds of keys cost a batch of spans a tenth of its time.
            if not log_records.has_any(connection, project_id=project_id):
                return
            logged = spans.rows_by_key(connection, log_records.log_records, project_id=project_id, keys=keys)
        named = sorted(set(logged.values()))
        for start in range(0, len(named), AT_ONCE):
            self._add(project_id, named[start : start + AT_ONCE])

    def _add(self, project_id: int, keys: Collection[SpanKey]) -> None:
        with self.database.read() as connection:
            records = events_of(log_records.records_by_key(connection, project_id=project_id, keys=keys))
            stored = spans.spans_by_key(connection, project_id=project_id, keys=keys)
        found = {turn: opening for turn, of_turn in stored.items() if (opening := opening_of(of_turn, records))}
        if found:
            self.database.retrying(lambda connection: add_openings(connection, found))
