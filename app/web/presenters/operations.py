"""The operations page: what all processes together are doing, for whoever runs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.redis_store.queues import QueueState
from app.services.operations.metrics import Latency, Operations

STALE_S = 60
SPAN_WORDS = {"received": "received", "stored": "stored", "duplicate": "duplicates", "rejected": "rejected"}


@dataclass(frozen=True, slots=True)
class QueueRow:
    """`kind` warns of a queue that nobody serves or that is late."""

    state: QueueState
    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with what it counts; `kind` is bad where any is too many."""

    words: str
    count: int
    kind: str = ""


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """Percentiles in milliseconds, None where nothing was observed."""

    name: str
    count: int
    percentiles: list[float | None]


@dataclass(frozen=True, slots=True)
class OperationsPage:
    """Rates are a minute; the series are of the last hour's whole minutes, oldest first."""

    minutes: int
    spans_per_minute: float
    runs_per_minute: float
    spans_by_minute: list[int]
    runs_by_minute: list[int]
    queues: list[QueueRow]
    spans: list[Figure]
    runs: list[Figure]
    troubles: list[Figure]
    latencies: list[LatencyRow]
    routes: list[LatencyRow]
    connections: list[tuple[str, int]]


def operations_page(found: Operations) -> OperationsPage:
    return OperationsPage(
        minutes=max(1, round(found.window_s / 60)),
        spans_per_minute=found.spans_per_minute,
        runs_per_minute=found.runs_per_minute,
        spans_by_minute=[spans for spans, _ in found.history],
        runs_by_minute=[runs for _, runs in found.history],
        queues=[_queue(state) for state in found.queues],
        spans=[Figure(words, found.spans.get(name, 0)) for name, words in SPAN_WORDS.items()],
        runs=_runs(found.runs),
        troubles=_troubles(found),
        latencies=[
            _latency("HTTP requests", found.http),
            _latency("Batches of spans, stored", found.ingest),
            _latency("Calls of models", found.provider),
        ],
        routes=[_latency(route, latency) for route, latency in found.slowest_routes],
        connections=[(state.replace("_", " "), count) for state, count in sorted(found.database_connections.items())],
    )


def _queue(state: QueueState) -> QueueRow:
    if not state.workers:
        return QueueRow(state, "bad", "no worker")
    if state.oldest_s > STALE_S:
        return QueueRow(state, "warn", "late")
    return QueueRow(state, "ok", "served")


def _runs(outcomes: Mapping[str, int]) -> list[Figure]:
    words = {"ok": "OK", "nok": "not OK"}
    known = {"ok": 0, "nok": 0} | dict(outcomes)
    return [
        Figure(words.get(name, f"failed: {name.replace('_', ' ')}"), count, "" if name in words else "bad")
        for name, count in known.items()
    ]


def _troubles(found: Operations) -> list[Figure]:
    counted = [
        ("answered with 5xx", found.server_errors, "bad"),
        ("refused by the rate limit", found.rate_limited, "warn"),
        ("let through uncounted, as Redis was away", found.rate_limit_not_counted, "warn"),
        ("calls of models failed", found.provider_errors, "bad"),
        ("messages tried again", found.retries, "warn"),
        ("messages given up", found.dead_letters, "bad"),
        ("transactions tried again after a lock", found.lock_retries, ""),
        ("waits for a database connection given up", found.pool_timeouts, "bad"),
        ("jobs of the clock failed", found.clock_failures, "bad"),
    ]
    return [Figure("requests", found.requests)] + [
        Figure(words, count, kind if count else "") for words, count, kind in counted
    ]


def _latency(name: str, latency: Latency) -> LatencyRow:
    seconds = (latency.p50_s, latency.p95_s, latency.p99_s)
    return LatencyRow(name, latency.count, [None if one is None else one * 1000 for one in seconds])
