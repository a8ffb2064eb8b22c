"""Keeps the metrics of all processes in Redis.

One hash has every counter and bucket since Redis was last emptied. A hash per minute has the increments of that minute,
and expires after an hour. A third hash has the gauges of each process, with their time. Sums of histograms are stored
in whole millionths, so that every increment is an integer.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import redis

from app.metrics.readings import Increments, Readings
from app.metrics.registry import BY_NAME, Labels, Metric
from app.redis_store import keys

HISTORY_MINUTES = 60
# A process that has not flushed for this long is gone, or so stuck that its gauges are meaningless.
GAUGE_S = 15
_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class MetricStore:
    """Writes increments and reads them back; every method may raise `redis.RedisError`."""

    client: redis.Redis
    now: Callable[[], float] = time.time

    def add(self, increments: Increments) -> None:
        """Add all increments in one round trip."""
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

    def window(self, minutes: int, by_minute: Collection[Metric] = ()) -> tuple[Readings, float, list[Readings]]:
        """Return the sum of the last whole minutes and the current one, and their length in seconds.

        Each minute, the oldest first, follows with the metrics `by_minute`.
        """
        hashes = self._minutes(minutes)
        history = [Readings(_parse([fields], by_minute)) for fields in hashes]
        return Readings(_parse(hashes)), minutes * 60 + self.now() % 60, history

    def _minutes(self, count: int) -> list[dict[bytes, bytes]]:
        newest = int(self.now() // 60)
        with self.client.pipeline(transaction=False) as pipe:
            for minute in range(newest - count, newest + 1):
                pipe.hgetall(keys.metrics_minute(minute))
            return pipe.execute()

    def gauges(self) -> dict[Metric, dict[Labels, float]]:
        """Return sums over the processes that flushed recently, and delete the gauges of dead processes."""
        sums: dict[Metric, dict[Labels, float]] = defaultdict(lambda: defaultdict(float))
        dead = []
        kept: dict[bytes, bytes] = self.client.hgetall(keys.METRICS_GAUGES)  # type: ignore[assignment]
        for field, text in kept.items():
            _, name, *labels = field.decode().split(_SEPARATOR)
            value, _, at = text.decode().partition("@")
            metric = BY_NAME.get(name)
            if metric is None or self.now() - float(at) > GAUGE_S:
                dead.append(field)
                continue
            sums[metric][tuple(labels)] += float(value)
        if dead:
            self.client.hdel(keys.METRICS_GAUGES, *dead)
        return {metric: dict(values) for metric, values in sums.items()}


def _field(*parts: str) -> str:
    return _SEPARATOR.join(part.replace(_SEPARATOR, "_") for part in parts)


def _parse(hashes: Iterable[Mapping[bytes, bytes]], metrics: Collection[Metric] | None = None) -> Increments:
    """Sum the hashes, without metrics that this release does not know, or knows with other labels.

    `metrics` are all that are read, if they are given: an hour has ten thousands of numbers.
    """
    names = None if metrics is None else {metric.name.encode() for metric in metrics}
    sums: dict[tuple[Metric, Labels, str], int] = defaultdict(int)
    for fields in hashes:
        for field, value in fields.items():
            if names is not None and field.partition(_SEPARATOR.encode())[0] not in names:
                continue
            name, *labels, part = field.decode().split(_SEPARATOR)
            metric = BY_NAME.get(name)
            if metric is not None and len(labels) == len(metric.labels):
                sums[metric, tuple(labels), part] += int(value)
    return sums
