"""The model calls of traces: summed by day as spans are stored, and priced as the sums are read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple
from datetime import date

from app.models.observed import ObservedRow, slot_of
from app.services.traces.turns import TurnPart
from app.sessions.facts import ModelCalls, summed
from app.timestamps import of_unix_ns


def observed_rows(project_id: int, batch_id: int, parts: Iterable[TurnPart]) -> list[ObservedRow]:
    """Return the sums of the calls of new spans in key order; they count on the day on which their turn begins."""
    found: dict[tuple[date, int], list[ModelCalls]] = {}
    for part in parts:
        if part.facts.calls:
            day = of_unix_ns(part.facts.start_ns).date()
            found.setdefault((day, part.prompt_id), []).extend(part.facts.calls)
    slot = slot_of(batch_id)
    return [
        ObservedRow(project_id, day, prompt_id, *calls.key, slot, calls.calls, *astuple(calls.usage))
        for (day, prompt_id), some in sorted(found.items())
        for calls in summed(some)
    ]
