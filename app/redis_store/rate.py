"""The rate limits, per API key above all: a moving window in Redis that all processes share, asked in one round trip.

The same round trip brings the epoch of the key's project along (see `app/redis_store/epochs.py`).
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import redis
import structlog

from app.coalesce import Coalescer
from app.errors import Unavailable
from app.metrics import Metrics
from app.metrics.registry import RATE_LIMIT_NOT_COUNTED
from app.redis_store import keys
from app.redis_store.epochs import EPOCH_S, new_epoch

log = structlog.get_logger(__name__)
WINDOW_S = 60
# Keys that a process counts by itself.
LOCAL_KEYS_MAX = 10_000

# The log of a key is a list of the times (µs) of the requests that were let through, newest first and never longer
# than the limit: so its last entry decides. What has left the window goes from the end, each entry once. Redis' own
# clock is the only one, so that processes on several machines agree; when it was put back, what is yet to come goes.
_ASK = """
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2]) * 1000000
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local answers = {}
for index = 1, #KEYS / 2 do
    local key = KEYS[index]
    local oldest = redis.call('LINDEX', key, -1)
    while oldest and (tonumber(oldest) <= now - window or tonumber(oldest) > now) do
        redis.call('RPOP', key)
        oldest = redis.call('LINDEX', key, -1)
    end
    local counted = redis.call('LLEN', key)
    local allowed = counted < limit and 1 or 0
    if allowed == 1 then
        counted = redis.call('LPUSH', key, string.format('%.0f', now))
        redis.call('EXPIRE', key, ARGV[2])
    end
    local project, epoch = KEYS[#KEYS / 2 + index], ''
    if project ~= '' then
        epoch = redis.call('GET', project)
        if not epoch then
            epoch = ARGV[3]
            redis.call('SET', project, epoch, 'EX', ARGV[4])
        end
    end
    answers[index] = {allowed, limit - counted, (tonumber(oldest) or now) + window - now, epoch}
end
return answers
"""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The values of the rate limit's headers; in `reset_s` seconds the oldest counted request leaves the window.

    `epoch` is the project's; it is empty when no project was named or Redis did not answer.
    """

    allowed: bool
    limit: int
    remaining: int
    reset_s: int
    epoch: bytes = b""


class LocalWindow:
    """Counts in this process alone, for requests that must be counted while Redis is away.

    Lets `limit` requests of a key through in any `window_s` seconds, and keeps the keys that were used last.
    """

    def __init__(self, limit: int, window_s: int, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._window_s = window_s
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._times: OrderedDict[int | str, deque[float]] = OrderedDict()

    def hit(self, key: int | str) -> tuple[bool, int]:
        """Return whether one more goes through, and in how many seconds the oldest one leaves the window."""
        now = self._monotonic()
        with self._lock:
            times = self._times.setdefault(key, deque())
            self._times.move_to_end(key)
            if len(self._times) > LOCAL_KEYS_MAX:
                self._times.popitem(last=False)
            while times and times[0] <= now - self._window_s:
                times.popleft()
            allowed = len(times) < self._limit
            if allowed:
                times.append(now)
            return allowed, math.ceil(times[0] + self._window_s - now)

    def give_back(self, key: int | str) -> None:
        with self._lock:
            if times := self._times.get(key):
                times.pop()


class _Question(NamedTuple):
    key: int | str
    project_id: int | None


class RateLimiter:
    """Counts requests; those that come at the same time in one round trip, each for itself.

    While Redis can't, it lets requests through, counting those in `uncounted`; without `uncounted` it counts the
    requests of this process instead.
    """

    def __init__(self, client: redis.Redis, per_minute: int, *, uncounted: Metrics | None = None) -> None:
        self._client = client
        self._limit = per_minute
        self._uncounted = uncounted
        self._local = LocalWindow(per_minute, WINDOW_S)
        self._script = client.register_script(_ASK)
        self._ask: Coalescer[_Question, Allowance] = Coalescer(self._ask_redis)

    def hit(self, key: int | str, *, project_id: int | None = None) -> Allowance:
        """Count one request of the key (an API key's id, or another name); the answer tells whether it is allowed."""
        try:
            return self._ask(_Question(key, project_id))
        except (redis.RedisError, Unavailable):
            self._note_outage()
            if self._uncounted:
                return Allowance(allowed=True, limit=self._limit, remaining=self._limit, reset_s=0)
            allowed, reset_s = self._local.hit(key)
            return Allowance(allowed, self._limit, 0, reset_s)

    def give_back(self, key: int | str) -> None:
        """Take back one counted request of the key."""
        try:
            self._client.lpop(keys.rate(key))
        except redis.RedisError:
            self._note_outage()
        self._local.give_back(key)

    def _note_outage(self) -> None:
        if self._uncounted:
            log.warning("rate_limit_not_counted")
            self._uncounted.count(RATE_LIMIT_NOT_COUNTED)
        else:
            log.warning("rate_limit_counted_in_this_process_alone")

    def _ask_redis(self, questions: Sequence[_Question]) -> list[Allowance]:
        logs = [keys.rate(one.key) for one in questions]
        projects = ["" if one.project_id is None else keys.epoch(one.project_id) for one in questions]
        answers = self._script(keys=logs + projects, args=[self._limit, WINDOW_S, new_epoch(), EPOCH_S])
        return [
            Allowance(bool(allowed), self._limit, max(0, remaining), math.ceil(reset_us / 1_000_000), epoch)
            for allowed, remaining, reset_us, epoch in answers
        ]
