"""Counters and histograms as they were read, and the quantiles of what a histogram observed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from app.metrics.registry import Labels, Metric

Increments = Mapping[tuple[Metric, Labels, str], int]
SUM = "sum"
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Distribution:
    """A histogram's observations: how many fell into the bucket under each bound, and the sum of their values."""

    counts: Mapping[str, int]
    sum: float

    @property
    def count(self) -> int:
        return sum(self.counts.values())


class Readings:
    """Counters and histograms as they were read: of all time, or of some minutes."""

    def __init__(self, increments: Increments) -> None:
        self._parts: dict[Metric, dict[Labels, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
        for (metric, labels, part), value in increments.items():
            self._parts[metric][labels][part] = value

    def counts(self, metric: Metric) -> dict[Labels, int]:
        """A counter by its label values; one without labels is there even when it never counted."""
        found = {labels: parts.get("", 0) for labels, parts in self._parts.get(metric, {}).items()}
        return found if metric.labels else {(): 0, **found}

    def distributions(self, metric: Metric) -> dict[Labels, Distribution]:
        """A histogram by its label values."""
        return {
            labels: Distribution({bound: parts.get(bound, 0) for bound in metric.bounds()}, parts.get(SUM, 0) / MILLION)
            for labels, parts in self._parts.get(metric, {}).items()
        }

    def series(self) -> dict[Metric, set[Labels]]:
        return {metric: set(by_labels) for metric, by_labels in self._parts.items()}


def merged(distributions: list[Distribution]) -> Distribution:
    """Several distributions over the same bounds as one."""
    counts: dict[str, int] = {}
    for one in distributions:
        for bound, count in one.counts.items():
            counts[bound] = counts.get(bound, 0) + count
    return Distribution(counts, sum(one.sum for one in distributions))


def quantile(distribution: Distribution, q: float) -> float | None:
    """The value below which the part `q` (0–1) lies, interpolated in its bucket as Prometheus does.

    None without observations; the highest finite bound when it lies above that.
    """
    rank, below, lower = q * distribution.count, 0, 0.0
    if not distribution.count:
        return None
    for bound, count in distribution.counts.items():
        if bound == "+Inf":
            break
        if below + count >= rank and count:
            return lower + (float(bound) - lower) * max(0.0, rank - below) / count
        below, lower = below + count, float(bound)
    return lower
