"""The moving window of requests that all processes share in Redis, queried in one round trip.

The same round trip returns the epoch of the key's project (see `app/redis_store/epochs.py`), and gives leases to keys
with many requests (see `app/redis_store/leases.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import redis

from app.concurrency.batching import QUESTIONS_PER_ROUND, Coalescer
from app.redis_store import keys
from app.redis_store.epochs import EPOCH_S, new_epoch
from app.redis_store.local_counts import WINDOW_S
from app.redis_store.scripts import Script

LOST_S = 2
"""A lease that was not settled for so long is counted as used, because its process may have died."""

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
# A lease gives a process permits for several requests (a *lot*), which count as used when the lease begins. When the
# process settles the lease, the used permits are counted at that time, and the others are free again. A lease that is
# not settled within `LOST_S`, because its process died or was stopped, is counted as used. A lot has at most a
# twentieth of what is left of the limit, and no lots are given in the last tenth, so that the headers of a caller near
# its limit are exact.
#
# KEYS: the log of each question, then its log of ingest or "", then its project's epoch or "", then its leases or "".
# ARGV: the limits of the two logs, the window in seconds, an epoch for projects without one, its seconds, after how
# many seconds a lease is lost, and for each question its amount, the wanted lot with the id of its lease, and the id of
# the lease that it settles with the number of used permits.
_ASK = """
local window, lost = tonumber(ARGV[3]) * 1000000, tonumber(ARGV[6]) * 1000000
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local answers, count = {}, #KEYS / 4
-- The entry at an index of a log, nil if there is none.
local function entry(log, index)
    local found = redis.call('LINDEX', log, index)
    if not found then return nil end
    local time, amount, sum = string.match(found, '^(%d+) (%d+) (%d+)$')
    return {time = tonumber(time), amount = tonumber(amount), sum = tonumber(sum)}
end
-- The index of the first entry that matches, the newest first: all entries after it match, too.
local function first_index(log, matches)
    local low, high, step = 0, redis.call('LLEN', log) - 1, 1
    while step <= high do
        if not matches(entry(log, high - step)) then
            low = high - step + 1
            break
        end
        high, step = high - step, 2 * step
    end
    while low < high do
        local middle = math.floor((low + high) / 2)
        if matches(entry(log, middle)) then high = middle else low = middle + 1 end
    end
    return low
end
local function has_expired(item) return item.time <= now - window or item.time > now + window end
-- Removes the expired entries of a log; returns the newest and the oldest of the others.
local function newest_and_oldest(log)
    local oldest = entry(log, -1)
    if oldest and has_expired(oldest) then
        local left = first_index(log, has_expired)
        if left == 0 then redis.call('DEL', log) else redis.call('LTRIM', log, 0, left - 1) end
        oldest = entry(log, -1)
    end
    return entry(log, 0), oldest
end
-- Adds an entry to a log, of which `newest` is the newest entry.
local function add(log, newest, amount)
    local time, sum = now, amount
    if newest then time, sum = math.max(now, newest.time), newest.sum + amount end
    redis.call('LPUSH', log, string.format('%.0f %.0f %.0f', time, amount, sum))
    redis.call('EXPIRE', log, ARGV[3])
end
-- The permits of the leases of a log. A lost lease is removed, and counted as used.
local function reserved_by(leases, log)
    local sum, stored = 0, redis.call('HGETALL', leases)
    for at = 1, #stored, 2 do
        local time, lot = string.match(stored[at + 1], '^(%d+) (%d+)$')
        if math.abs(now - tonumber(time)) > lost then
            redis.call('HDEL', leases, stored[at])
            add(log, newest_and_oldest(log), tonumber(lot))
        else
            sum = sum + tonumber(lot)
        end
    end
    return sum
end
for index = 1, count do
    local all, ingest, leases = KEYS[index], KEYS[count + index], KEYS[3 * count + index]
    local asked = 6 + 5 * (index - 1)
    local amount, lot, settled = tonumber(ARGV[asked + 1]), tonumber(ARGV[asked + 2]), ARGV[asked + 4]
    local log, limit, reserved = all, tonumber(ARGV[1]), 0
    if ingest ~= '' then log, limit = ingest, tonumber(ARGV[2]) end
    if leases ~= '' then
        if settled ~= '' and redis.call('HDEL', leases, settled) == 1 then
            local used = tonumber(ARGV[asked + 5])
            if used > 0 then add(log, newest_and_oldest(log), used) end
        end
        reserved = reserved_by(leases, log)
    end
    local newest, leaving = newest_and_oldest(log)
    local counted = (newest and newest.sum - leaving.sum + leaving.amount or 0) + reserved
    local allowed = counted + amount <= limit and 1 or 0
    local room = limit - counted
    lot = room * 10 > limit and math.min(lot, math.floor(room / 20)) or 0
    if lot < 2 then lot = 0 end
    if allowed == 1 and lot > 0 then
        counted = counted + lot
        redis.call('HSET', leases, ARGV[asked + 3], string.format('%.0f %.0f', now, lot))
        redis.call('EXPIRE', leases, ARGV[3])
    elseif allowed == 1 then
        counted = counted + amount
        if amount > 0 then
            add(log, newest, amount)
            if ingest ~= '' then add(all, newest_and_oldest(all), amount) end
        end
    elseif newest then
        local most = limit - amount - reserved
        leaving = entry(log, first_index(log, function(item) return newest.sum - item.sum + item.amount > most end))
    end
    local project, epoch = KEYS[2 * count + index], ''
    if project ~= '' then
        epoch = redis.call('GET', project)
        if not epoch then
            epoch = ARGV[4]
            redis.call('SET', project, epoch, 'EX', ARGV[5])
        end
    end
    answers[index] = {allowed, limit - counted, (leaving and leaving.time or now) + window - now, epoch, lot}
end
return answers
"""


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether a request is allowed, with the values of the rate limit's headers.

    `reset_s` are the seconds until the oldest counted request leaves the window; after a refusal, until there is room.
    `epoch` is the epoch of the project; it is empty without a project, or if Redis did not answer. `counted` is False
    if Redis should have counted the request and did not answer.
    """

    allowed: bool
    limit: int
    remaining: int
    reset_s: int
    epoch: bytes = b""
    counted: bool = True


class Question(NamedTuple):
    """A request of a key, which counts as `amount` requests.

    `lot` is the number of permits that are wanted for a lease with the id `lease`, 0 for no lease. `settled` is the id
    of an earlier lease that ends now, "" for none, and `used` is the number of its permits that were used.
    """

    key: int | str
    project_id: int | None
    ingest: bool = False
    amount: int = 1
    lot: int = 0
    lease: str = ""
    settled: str = ""
    used: int = 0


class Window:
    """A rate limit: at most `limit` requests of a key in the last minute.

    Requests of ingest count towards `limit`, but are refused only beyond `ingest_limit`, which is `limit` by default.
    """

    def __init__(self, limit: int, ingest_limit: int | None = None) -> None:
        self.limit = limit
        self.ingest_limit = ingest_limit or limit

    def hit(self, key: int | str, project_id: int | None = None, ingest: bool = False, amount: int = 1) -> Allowance:
        """Count a request of the key as `amount` requests, unless it is refused.

        `project_id` is the project with the epoch to return, None for none.
        """
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
        self._ask: Coalescer[Question, tuple[Allowance, int]] = Coalescer(self._ask_redis)

    def hit(self, key: int | str, project_id: int | None = None, ingest: bool = False, amount: int = 1) -> Allowance:
        return self.ask(Question(key, project_id, ingest, amount))[0]

    def ask(self, question: Question) -> tuple[Allowance, int]:
        """Return the answer, and the number of permits of the question's lease, 0 without one."""
        return self._ask(question)

    def ask_all(self, questions: Sequence[Question]) -> list[tuple[Allowance, int]]:
        """Return the answers to questions that no request waits for."""
        return [
            answer
            for start in range(0, len(questions), QUESTIONS_PER_ROUND)
            for answer in self._ask_redis(questions[start : start + QUESTIONS_PER_ROUND])
        ]

    def give_back(self, key: int | str) -> None:
        self._client.lpop(keys.rate(key))

    def _ask_redis(self, questions: Sequence[Question]) -> list[tuple[Allowance, int]]:
        logs = [keys.rate(question.key) for question in questions]
        ingest_logs = [keys.ingest_rate(question.key) if question.ingest else "" for question in questions]
        epochs = ["" if question.project_id is None else keys.epoch(question.project_id) for question in questions]
        leases = ["" if question.ingest else keys.leases(question.key) for question in questions]
        common = [self.limit, self.ingest_limit, WINDOW_S, new_epoch(), EPOCH_S, LOST_S]
        asked = [value for question in questions for value in question[3:]]
        answers = self._script(logs + ingest_logs + epochs + leases, common + asked)
        return [
            (
                Allowance(
                    bool(allowed),
                    self.limit_of(question.ingest),
                    max(0, remaining),
                    math.ceil(reset_us / 1_000_000),
                    epoch,
                ),
                lot,
            )
            for question, (allowed, remaining, reset_us, epoch, lot) in zip(questions, answers, strict=True)
        ]
