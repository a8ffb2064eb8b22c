"""Tells that a run has ended: whoever waits for it, whoever follows it, and the metrics."""

from __future__ import annotations

from dataclasses import dataclass

from app.metrics import Metrics
from app.metrics.registry import RUNS
from app.models.runs import RunRow
from app.redis_store.completions import RunEnds
from app.redis_store.events import LiveRuns


@dataclass(frozen=True, slots=True)
class Telling:
    metrics: Metrics
    live: LiveRuns
    ends: RunEnds

    def ended(self, row: RunRow, model_name: str, outcome: str) -> None:
        """`row` as it was accepted; `model_name` is the model that answered, or was to. Nobody is told twice."""
        if row.request.get("stream"):
            self.live.end(row.id)
        self.ends.announce(row.id)
        self.metrics.count(RUNS, model_name, outcome)
