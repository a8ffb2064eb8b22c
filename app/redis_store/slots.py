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
from dataclasses import astuple, dataclass
from uuid import uuid4

import redis
import structlog

from app.coalesce import Coalescer
from app.errors import ProviderTimeout, Unavailable
from app.redis_store import keys
from app.shares import Quota

log = structlog.get_logger(__name__)

# A place outlives the deadline of its call by this: after that whoever held it is dead.
GRACE_S = 10.0
PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0

# KEYS: for each asker all places of its model that are taken, then those of its organization; ARGV: the quota's places,
# share and capacity, then each asker's lease in ms and name. By Redis's clock, which all share.
_TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local places, share, capacity = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local answers = {}
for asker = 1, #KEYS / 2 do
    local all, own = KEYS[2 * asker - 1], KEYS[2 * asker]
    local lease, holder = tonumber(ARGV[2 + 2 * asker]), ARGV[3 + 2 * asker]
    for _, key in ipairs({all, own}) do redis.call('ZREMRANGEBYSCORE', key, '-inf', now) end
    local taken, held = redis.call('ZCARD', all), redis.call('ZCARD', own)
    local admitted = taken < places
    if held < share then admitted = held < capacity - taken end
    answers[asker] = admitted and 1 or 0
    if admitted then
        for _, key in ipairs({all, own}) do
            redis.call('ZADD', key, now + lease, holder)
            redis.call('PEXPIRE', key, math.max(redis.call('PTTL', key), lease))
        end
    end
end
return answers
"""


@dataclass(frozen=True, slots=True)
class _Place:
    """One of a model's places for one call: it is among all that are taken, and among the organization's own."""

    all: str
    own: str
    holder: str
    lease_ms: int

    @classmethod
    def of(cls, name: str, organization_id: int, lease_s: float) -> _Place:
        all_, own = keys.model_slots(name), keys.model_slots_of(name, organization_id)
        return cls(all_, own, uuid4().hex, round(lease_s * 1000))


class ModelSlots:
    """For `Providers(slot=…)`. `quota` says how many calls a model gets from one organization and from all.

    While Redis is away every call is let through: a limit must not be an outage.

    Calls that begin, or end, at the same time do so in one round trip.
    """

    def __init__(
        self,
        client: redis.Redis,
        *,
        quota: Quota,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._script = client.register_script(_TAKE)
        self._take: Coalescer[_Place, bool] = Coalescer(self._take_all)
        self._give_back: Coalescer[_Place, None] = Coalescer(self._give_all_back)
        self._quota = quota
        self._monotonic = monotonic
        self._sleep = sleep

    @contextmanager
    def of(self, model: str, organization_id: int, timeout_s: float, *, own: bool = False) -> Iterator[None]:
        """Hold one of the model's places; `ProviderTimeout` when none becomes free within `timeout_s`.

        `model` is whatever tells it from others; one that is the organization's `own` shares nothing with a model of
        the same name and address that is another's.
        """
        name = f"{organization_id} {model}" if own else model
        place = _Place.of(name, organization_id, timeout_s + GRACE_S)
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
                raise ProviderTimeout(
                    f"The model {name} is busy with {self._quota.places} calls, and none ended in time."
                )
            self._sleep(random.uniform(pause_s / 2, pause_s))  # noqa: S311 - jitter, no secret
            pause_s = min(LONGEST_PAUSE_S, pause_s * 1.5)

    def _taken(self, place: _Place) -> bool:
        try:
            return self._take(place)
        except (redis.RedisError, Unavailable) as error:
            log.warning("model_slots_not_counted", error=str(error))
            return True

    def _take_all(self, places: Sequence[_Place]) -> list[bool]:
        taken_keys = [key for place in places for key in (place.all, place.own)]
        leases = [argument for place in places for argument in (place.lease_ms, place.holder)]
        return [bool(taken) for taken in self._script(taken_keys, [*astuple(self._quota), *leases])]

    def _give_all_back(self, places: Sequence[_Place]) -> list[None]:
        holders = defaultdict[str, list[str]](list)
        for place in places:
            holders[place.all].append(place.holder)
            holders[place.own].append(place.holder)
        with self._client.pipeline(transaction=False) as pipe:
            for key, names in holders.items():
                pipe.zrem(key, *names)
            pipe.execute()
        return [None] * len(places)
