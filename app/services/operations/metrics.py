"""Reads the combined metrics of all processes, for the operations page and for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import redis

from app.metrics import registry
from app.metrics.readings import Distribution, Gauges, Readings, merged, quantile, render
from app.metrics.registry import Metric
from app.redis_store.metric_store import MetricStore
from app.redis_store.queues import QueueState, read_queues

WINDOW_MINUTES = 60


@dataclass(frozen=True, slots=True)
class LatencyPercentiles:
    """Percentiles in seconds, None without observations; `count` is the number of observations."""

    count: int
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None


@dataclass(frozen=True, slots=True)
class Operations:
    """The last hour of all processes together: counts per `window_s`, rates per minute.

    `spans` has received, stored, duplicate, rejected; `runs` has its outcomes (`ok`, `nok`, else the kind of failure);
    `history` has (spans stored, runs ended) per minute of the same time, oldest first, including the current minute.
    """

    window_s: float
    queues: list[QueueState]
    spans: dict[str, int]
    spans_per_minute: float
    runs: dict[str, int]
    runs_per_minute: float
    requests: int
    server_errors: int
    rate_limited: int
    rate_limit_not_counted: int
    retries: int
    dead_letters: int
    lock_retries: int
    pool_timeouts: int
    clock_failures: int
    provider_errors: int
    http: LatencyPercentiles
    ingest: LatencyPercentiles
    provider: LatencyPercentiles
    slowest_routes: list[tuple[str, LatencyPercentiles]]
    database_connections: dict[str, int]
    history: list[tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsService:
    """Reads metrics from Redis; every method may raise `redis.RedisError`."""

    store: MetricStore
    client: redis.Redis
    queues: Sequence[str]

    def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """Return all metrics for Prometheus: (body, content type)."""
        return render(self.store.total(), self._gauges(read_queues(self.client, self.queues)), accept)

    def read(self) -> Operations:
        """Return the activity in the last `WINDOW_MINUTES` whole minutes and the current one."""
        recent, window_s, minutes = self.store.window(WINDOW_MINUTES, by_minute=(registry.SPANS, registry.RUNS))
        spans, runs = (_by(recent, registry.SPANS, "outcome"), _by(recent, registry.RUNS, "outcome"))
        status, calls = (_by(recent, registry.HTTP_REQUESTS, "status"), _by(recent, registry.PROVIDER_CALLS, "outcome"))
        connections = self.store.gauges().get(registry.DATABASE_CONNECTIONS, {})
        return Operations(
            window_s=window_s,
            queues=read_queues(self.client, self.queues),
            spans=spans,
            spans_per_minute=spans.get("stored", 0) * 60 / window_s,
            runs=runs,
            runs_per_minute=sum(runs.values()) * 60 / window_s,
            requests=sum(status.values()),
            server_errors=sum(count for code, count in status.items() if code.startswith("5")),
            rate_limited=_sum(recent, registry.RATE_LIMITED),
            rate_limit_not_counted=_sum(recent, registry.RATE_LIMIT_NOT_COUNTED),
            retries=_sum(recent, registry.MESSAGE_RETRIES),
            dead_letters=_sum(recent, registry.DEAD_LETTERS),
            lock_retries=_sum(recent, registry.LOCK_RETRIES),
            pool_timeouts=_sum(recent, registry.POOL_TIMEOUTS),
            clock_failures=_by(recent, registry.CLOCK_JOBS, "outcome").get("failed", 0),
            provider_errors=sum(calls.values()) - calls.get("ok", 0),
            http=_latency(recent, registry.HTTP_SECONDS),
            ingest=_latency(recent, registry.BATCH_SECONDS),
            provider=_latency(recent, registry.PROVIDER_SECONDS),
            slowest_routes=_slowest(recent),
            database_connections={labels[0]: int(value) for labels, value in connections.items()},
            history=[
                (_by(minute, registry.SPANS, "outcome").get("stored", 0), _sum(minute, registry.RUNS))
                for minute in minutes
            ],
        )

    def _gauges(self, queues: list[QueueState]) -> Gauges:
        states = ("waiting", "taken", "delayed", "dead")
        return {
            **self.store.gauges(),
            registry.QUEUE_MESSAGES: {
                (queue.queue, state): getattr(queue, state) for queue in queues for state in states
            },
            registry.QUEUE_OLDEST: {(queue.queue,): queue.oldest_s for queue in queues},
            registry.WORKERS: {(queue.queue,): queue.workers for queue in queues},
        }


def _sum(readings: Readings, metric: Metric) -> int:
    return sum(readings.counts(metric).values())


def _by(readings: Readings, metric: Metric, label: str) -> dict[str, int]:
    """Return the sums of a counter by one of its labels."""
    index, sums = metric.labels.index(label), Counter[str]()
    for labels, count in readings.counts(metric).items():
        sums[labels[index]] += count
    return sums


def _latency(readings: Readings, metric: Metric) -> LatencyPercentiles:
    return _of(merged(list(readings.distributions(metric).values())))


def _of(distribution: Distribution) -> LatencyPercentiles:
    return LatencyPercentiles(distribution.count, *(quantile(distribution, share) for share in (0.5, 0.95, 0.99)))


def _slowest(readings: Readings) -> list[tuple[str, LatencyPercentiles]]:
    """Return the ten slowest (method and route, latency) by their 95th percentile, the slowest first."""
    routes = readings.distributions(registry.HTTP_SECONDS)
    latencies = [(" ".join(labels), _of(distribution)) for labels, distribution in routes.items()]
    return sorted(latencies, key=lambda route: (-(route[1].p95_s or 0.0), route[0]))[:10]
