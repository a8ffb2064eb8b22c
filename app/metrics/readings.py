"""Metrics that were read: quantiles of histograms, and the text formats of Prometheus (with its client library)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from app.metrics.registry import METRICS, MILLION, Labels, Metric

Increments = Mapping[tuple[Metric, Labels, str], int]
"""By metric, label values and part: "" of a counter, a bucket's upper bound or `SUM` of a histogram."""
Gauges = Mapping[Metric, Mapping[Labels, float]]
SUM = "sum"


@dataclass(frozen=True, slots=True)
class Distribution:
    """A histogram's observations: the number in the bucket of each upper bound, and the sum of the values."""

    counts: Mapping[str, int]
    sum: float

    @property
    def count(self) -> int:
        return sum(self.counts.values())


class Readings:
    """Counters and histograms that were read, of all time or of some minutes."""

    def __init__(self, increments: Increments) -> None:
        self._parts: dict[Metric, dict[Labels, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
        for (metric, labels, part), value in increments.items():
            self._parts[metric][labels][part] = value

    def counts(self, metric: Metric) -> dict[Labels, int]:
        """Return a counter by its label values. A counter without labels is included even if it never counted."""
        counts = {labels: parts.get("", 0) for labels, parts in self._parts.get(metric, {}).items()}
        return counts if metric.labels else {(): 0, **counts}

    def distributions(self, metric: Metric) -> dict[Labels, Distribution]:
        """Return a histogram by its label values."""
        return {
            labels: Distribution({bound: parts.get(bound, 0) for bound in metric.bounds()}, parts.get(SUM, 0) / MILLION)
            for labels, parts in self._parts.get(metric, {}).items()
        }

    def series(self) -> dict[Metric, set[Labels]]:
        """Return the label sets of each metric."""
        return {metric: set(by_labels) for metric, by_labels in self._parts.items()}


def merged(distributions: list[Distribution]) -> Distribution:
    """Merge several distributions with the same bounds."""
    counts: dict[str, int] = {}
    for distribution in distributions:
        for bound, count in distribution.counts.items():
            counts[bound] = counts.get(bound, 0) + count
    return Distribution(counts, sum(distribution.sum for distribution in distributions))


def quantile(distribution: Distribution, q: float) -> float | None:
    """Return the quantile `q` (0–1), interpolated within its bucket like in Prometheus.

    Returns None without observations, and the highest finite bound if the quantile is above it.
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


_FAMILIES = {"counter": CounterMetricFamily, "histogram": HistogramMetricFamily, "gauge": GaugeMetricFamily}


@dataclass(frozen=True, slots=True, eq=False)
class _ReadingsCollector(Collector):
    readings: Readings
    gauges: Gauges

    def collect(self) -> Iterator[Family]:
        for metric in METRICS:
            family = _FAMILIES[metric.kind](metric.name, metric.help, labels=metric.labels)
            for labels, values in sorted(self._values(metric).items()):
                family.add_metric(labels, *values)
            yield family

    def _values(self, metric: Metric) -> dict[Labels, tuple[Any, ...]]:
        """Return the value for each label set; for a histogram its cumulative buckets and its sum."""
        if metric.kind == "histogram":
            return {
                labels: (list(zip(read.counts, accumulate(read.counts.values()), strict=True)), read.sum)
                for labels, read in self.readings.distributions(metric).items()
            }
        if metric.kind == "gauge":
            return {labels: (value,) for labels, value in self.gauges.get(metric, {}).items()}
        return {labels: (value / metric.per,) for labels, value in self.readings.counts(metric).items()}


def render(readings: Readings, gauges: Gauges, accept: str) -> tuple[bytes, str]:
    """Return (body, content type) in the format that the `Accept` header prefers."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_ReadingsCollector(readings, gauges))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type
