"""The rate limit per API key: a moving window in Redis that all processes share, asked in one round trip."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import redis

from app.coalesce import Coalescer
from app.errors import Unavailable

WINDOW_S = 60

# The log of a key is a list of the times (µs) of the requests that were let through, newest first and never longer
# than the limit: so its last entry decides. What has left the window goes from the end, each entry once. Redis' own
# clock is the only one, so that processes on several machines agree; when it was put back, what is yet to come goes.
_ASK = """
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2]) * 1000000
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local answers = {}
for place, key in ipairs(KEYS) do
    local oldest = redis.call('LINDEX', key, -1)
    while oldest and (tonumber(oldest) <= now - window or tonumber(oldest) > now) do
        redis.call('RPOP', key)
        oldest = redis.call('LINDEX', key, -1)
    end
    local counted = redis.call('LLEN', key)
    local allowed = counted < limit and 1 or 0
    if allowed == 1 and ARGV[2 + place] == '1' then
        counted = redis.call('LPUSH', key, string.format('%.0f', now))
        redis.call('EXPIRE', key, ARGV[2])
    end
    answers[place] = {allowed, limit - counted, (tonumber(oldest) or now) + window - now}
end
return answers
"""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the headers of an answer say; `reset_s` is when the oldest counted request leaves the window."""

    allowed: bool
    limit: int
    remaining: int
    reset_s: int


class RateLimiter:
    """Counts requests; when Redis can't count, it lets them through and says so to `on_unavailable`.

    Requests that come at the same time are counted in one round trip, each for itself.
    """

    def __init__(self, client: redis.Redis, *, per_minute: int, on_unavailable: Callable[[], None]) -> None:
        self._limit = per_minute
        self._script = client.register_script(_ASK)
        self._on_unavailable = on_unavailable
        self._ask: Coalescer[tuple[int | str, bool], Allowance] = Coalescer(self._ask_redis)

    def hit(self, key: int | str) -> Allowance:
        """Count one request of the key (an API key's id, or another name) and say whether it may go on."""
        return self._answer(key, counted=True)

    def look(self, key: int | str) -> Allowance:
        """Whether a request of the key would go on; counts nothing."""
        return self._answer(key, counted=False)

    def _answer(self, key: int | str, *, counted: bool) -> Allowance:
        try:
            return self._ask((key, counted))
        except (redis.RedisError, Unavailable):
            self._on_unavailable()
            return Allowance(allowed=True, limit=self._limit, remaining=self._limit, reset_s=0)

    def _ask_redis(self, questions: Sequence[tuple[int | str, bool]]) -> list[Allowance]:
        """`questions`: a key, and whether the request counts."""
        keys = [f"rate:{key}" for key, _ in questions]
        answers = self._script(keys=keys, args=[self._limit, WINDOW_S, *(int(counted) for _, counted in questions)])
        return [
            Allowance(bool(allowed), self._limit, max(0, remaining), math.ceil(reset_us / 1_000_000))
            for allowed, remaining, reset_us in answers
        ]
