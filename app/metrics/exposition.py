"""Metrics in Prometheus's text formats, by its own client library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from app.metrics.readings import Readings
from app.metrics.registry import METRICS, Labels, Metric

Gauges = Mapping[Metric, Mapping[Labels, float]]


class _Snapshot(Collector):
    def __init__(self, readings: Readings, gauges: Gauges) -> None:
        self._readings = readings
        self._gauges = gauges

    def collect(self) -> Iterator[Family]:
        families = {"counter": self._counter, "histogram": self._histogram, "gauge": self._gauge}
        for metric in METRICS:
            yield families[metric.kind](metric)

    def _counter(self, metric: Metric) -> Family:
        family = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
        for labels, value in sorted(self._readings.counts(metric).items()):
            family.add_metric(labels, value)
        return family

    def _histogram(self, metric: Metric) -> Family:
        family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
        for labels, found in sorted(self._readings.distributions(metric).items()):
            cumulated = accumulate(found.counts.values())
            family.add_metric(labels, list(zip(found.counts, cumulated, strict=True)), found.sum)
        return family

    def _gauge(self, metric: Metric) -> Family:
        family = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
        for labels, value in sorted(self._gauges.get(metric, {}).items()):
            family.add_metric(labels, value)
        return family


def render(readings: Readings, gauges: Gauges, accept: str) -> tuple[bytes, str]:
    """(body, content type) in the format that the `Accept` header prefers."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Snapshot(readings, gauges))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type
