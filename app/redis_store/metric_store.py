"""Keeps metrics in Redis, for all processes together.

A hash has every counter and bucket since Redis was last emptied; a hash for each minute since 1970 holds the same for
that minute and goes after an hour; a third has each process's own readings with their time. Sums of histograms are
whole millionths, so that every increment is an integer.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import redis

from app.metrics.readings import Increments, Readings
from app.metrics.registry import BY_NAME, Labels, Metric
from app.redis_store import keys

HISTORY_MINUTES = 60
# A process that has not flushed for so long is gone, or so stuck that its readings say nothing.
GAUGE_S = 15
_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class MetricStore:
    """Writes increments and reads them back; every method may raise `redis.RedisError`."""

    client: redis.Redis
    now: Callable[[], float] = time.time

    def add(self, increments: Increments) -> None:
        """Add increments in one round trip, however many they are."""
        minute = keys.metrics_minute(int(self.now() // 60))
        with self.client.pipeline(transaction=False) as pipe:
            for (metric, labels, part), by in increments.items():
                field = _field(metric.name, *labels, part)
                pipe.hincrby(keys.METRICS_TOTAL, field, by)
                pipe.hincrby(minute, field, by)
            pipe.expire(minute, (HISTORY_MINUTES + 2) * 60)
            pipe.execute()

    def put_gauges(self, process: str, values: Mapping[tuple[Metric, Labels], float]) -> None:
        now = self.now()
        fields = {_field(process, metric.name, *labels): f"{value}@{now}" for (metric, labels), value in values.items()}
        if fields:
            self.client.hset(keys.METRICS_GAUGES, mapping=fields)  # type: ignore[arg-type]

    def total(self) -> Readings:
        return Readings(_parse([self.client.hgetall(keys.METRICS_TOTAL)]))  # type: ignore[list-item]

    def history(self, minutes: int) -> list[Readings]:
        """Return the last whole minutes, oldest first, then the one that is running."""
        return [Readings(_parse([fields])) for fields in self._minutes(minutes)]

    def window(self, minutes: int) -> tuple[Readings, float]:
        """Return the last whole minutes and the running one together, and how many seconds that is."""
        return Readings(_parse(self._minutes(minutes))), minutes * 60 + self.now() % 60

    def _minutes(self, count: int) -> list[dict[bytes, bytes]]:
        newest = int(self.now() // 60)
        with self.client.pipeline(transaction=False) as pipe:
            for minute in range(newest - count, newest + 1):
                pipe.hgetall(keys.metrics_minute(minute))
            return pipe.execute()

    def gauges(self) -> dict[Metric, dict[Labels, float]]:
        """Sums over the processes that flushed lately; what dead ones left is deleted."""
        found: dict[Metric, dict[Labels, float]] = defaultdict(lambda: defaultdict(float))
        dead = []
        kept: dict[bytes, bytes] = self.client.hgetall(keys.METRICS_GAUGES)  # type: ignore[assignment]
        for field, text in kept.items():
            _, name, *labels = field.decode().split(_SEPARATOR)
            value, _, at = text.decode().partition("@")
            metric = BY_NAME.get(name)
            if metric is None or self.now() - float(at) > GAUGE_S:
                dead.append(field)
                continue
            found[metric][tuple(labels)] += float(value)
        if dead:
            self.client.hdel(keys.METRICS_GAUGES, *dead)
        return {metric: dict(values) for metric, values in found.items()}


def _field(*parts: str) -> str:
    return _SEPARATOR.join(part.replace(_SEPARATOR, "_") for part in parts)


def _parse(hashes: Iterable[Mapping[bytes, bytes]]) -> Increments:
    """Fields of metrics that this release does not know, or knows with other labels, are left out."""
    found: dict[tuple[Metric, Labels, str], int] = defaultdict(int)
    for fields in hashes:
        for field, value in fields.items():
            name, *labels, part = field.decode().split(_SEPARATOR)
            metric = BY_NAME.get(name)
            if metric is not None and len(labels) == len(metric.labels):
                found[metric, tuple(labels), part] += int(value)
    return found
