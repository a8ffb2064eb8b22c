"""Rate limits, mostly per API key: a moving window in Redis that all processes share, queried in one round trip.

The same round trip returns the epoch of the key's project (see `app/redis_store/epochs.py`). The single process of the
embedded mode keeps its windows and epochs in memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import redis
import structlog

from app.concurrency.batching import Coalescer
from app.errors import Unavailable
from app.metrics import Metrics
from app.metrics.registry import RATE_LIMIT_NOT_COUNTED
from app.redis_store import keys
from app.redis_store.clients import RedisClients
from app.redis_store.epochs import EPOCH_S, new_epoch
from app.redis_store.own_counts import WINDOW_S, OwnCounts
from app.redis_store.scripts import Script

log = structlog.get_logger(__name__)

# The log of a key is a list of the allowed requests, newest first. An entry has the request's time (µs), its amount,
# and the sum of all amounts that the log has ever counted, up to and including this one. The difference of two sums is
# the amount of the requests between them. The script searches from the oldest entry, which Redis finds at once, in
# steps that double, and then by halving. So its work grows neither with a request's amount nor with the number of
# expired entries.
#
# Only Redis' clock is used, so that processes on several machines agree. When it is put back, new entries get the time
# of the newest one, so that the log stays in order and counted. A log with its oldest entry more than a window ahead is
# dropped, so that no caller has to wait for hours.
#
# A request of ingest has a second log, of ingest only. That log decides, but the request is counted in both, so that
# the first log may exceed its limit.
#
# KEYS: the log of each question, then its log of ingest or "", then its project's epoch or "". ARGV: the limits of the
# two logs, the window in seconds, an epoch for projects without one, its seconds, and each question's amount.
_ASK = """
local window = tonumber(ARGV[3]) * 1000000
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local answers, count = {}, #KEYS / 3
local function entry(log, index)
    local found = redis.call('LINDEX', log, index)
    if not found then return nil end
    local time, amount, sum = string.match(found, '^(%d+) (%d+) (%d+)$')
    return {time = tonumber(time), amount = tonumber(amount), sum = tonumber(sum)}
end
local function first(log, is_it)
    local low, high, step = 0, redis.call('LLEN', log) - 1, 1
    while step <= high do
        if not is_it(entry(log, high - step)) then
            low = high - step + 1
            break
        end
        high, step = high - step, 2 * step
    end
    while low < high do
        local middle = math.floor((low + high) / 2)
        if is_it(entry(log, middle)) then high = middle else low = middle + 1 end
    end
    return low
end
local function has_left(one) return one.time <= now - window or one.time > now + window end
local function ends(log)
    local oldest = entry(log, -1)
    if oldest and has_left(oldest) then
        local left = first(log, has_left)
        if left == 0 then redis.call('DEL', log) else redis.call('LTRIM', log, 0, left - 1) end
        oldest = entry(log, -1)
    end
    return entry(log, 0), oldest
end
local function add(log, newest, amount)
    local time, sum = now, amount
    if newest then time, sum = math.max(now, newest.time), newest.sum + amount end
    redis.call('LPUSH', log, string.format('%.0f %.0f %.0f', time, amount, sum))
    redis.call('EXPIRE', log, ARGV[3])
end
for index = 1, count do
    local all, own, amount = KEYS[index], KEYS[count + index], tonumber(ARGV[5 + index])
    local log, limit = all, tonumber(ARGV[1])
    if own ~= '' then log, limit = own, tonumber(ARGV[2]) end
    local newest, leaves = ends(log)
    local counted = newest and newest.sum - leaves.sum + leaves.amount or 0
    local allowed = counted + amount <= limit and 1 or 0
    if allowed == 1 then
        counted = counted + amount
        add(log, newest, amount)
        if own ~= '' then add(all, ends(all), amount) end
    elseif newest then
        local room = limit - amount
        leaves = entry(log, first(log, function(one) return newest.sum - one.sum + one.amount > room end))
    end
    local project, epoch = KEYS[2 * count + index], ''
    if project ~= '' then
        epoch = redis.call('GET', project)
        if not epoch then
            epoch = ARGV[4]
            redis.call('SET', project, epoch, 'EX', ARGV[5])
        end
    end
    answers[index] = {allowed, limit - counted, (leaves and leaves.time or now) + window - now, epoch}
end
return answers
"""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The answer to a request, with the values of the rate limit's headers.

    `reset_s`: seconds until the oldest counted request leaves the window; after a refusal, until there is room.
    `epoch`: the project's; empty without a project, or when Redis did not answer.
    `counted`: False when Redis should have counted the request and did not answer.
    """

    allowed: bool
    limit: int
    remaining: int
    reset_s: int
    epoch: bytes = b""
    counted: bool = True


class _Question(NamedTuple):
    key: int | str
    project_id: int | None
    ingest: bool
    amount: int


class Window:
    """Limits per minute. Requests of ingest count toward `limit`, but are refused only by `ingest_limit`."""

    def __init__(self, limit: int, ingest_limit: int | None = None) -> None:
        self.limit = limit
        self.ingest_limit = ingest_limit or limit

    def hit(self, key: int | str, project_id: int | None = None, ingest: bool = False, amount: int = 1) -> Allowance:
        """Count a request of the key as `amount` requests, unless it is refused."""
        raise NotImplementedError

    def give_back(self, key: int | str) -> None:
        """Uncount the newest counted request of the key."""
        raise NotImplementedError

    def limit_of(self, ingest: bool) -> int:
        return self.ingest_limit if ingest else self.limit


class SharedWindow(Window):
    """Counts in Redis, for all processes. Simultaneous questions share a round trip; each is decided separately.

    Raises `redis.RedisError` or `Unavailable` while Redis does not count.
    """

    def __init__(self, client: redis.Redis, limit: int, ingest_limit: int | None = None) -> None:
        super().__init__(limit, ingest_limit)
        self._client = client
        self._script = Script(client, _ASK)
        self._ask: Coalescer[_Question, Allowance] = Coalescer(self._ask_redis)

    def hit(self, key: int | str, project_id: int | None = None, ingest: bool = False, amount: int = 1) -> Allowance:
        return self._ask(_Question(key, project_id, ingest, amount))

    def give_back(self, key: int | str) -> None:
        self._client.lpop(keys.rate(key))

    def _ask_redis(self, questions: Sequence[_Question]) -> list[Allowance]:
        logs = [keys.rate(question.key) for question in questions]
        ingest_logs = [keys.ingest_rate(question.key) if question.ingest else "" for question in questions]
        epochs = ["" if question.project_id is None else keys.epoch(question.project_id) for question in questions]
        limits = [self.limit, self.ingest_limit]
        amounts = [question.amount for question in questions]
        answers = self._script(logs + ingest_logs + epochs, [*limits, WINDOW_S, new_epoch(), EPOCH_S, *amounts])
        return [
            Allowance(
                bool(allowed), self.limit_of(question.ingest), max(0, remaining), math.ceil(reset_us / 1_000_000), epoch
            )
            for question, (allowed, remaining, reset_us, epoch) in zip(questions, answers, strict=True)
        ]


class OwnWindow(Window):
    """Counts in this process, like the script does in Redis."""

    def __init__(self, counts: OwnCounts, limit: int, ingest_limit: int | None = None) -> None:
        super().__init__(limit, ingest_limit)
        self._counts = counts

    def hit(self, key: int | str, project_id: int | None = None, ingest: bool = False, amount: int = 1) -> Allowance:
        counts, limit = self._counts, self.limit_of(ingest)
        with counts.lock:
            now = counts.monotonic()
            caller = counts.caller(key, now)
            log = caller.ingest if ingest else caller.every
            allowed = log.total + amount <= limit
            leaves = log.oldest() if allowed else log.makes_room(limit - amount)
            if allowed:
                log.add(now, amount)
                if ingest:
                    caller.every.add(now, amount)
            remaining = max(0, limit - log.total)
            epoch = b"" if project_id is None else counts.epoch(project_id, new_epoch)
        reset_s = math.ceil((now if leaves is None else leaves) + WINDOW_S - now)
        return Allowance(allowed, limit, remaining, reset_s, epoch)

    def give_back(self, key: int | str) -> None:
        with self._counts.lock:
            self._counts.caller(key, self._counts.monotonic()).every.take_back()


class RateLimiter:
    """Limits requests. While Redis can't count, all are allowed, and counted in the metrics `uncounted`."""

    def __init__(
        self, clients: RedisClients, per_minute: int, *, of_ingest: int | None = None, uncounted: Metrics
    ) -> None:
        self._uncounted = uncounted
        self._window: Window = (
            OwnWindow(clients.own, per_minute, of_ingest)
            if clients.own
            else SharedWindow(clients.quick, per_minute, of_ingest)
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
            self._uncounted.count(RATE_LIMIT_NOT_COUNTED)
            limit = self._window.limit_of(ingest)
            return Allowance(allowed=True, limit=limit, remaining=limit, reset_s=0, counted=False)


class TryLimiter:
    """Limits attempts at passwords, also while Redis is away or its clock is changed.

    An attempt must be allowed by this process, which counts the attempts that it allowed, and by Redis if it answers.
    """

    def __init__(self, client: redis.Redis, per_minute: int) -> None:
        self._shared = SharedWindow(client, per_minute)
        self._own = OwnWindow(OwnCounts(), per_minute)

    def hit(self, key: str) -> Allowance:
        """Count an attempt of the key, unless it is refused."""
        own_allowance = self._own.hit(key)
        if not own_allowance.allowed:
            return own_allowance
        try:
            allowance = self._shared.hit(key)
        except (redis.RedisError, Unavailable):
            log.warning("rate_limit_counted_in_this_process_alone")
            return replace(own_allowance, counted=False)
        if not allowance.allowed:
            self._own.give_back(key)
        return allowance

    def give_back(self, key: str, allowance: Allowance) -> None:
        """Uncount the attempt that got `allowance`; a Redis that does not answer keeps counting it."""
        self._own.give_back(key)
        if allowance.counted:
            try:
                self._shared.give_back(key)
            except redis.RedisError:
                log.warning("rate_limit_not_given_back")
