"""Rate limits, mostly per API key, by a moving window: in Redis for all processes, or in the memory of a single one.

The answer has the epoch of the key's project, too (see `app/redis_store/epochs.py`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import redis
import structlog

from app.errors import Unavailable
from app.metrics import Metrics
from app.metrics.registry import RATE_LIMIT_NOT_COUNTED
from app.redis_store.clients import RedisClients
from app.redis_store.epochs import new_epoch
from app.redis_store.leases import LeasedWindow
from app.redis_store.local_counts import WINDOW_S, LocalCounts
from app.redis_store.shared_window import Allowance, SharedWindow, Window

log = structlog.get_logger(__name__)


class LocalWindow(Window):
    """Counts in this process, like the script does in Redis."""

    def __init__(self, counts: LocalCounts, limit: int, ingest_limit: int | None = None) -> None:
        super().__init__(limit, ingest_limit)
        self._counts = counts

    def hit(self, key: int | str, project_id: int | None = None, ingest: bool = False, amount: int = 1) -> Allowance:
        counts, limit = self._counts, self.limit_of(ingest)
        with counts.lock:
            now = counts.monotonic()
            caller = counts.caller(key, now)
            requests = caller.ingest if ingest else caller.every
            allowed = requests.total + amount <= limit
            leaves = requests.oldest() if allowed else requests.makes_room(limit - amount)
            if allowed:
                requests.add(now, amount)
                if ingest:
                    caller.every.add(now, amount)
            remaining = max(0, limit - requests.total)
            epoch = b"" if project_id is None else counts.epoch(project_id, new_epoch)
        reset_s = math.ceil((now if leaves is None else leaves) + WINDOW_S - now)
        return Allowance(allowed, limit, remaining, reset_s, epoch)

    def give_back(self, key: int | str) -> None:
        with self._counts.lock:
            self._counts.caller(key, self._counts.monotonic()).every.take_back()


class RateLimiter:
    """Limits requests. While Redis can't count, all are allowed, and counted in `metrics`."""

    def __init__(
        self, clients: RedisClients, per_minute: int, *, of_ingest: int | None = None, metrics: Metrics
    ) -> None:
        self._metrics = metrics
        self._window: Window = (
            LocalWindow(clients.local, per_minute, of_ingest)
            if clients.local
            else LeasedWindow(SharedWindow(clients.quick, per_minute, of_ingest))
        )
        self.limit, self.ingest_limit = self._window.limit, self._window.ingest_limit

    def hit(self, key: int | str, *, project_id: int | None = None, ingest: bool = False, amount: int = 1) -> Allowance:
        """Count a request of the key (an API key's id, or another name) as `amount`, and return whether it is allowed.

        A refused request is not counted. An `amount` above the limit is always refused.
        """
        try:
            return self._window.hit(key, project_id, ingest, amount)
        except (redis.RedisError, Unavailable):
            log.warning("rate_limit_not_counted")
            self._metrics.count(RATE_LIMIT_NOT_COUNTED)
            limit = self._window.limit_of(ingest)
            return Allowance(allowed=True, limit=limit, remaining=limit, reset_s=0, counted=False)


class AttemptLimiter:
    """Limits attempts at passwords, also while Redis is away or its clock is changed.

    An attempt must be allowed by this process, which counts the attempts that it allowed, and by Redis if it answers.
    """

    def __init__(self, client: redis.Redis, per_minute: int) -> None:
        self._shared = SharedWindow(client, per_minute)
        self._local = LocalWindow(LocalCounts(), per_minute)

    def hit(self, key: str) -> Allowance:
        """Count an attempt of the key, unless it is refused."""
        local_allowance = self._local.hit(key)
        if not local_allowance.allowed:
            return local_allowance
        try:
            allowance = self._shared.hit(key)
        except (redis.RedisError, Unavailable):
            log.warning("rate_limit_counted_per_process")
            return replace(local_allowance, counted=False)
        if not allowance.allowed:
            self._local.give_back(key)
        return allowance

    def give_back(self, key: str, allowance: Allowance) -> None:
        """Uncount the attempt that got `allowance`; a Redis that does not answer keeps counting it."""
        self._local.give_back(key)
        if allowance.counted:
            try:
                self._shared.give_back(key)
            except redis.RedisError:
                log.warning("rate_limit_not_given_back")
