"""Limits the simultaneous calls of a model, from all processes together.

Each call holds a slot that expires. Dramatiq's ConcurrentRateLimiter has one counter for all calls, which does not
expire under load: the slots of a killed process would be lost forever.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from uuid import uuid4

import redis
import structlog

from app.concurrency.batching import Coalescer, Forwarder
from app.concurrency.quotas import Quota
from app.errors import ProviderTimeout, Unavailable
from app.redis_store import keys
from app.redis_store.scripts import Script

log = structlog.get_logger(__name__)

# A slot expires this long after the deadline of its call; its holder must be dead by then.
GRACE_S = 10.0
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0

# KEYS: for each caller the used slots of its model, then its organization's part of them; ARGV: for each caller its
# lease in ms, its name, and the places, share and capacity of its quota. It uses Redis's clock, which all processes
# share.
_TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answers = {}
for caller = 1, #KEYS / 2 do
    local all, own = KEYS[2 * caller - 1], KEYS[2 * caller]
    local at = 5 * (caller - 1)
    local lease, holder = tonumber(ARGV[at + 1]), ARGV[at + 2]
    local places, share, capacity = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
    for _, key in ipairs({all, own}) do redis.call('ZREMRANGEBYSCORE', key, '-inf', now) end
    local taken, held = redis.call('ZCARD', all), redis.call('ZCARD', own)
    local admitted = taken < places
    if held < share then admitted = held < capacity - taken end
    answers[caller] = admitted and 1 or 0
    if admitted then
        for _, key in ipairs({all, own}) do
            redis.call('ZADD', key, now + lease, holder)
            redis.call('PEXPIRE', key, math.max(redis.call('PTTL', key), lease))
        end
    end
end
return answers
"""

# KEYS as above; ARGV: the name of each caller.
_GIVE_BACK = """
for at, key in ipairs(KEYS) do redis.call('ZREM', key, ARGV[math.floor((at + 1) / 2)]) end
"""


@dataclass(frozen=True, slots=True)
class _Slot:
    """A slot for one call: an entry in the set of the model, and one in the set of the model and organization."""

    all: str
    own: str
    holder: str
    lease_ms: int
    quota: Quota


class _UntilEnd(threading.local):
    """The slots that a thread gives back at the end of its `held_until_end` block; None outside of a block."""

    slots: list[_Slot] | None = None


class ModelSlots:
    """The slots of all models, for `Providers(slot=…, slots_held=…)`.

    `quota` limits the simultaneous calls of a model, from one organization and from all.

    Calls in the background, such as the calls of replays, are counted with the others but have the smaller quota
    `background`. So a run always finds a place, however many background calls there are.

    While Redis is away, every call is allowed: a limit must not become an outage.

    Calls that begin, or end, at the same time share a round trip. A call that ends waits for no other call.
    """

    def __init__(
        self,
        client: redis.Redis,
        *,
        quota: Quota,
        background: Quota | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._take_script, self._give_back_script = Script(client, _TAKE), Script(client, _GIVE_BACK)
        self._take: Coalescer[_Slot, bool] = Coalescer(self._take_all)
        self._give_back: Forwarder[_Slot] = Forwarder(self._give_all_back)
        self._until_end = _UntilEnd()
        self._quota = quota
        self._background = background or quota
        self._monotonic = monotonic
        self._sleep = sleep

    @contextmanager
    def of(
        self,
        model: str,
        organization_id: int,
        timeout_s: float,
        *,
        is_own: bool = False,
        background: bool = False,
        pause: Callable[[Callable[[float], None], float], None] = lambda sleep, pause_s: sleep(pause_s),
    ) -> Iterator[None]:
        """Hold one of the model's slots during the block; `ProviderTimeout` when none becomes free within `timeout_s`.

        `model` identifies the model. `is_own` is for a model that the organization has added: it shares no slots with
        another organization's model of the same name and address. `pause` waits between two tries, by a function that
        sleeps; what it raises ends the wait.
        """
        name = f"{organization_id} {model}" if is_own else model
        lease_ms = round((timeout_s + GRACE_S) * 1000)
        quota = self._background if background else self._quota
        slot = _Slot(keys.model_slots(name), keys.model_slots_of(name, organization_id), uuid4().hex, lease_ms, quota)
        self._wait(slot, model, timeout_s, pause)
        succeeded = False
        try:
            yield
            succeeded = True
        finally:
            if succeeded and self._until_end.slots is not None:
                self._until_end.slots.append(slot)
            else:
                self._release(slot)

    @contextmanager
    def held_until_end(self) -> Iterator[None]:
        """Hold the slots of this thread's successful calls until the block ends.

        So the answer is passed on before the round trip that frees the slot. A call that fails gives its slot back
        immediately, because another call may follow it.
        """
        slots = self._until_end.slots = []
        try:
            yield
        finally:
            self._until_end.slots = None
            for slot in slots:
                self._release(slot)

    def _release(self, slot: _Slot) -> None:
        with suppress(redis.RedisError):
            self._give_back(slot)

    def _wait(
        self, slot: _Slot, name: str, timeout_s: float, pause: Callable[[Callable[[float], None], float], None]
    ) -> None:
        deadline = self._monotonic() + timeout_s
        pause_s = FIRST_PAUSE_S
        while not self._taken(slot):
            if self._monotonic() + pause_s >= deadline:
                raise ProviderTimeout(
                    f"The model {name} is busy with {slot.quota.places} calls, and none ended in time."
                )
            pause(self._sleep, random.uniform(pause_s / 2, pause_s))  # noqa: S311 - jitter, no secret
            pause_s = min(LONGEST_PAUSE_S, pause_s * 1.5)

    def _taken(self, slot: _Slot) -> bool:
        try:
            return self._take(slot)
        except (redis.RedisError, Unavailable) as error:
            log.warning("model_slots_not_counted", error=str(error))
            return True

    def _take_all(self, slots: Sequence[_Slot]) -> list[bool]:
        arguments = [value for slot in slots for value in (slot.lease_ms, slot.holder, *astuple(slot.quota))]
        return [bool(taken) for taken in self._take_script(_keys_of(slots), arguments)]

    def _give_all_back(self, slots: Sequence[_Slot]) -> None:
        self._give_back_script(_keys_of(slots), [slot.holder for slot in slots])


def _keys_of(slots: Sequence[_Slot]) -> list[str]:
    return [key for slot in slots for key in (slot.all, slot.own)]
