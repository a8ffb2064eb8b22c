"""How many calls a model gets at once, from all processes together.

Dramatiq's ConcurrentRateLimiter counts, and its counter lives as long as somebody counts: the places of a process that
was killed would never come back under load. Here each call holds a place of its own, with an end of its own.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

import redis
import structlog

from app.coalesce import Coalescer
from app.errors import ProviderTimeout, Unavailable

log = structlog.get_logger(__name__)

# A place outlives the deadline of its call by this: after that whoever held it is dead.
GRACE_S = 10.0
PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0

# KEYS: the places of each asker's model; ARGV: the limit, then each one's lease in ms and name. By Redis's clock,
# which all share.
_TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local taken = {}
for asker, key in ipairs(KEYS) do
    local lease, holder = tonumber(ARGV[2 * asker]), ARGV[2 * asker + 1]
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    taken[asker] = redis.call('ZCARD', key) < tonumber(ARGV[1]) and 1 or 0
    if taken[asker] == 1 then
        redis.call('ZADD', key, now + lease, holder)
        redis.call('PEXPIRE', key, math.max(redis.call('PTTL', key), lease))
    end
end
return taken
"""


@dataclass(frozen=True, slots=True)
class _Place:
    """One of a model's places, under `key`, for one call."""

    key: str
    holder: str
    lease_ms: int


class ModelSlots:
    """For `Providers(slot=…)`. While Redis is away every call is let through: a limit must not be an outage.

    Calls that begin, or end, at the same time do so in one round trip.
    """

    def __init__(
        self,
        client: redis.Redis,
        *,
        at_once: int,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._script = client.register_script(_TAKE)
        self._take: Coalescer[_Place, bool] = Coalescer(self._take_all)
        self._give_back: Coalescer[_Place, None] = Coalescer(self._give_all_back)
        self._at_once = at_once
        self._monotonic = monotonic
        self._sleep = sleep

    @contextmanager
    def of(self, model: str, timeout_s: float) -> Iterator[None]:
        """Hold one of the model's places; `ProviderTimeout` when none becomes free within `timeout_s`.

        `model` is whatever tells it from others.
        """
        place = _Place(f"reprise:slots:{model}", uuid4().hex, round((timeout_s + GRACE_S) * 1000))
        self._wait(place, model, timeout_s)
        try:
            yield
        finally:
            with suppress(redis.RedisError, Unavailable):
                self._give_back(place)

    def _wait(self, place: _Place, name: str, timeout_s: float) -> None:
        deadline = self._monotonic() + timeout_s
        pause_s = PAUSE_S
        while not self._taken(place):
            if self._monotonic() + pause_s >= deadline:
                raise ProviderTimeout(f"The model {name} is busy with {self._at_once} calls, and none ended in time.")
            self._sleep(random.uniform(pause_s / 2, pause_s))  # noqa: S311 - jitter, no secret
            pause_s = min(LONGEST_PAUSE_S, pause_s * 1.5)

    def _taken(self, place: _Place) -> bool:
        try:
            return self._take(place)
        except (redis.RedisError, Unavailable) as error:
            log.warning("model_slots_not_counted", error=str(error))
            return True

    def _take_all(self, places: Sequence[_Place]) -> list[bool]:
        leases = [argument for place in places for argument in (place.lease_ms, place.holder)]
        return [bool(taken) for taken in self._script([place.key for place in places], [self._at_once, *leases])]

    def _give_all_back(self, places: Sequence[_Place]) -> list[None]:
        holders = defaultdict[str, list[str]](list)
        for place in places:
            holders[place.key].append(place.holder)
        for key, names in holders.items():
            self._client.zrem(key, *names)
        return [None] * len(places)
