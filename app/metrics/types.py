"""Metrics: their names, kinds, labels and buckets."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "histogram", "gauge"]
Labels = tuple[str, ...]

# Seconds: from a cached read to a run that used up its wait.
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
# The value of all labels of sets beyond a metric's `series_max`.
OTHER = "other"


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """One metric, named as Prometheus names it: its unit last, `_total` for counters.

    `buckets` are the upper bounds of a histogram, in the unit of the name. `series_max` bounds how many label
    sets are kept; further ones are counted together under `other`.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    series_max: int = 100

    def bound(self, value: float) -> str:
        """The upper bound of the bucket that `value` falls into, as Prometheus writes it."""
        index = bisect_left(self.buckets, value)
        return repr(self.buckets[index]) if index < len(self.buckets) else "+Inf"

    def bounds(self) -> list[str]:
        return [*map(repr, self.buckets), "+Inf"]
