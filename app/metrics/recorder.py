"""Counts in memory, and adds the counts to Redis once a second: calls are cheap and never fail."""

from __future__ import annotations

import atexit
import os
import socket
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Protocol

import redis

from app.metrics.readings import SUM, Increments, Readings
from app.metrics.registry import CACHE_LOOKUPS, MILLION, OTHER, PROVIDER_CALLS, PROVIDER_SECONDS, Labels, Metric

Increment = tuple[Metric, Labels, str]
"""What a count adds to: a metric, its label values, and "" or the part of a histogram."""
Gauge = Callable[[], Mapping[Labels, float]]
FLUSH_S = 1.0
# How often the label sets of other processes are read: `series_max` bounds those of all processes together.
LEARN_S = 60.0
# The most label sets per second. With more, something is wrong with the labels, and memory must be protected.
PENDING_MAX = 20_000


class Store(Protocol):
    """Stores the counts of all processes; see `app/redis_store/metric_store.py`."""

    def add(self, increments: Increments) -> None:
        """Add to the counters and histograms; each increment counts once, however many processes add."""

    def put_gauges(self, process: str, values: Mapping[tuple[Metric, Labels], float]) -> None:
        """Set gauges of a process. They do not count any more once the process has stopped writing them."""

    def total(self) -> Readings:
        """Return the sums over all processes."""


class Metrics:
    """Counts in memory; a thread adds the counts to `store` every second. The first count starts the thread.

    A crash loses at most one second. While Redis is away, the counts are kept. Without a store nothing leaves the
    process (see `pending`).
    """

    def __init__(self, store: Store | None = None, *, every_s: float = FLUSH_S) -> None:
        self._store = store
        self._every_s = every_s
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._pending: dict[Increment, int] = defaultdict(int)
        self._gauges: dict[Metric, Gauge] = {}
        self._known: dict[Metric, set[Labels]] = {}
        self._learn_at = 0.0
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._process = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"

    def count(self, metric: Metric, *labels: str, by: int = 1) -> None:
        """Add `by` to a counter; label values are in the order of their declaration."""
        self._add(metric, labels, {"": by})

    def observe(self, metric: Metric, value: float, *labels: str) -> None:
        """Add one value to a histogram, in the unit of its name."""
        self._add(metric, labels, {metric.bound(value): 1, SUM: round(value * MILLION)})

    def count_together(self, counted: Iterable[Increment], metric: Metric, labels: Labels, value: float) -> None:
        """Add 1 to each of `counted`, and `value` to a histogram, at the price of one call."""
        bound, amount = metric.bound(value), round(value * MILLION)
        with self._lock:
            pending = self._pending
            if len(pending) < PENDING_MAX:
                for increment in counted:
                    pending[increment] += 1
                pending[metric, labels, bound] += 1
                pending[metric, labels, SUM] += amount
            if self._thread is None and self._store is not None:
                self._start()

    @contextmanager
    def timed(self, metric: Metric, *labels: str) -> Iterator[None]:
        """Observe the duration of the block, whether it raises or not."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.observe(metric, time.perf_counter() - started, *labels)

    def gauge(self, metric: Metric, read: Gauge) -> None:
        """Register `read`, which returns this process's part of a gauge at every flush."""
        self._gauges[metric] = read

    def pending(self) -> Increments:
        """Return the increments since the last flush, by (metric, label values, part)."""
        with self._lock:
            return dict(self._pending)

    def flush(self) -> None:
        """Add the pending counts to Redis, or keep them for the next flush if Redis is away."""
        if self._store is None:
            return
        with self._flushing, suppress(redis.RedisError):
            self._learn(self._store)
            self._flush_counts(self._store)
            readings = ((metric, read()) for metric, read in self._gauges.items())
            self._store.put_gauges(
                self._process,
                {(metric, labels): value for metric, values in readings for labels, value in values.items()},
            )

    def _flush_counts(self, store: Store) -> None:
        with self._lock:
            taken, self._pending = self._pending, defaultdict(int)
        if not taken:
            return
        try:
            store.add(self._bounded(taken))
        except redis.ConnectionError:
            # Not after a time-out: a Redis that hangs may still execute the commands when it continues.
            with self._lock:
                for key, by in taken.items():
                    self._pending[key] += by
            raise

    def _add(self, metric: Metric, labels: Labels, parts: Mapping[str, int]) -> None:
        if len(labels) != len(metric.labels):
            raise TypeError(f"{metric.name} has the labels {metric.labels}, not {labels}")
        with self._lock:
            if len(self._pending) < PENDING_MAX:
                for part, by in parts.items():
                    self._pending[metric, labels, part] += by
            if self._thread is None and self._store is not None:
                self._start()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)
        self._thread.start()
        # An orderly exit loses nothing. Worker processes skip exit handlers, so they flush in QueueMetrics.
        atexit.register(self.flush)

    def close(self) -> None:
        """Flush a last time, and end the thread."""
        self._ended.set()
        if self._thread is not None:
            atexit.unregister(self.flush)
            self._thread.join()
            self.flush()

    def _run(self) -> None:
        while not self._ended.wait(self._every_s):
            self.flush()

    def _learn(self, store: Store) -> None:
        if time.monotonic() >= self._learn_at:
            self._known = store.total().series()
            self._learn_at = time.monotonic() + LEARN_S

    def _bounded(self, taken: Increments) -> Increments:
        """Return the increments; label sets beyond a metric's `series_max` are counted together."""
        bounded: dict[tuple[Metric, Labels, str], int] = defaultdict(int)
        for (metric, labels, part), by in taken.items():
            known = self._known.setdefault(metric, set())
            if labels not in known and len(known) >= metric.series_max:
                labels = (OTHER,) * len(metric.labels)
            known.add(labels)
            bounded[metric, labels, part] += by
        return bounded


def cache_lookups(metrics: Metrics, cache: str) -> Callable[[bool], None]:
    """Return a callback that counts the lookups of one cache. Its argument is whether the lookup was a hit."""
    return lambda hit: metrics.count(CACHE_LOOKUPS, cache, "hit" if hit else "miss")


@contextmanager
def provider_call(metrics: Metrics, vendor: str) -> Iterator[None]:
    """Count and time one attempt of a vendor's call; its outcome is `ok` or the name of the error."""
    with ExitStack() as counted, metrics.timed(PROVIDER_SECONDS, vendor):
        counted.push(lambda kind, *_: metrics.count(PROVIDER_CALLS, vendor, kind.__name__ if kind else "ok"))
        yield
