"""The rate limit per API key: a moving window in Redis that all processes share."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import redis
from limits import RateLimitItemPerMinute
from limits.storage import RedisStorage
from limits.strategies import MovingWindowRateLimiter


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the headers of an answer say; `reset_s` is when the oldest counted request leaves the window."""

    allowed: bool
    limit: int
    remaining: int
    reset_s: int


class _SharedClientStorage(RedisStorage):
    """The storage on a client that exists already (a fake one in the embedded mode)."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        super().__init__("redis://")
        self.storage = client
        self.initialize_storage("")


class RateLimiter:
    """Counts requests; when Redis can't count, it lets them through and says so to `on_unavailable`."""

    def __init__(self, client: redis.Redis, *, per_minute: int, on_unavailable: Callable[[], None]) -> None:
        self._item = RateLimitItemPerMinute(per_minute)
        self._strategy = MovingWindowRateLimiter(_SharedClientStorage(client))
        self._on_unavailable = on_unavailable

    def hit(self, key: int | str) -> Allowance:
        """Count one request of the key (an API key's id, or another name) and say whether it may go on."""
        return self._ask(self._strategy.hit, key)

    def look(self, key: str) -> Allowance:
        """Whether a request of the key would go on; counts nothing."""
        return self._ask(self._strategy.test, key)

    def _ask(self, ask: Callable[..., bool], key: int | str) -> Allowance:
        limit = self._item.amount
        try:
            allowed = ask(self._item, str(key))
            reset_time, remaining = self._strategy.get_window_stats(self._item, str(key))
        except redis.RedisError:
            self._on_unavailable()
            return Allowance(allowed=True, limit=limit, remaining=limit, reset_s=0)
        return Allowance(allowed, limit, remaining, max(0, math.ceil(reset_time - time.time())))
