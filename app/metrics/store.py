"""Where metrics live in Redis, for all processes together.

`…:total` is a hash of every counter and bucket since Redis was last emptied; `…:minute:N` holds the same for one
minute since 1970 and goes after an hour; `…:gauges` has each process's own readings with their time.
Sums of histograms are whole millionths, so that every increment is an integer.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import redis

from app.metrics import registry
from app.metrics.types import Labels, Metric

Increments = Mapping[tuple[Metric, Labels, str], int]
SUM = "sum"
MILLION = 1_000_000
HISTORY_MINUTES = 60
# A process that has not flushed for so long is gone, or so stuck that its readings say nothing.
GAUGE_S = 15
_TOTAL = "reprise:metrics:total"
_MINUTE = "reprise:metrics:minute:{}"
_GAUGES = "reprise:metrics:gauges"
_SEPARATOR = "\x1f"


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


class MetricStore:
    """Writes increments and reads them back; every method may raise `redis.RedisError`."""

    def __init__(self, client: redis.Redis, *, now: Callable[[], float] = time.time) -> None:
        self._client = client
        self._now = now

    def add(self, increments: Increments) -> None:
        """One round trip, however many increments."""
        minute = _MINUTE.format(int(self._now() // 60))
        with self._client.pipeline(transaction=False) as pipe:
            for (metric, labels, part), by in increments.items():
                field = _field(metric.name, *labels, part)
                pipe.hincrby(_TOTAL, field, by)
                pipe.hincrby(minute, field, by)
            pipe.expire(minute, (HISTORY_MINUTES + 2) * 60)
            pipe.execute()

    def put_gauges(self, process: str, values: Mapping[tuple[Metric, Labels], float]) -> None:
        now = self._now()
        fields = {_field(process, metric.name, *labels): f"{value}@{now}" for (metric, labels), value in values.items()}
        if fields:
            self._client.hset(_GAUGES, mapping=fields)  # type: ignore[arg-type]

    def total(self) -> Readings:
        return Readings(_parse([self._client.hgetall(_TOTAL)]))  # type: ignore[list-item]

    def history(self, minutes: int) -> list[Readings]:
        """The last whole minutes, oldest first, then the one that is running."""
        return [Readings(_parse([fields])) for fields in self._minutes(minutes)]

    def window(self, minutes: int) -> tuple[Readings, float]:
        """The last whole minutes and the running one together, and how many seconds that is."""
        return Readings(_parse(self._minutes(minutes))), minutes * 60 + self._now() % 60

    def _minutes(self, count: int) -> list[dict[bytes, bytes]]:
        newest = int(self._now() // 60)
        with self._client.pipeline(transaction=False) as pipe:
            for minute in range(newest - count, newest + 1):
                pipe.hgetall(_MINUTE.format(minute))
            return pipe.execute()

    def gauges(self) -> dict[Metric, dict[Labels, float]]:
        """Sums over the processes that flushed lately; what dead ones left is deleted."""
        found: dict[Metric, dict[Labels, float]] = defaultdict(lambda: defaultdict(float))
        dead = []
        kept: dict[bytes, bytes] = self._client.hgetall(_GAUGES)  # type: ignore[assignment]
        for field, text in kept.items():
            _, name, *labels = field.decode().split(_SEPARATOR)
            value, _, at = text.decode().partition("@")
            metric = registry.find(name)
            if metric is None or self._now() - float(at) > GAUGE_S:
                dead.append(field)
                continue
            found[metric][tuple(labels)] += float(value)
        if dead:
            self._client.hdel(_GAUGES, *dead)
        return {metric: dict(values) for metric, values in found.items()}


def _field(*parts: str) -> str:
    return _SEPARATOR.join(part.replace(_SEPARATOR, "_") for part in parts)


def _parse(hashes: Iterable[Mapping[bytes, bytes]]) -> Increments:
    """Fields of metrics that this release does not know, or knows with other labels, are left out."""
    found: dict[tuple[Metric, Labels, str], int] = defaultdict(int)
    for fields in hashes:
        for field, value in fields.items():
            name, *labels, part = field.decode().split(_SEPARATOR)
            metric = registry.find(name)
            if metric is not None and len(labels) == len(metric.labels):
                found[metric, tuple(labels), part] += int(value)
    return found
