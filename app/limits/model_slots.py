"""How many calls a model gets at once, from all processes together.

Dramatiq's ConcurrentRateLimiter counts, and its counter lives as long as somebody counts: the places of a process that
was killed would never come back under load. Here each call holds a place of its own, with an end of its own.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

import redis
import structlog

from app.errors import ProviderTimeout

log = structlog.get_logger(__name__)

# A place outlives the deadline of its call by this: after that whoever held it is dead.
GRACE_S = 10.0
PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0

# KEYS: the model's places; ARGV: the limit, the lease in ms, who asks. By Redis's clock, which all share.
_TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), ARGV[2]))
return 1
"""


class ModelSlots:
    """For `Providers(slot=…)`. While Redis is away every call is let through: a limit must not be an outage."""

    def __init__(
        self,
        client: redis.Redis,
        *,
        at_once: int,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._take = client.register_script(_TAKE)
        self._at_once = at_once
        self._monotonic = monotonic
        self._sleep = sleep

    @contextmanager
    def of(self, model: str, timeout_s: float) -> Iterator[None]:
        """Hold one of the model's places; `ProviderTimeout` when none becomes free within `timeout_s`.

        `model` is whatever tells it from others.
        """
        key, holder = f"reprise:slots:{model}", uuid4().hex
        self._wait(key, holder, model, timeout_s)
        try:
            yield
        finally:
            with suppress(redis.RedisError):
                self._client.zrem(key, holder)

    def _wait(self, key: str, holder: str, name: str, timeout_s: float) -> None:
        deadline = self._monotonic() + timeout_s
        lease_ms = round((timeout_s + GRACE_S) * 1000)
        pause_s = PAUSE_S
        while not self._taken(key, holder, lease_ms):
            if self._monotonic() + pause_s >= deadline:
                raise ProviderTimeout(f"The model {name} is busy with {self._at_once} calls, and none ended in time.")
            self._sleep(random.uniform(pause_s / 2, pause_s))  # noqa: S311 - jitter, no secret
            pause_s = min(LONGEST_PAUSE_S, pause_s * 1.5)

    def _taken(self, key: str, holder: str, lease_ms: int) -> bool:
        try:
            return bool(self._take(keys=[key], args=[self._at_once, lease_ms, holder]))
        except redis.RedisError as error:
            log.warning("model_slots_not_counted", error=str(error))
            return True
