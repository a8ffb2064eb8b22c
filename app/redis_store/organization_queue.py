"""A queue of messages in Redis that gives each organization its share of a worker process.

Messages arrive in Dramatiq's list of the queue. The next fetch moves them to one list per organization, and then
fetches from these lists in turn, as many messages as the process has free threads. So thousands of messages of one
organization do not delay another organization. No message waits in the memory of a process, so that other processes can
fetch it. The organization is the prefix of a message's id in Redis; messages of older processes have no prefix and
count as organization 0.

A process with free threads waits on its own list, and records which organizations it refuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import redis
from dramatiq import Message

from app.concurrency.batching import Coalescer
from app.concurrency.quotas import Quota
from app.redis_store.keys import OF_ORGANIZATION, WAKE, QueueKeys
from app.redis_store.scripts import Script

# The wake-ups of a process that died expire after this.
WAKE_TTL_S = 60

# `wake` wakes one idle process that does not refuse `organization`. Further processes are woken by the next message,
# and by a process that leaves messages in the queue.
_SHARED = f"""
local function wake(list, idle, organization)
    local found = redis.call('HGETALL', idle)
    for at = 1, #found, 2 do
        local consumer, refused = found[at], found[at + 1]
        if not string.find(refused, ',' .. organization .. ',', 1, true) then
            redis.call('HDEL', idle, consumer)
            redis.call('LPUSH', list .. '{WAKE}' .. consumer, 1)
            redis.call('EXPIRE', list .. '{WAKE}' .. consumer, {WAKE_TTL_S})
            return
        end
    end
end
local function list_of(list, organization)
    return list .. '{OF_ORGANIZATION}' .. organization
end
local function organization_of(id)
    return string.match(id, '^(%d+):') or '0'
end
"""

# KEYS: the list, its messages, the idle processes; ARGV: each message's id and the message.
_ENQUEUE = (
    _SHARED
    + """
for at = 1, #ARGV, 2 do
    redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1])
    redis.call('RPUSH', KEYS[1], ARGV[at])
    wake(KEYS[1], KEYS[3], organization_of(ARGV[at]))
end
"""
)

# KEYS: the list, the idle processes; ARGV: ids that were requeued.
_WAKE = _SHARED + "for _, id in ipairs(ARGV) do wake(KEYS[1], KEYS[2], organization_of(id)) end"

# KEYS: the list, its messages, the messages that this process has fetched, the organizations that have messages, the
# idle processes, and the list that wakes this process; ARGV: this process, the quota's share, places and capacity, then
# each organization and how many messages of it this process holds.
_FETCH = (
    _SHARED
    + """
local MOST = 1000
local list, consumer = KEYS[1], ARGV[1]
local share, places, capacity = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local held, taken = {}, 0
for at = 5, #ARGV, 2 do
    held[ARGV[at]] = tonumber(ARGV[at + 1])
    taken = taken + held[ARGV[at]]
end

-- Move arrived messages to the lists of their organizations.
local arrived = redis.call('LRANGE', list, 0, MOST - 1)
if #arrived > 0 then
    local order, of = {}, {}
    for _, id in ipairs(arrived) do
        local organization = organization_of(id)
        if not of[organization] then
            of[organization] = {}
            table.insert(order, organization)
        end
        table.insert(of[organization], id)
    end
    for _, organization in ipairs(order) do
        local ids = of[organization]
        if redis.call('RPUSH', list_of(list, organization), unpack(ids)) == #ids then
            redis.call('RPUSH', KEYS[4], organization)
        end
    end
    redis.call('LTRIM', list, #arrived, -1)
end

-- Look at the organizations that have waited longest, and at more than this process can serve.
local organizations = redis.call('LRANGE', KEYS[4], 0, MOST + (#ARGV - 4) / 2 - 1)
redis.call('LTRIM', KEYS[4], #organizations, -1)
local waiting, given, count, by_held, most_held = {}, {}, 0, {}, 0
local function line_up(organization)
    local number = held[organization]
    by_held[number] = by_held[number] or {}
    table.insert(by_held[number], organization)
    most_held = math.max(most_held, number)
end
for _, organization in ipairs(organizations) do
    waiting[organization] = redis.call('LLEN', list_of(list, organization))
    held[organization] = held[organization] or 0
    line_up(organization)
end

-- Choose as many messages of each organization as it may have threads, first from those with the fewest.
local function admits(number)
    if number < share then return number < capacity - taken end
    return taken < places
end
local number = 0
while number <= most_held do
    for _, organization in ipairs(by_held[number] or {}) do
        if count == MOST or not admits(number) then break end
        if waiting[organization] > 0 then
            waiting[organization] = waiting[organization] - 1
            held[organization] = number + 1
            given[organization] = (given[organization] or 0) + 1
            taken, count = taken + 1, count + 1
            line_up(organization)
        end
    end
    number = number + 1
end

-- Move the organizations that were served to the end of the list.
local messages, left, behind = {}, {}, {}
for _, organization in ipairs(organizations) do
    if given[organization] then
        local ids = redis.call('LPOP', list_of(list, organization), given[organization])
        redis.call('SADD', KEYS[3], unpack(ids))
        for _, message in ipairs(redis.call('HMGET', KEYS[2], unpack(ids))) do
            table.insert(messages, message)
        end
    end
    if waiting[organization] > 0 then
        table.insert(given[organization] and behind or left, organization)
    end
end
for at = #left, 1, -1 do redis.call('LPUSH', KEYS[4], left[at]) end
for _, organization in ipairs(behind) do
    redis.call('RPUSH', KEYS[4], organization)
    table.insert(left, organization)
end
redis.call('DEL', KEYS[6])
redis.call('HDEL', KEYS[5], consumer)
for _, organization in ipairs(left) do
    if redis.call('HLEN', KEYS[5]) == 0 then break end
    wake(list, KEYS[5], organization)
end

-- Record that this process has free threads, and the organizations that it refuses.
local refused = ','
for organization, number in pairs(held) do
    if not admits(number) then
        refused = refused .. organization .. ','
    end
end
if taken < capacity then
    redis.call('HSET', KEYS[5], consumer, refused)
end
local is_more = count == MOST or redis.call('EXISTS', list) == 1
return {messages, is_more and 1 or 0, taken < capacity and #left or 0}
"""
)

# KEYS: the messages that this process has fetched, all messages, and the list that wakes this process; ARGV: whether to
# wake it, then the ids. Dramatiq's script accepts only one id.
_ACK = f"""
for at = 2, #ARGV do
    if redis.call('SREM', KEYS[1], ARGV[at]) > 0 then redis.call('HDEL', KEYS[2], ARGV[at]) end
end
if ARGV[1] == '1' then
    redis.call('LPUSH', KEYS[3], 1)
    redis.call('EXPIRE', KEYS[3], {WAKE_TTL_S})
end
"""


def lists_of(client: redis.Redis, keys: QueueKeys) -> list[str]:
    """Return the names of the lists in which messages of a queue wait."""
    organizations: list[bytes] = client.lrange(keys.organizations, 0, -1)  # type: ignore[assignment]
    return [keys.arrived, *(keys.of_organization(organization.decode()) for organization in organizations)]


class Fetched(NamedTuple):
    """`more`: there may be further messages. `deferred`: the number of organizations that must wait for their share."""

    messages: list[Message[object]]
    more: bool
    deferred: int


class OrganizationQueue:
    """One of Dramatiq's queues, for the process `consumer`."""

    def __init__(self, client: redis.Redis, *, queue: str, consumer: str) -> None:
        self._client = client
        # Without the guard of `GuardedRedis`: a wait that Redis ends late is not an outage.
        self._waiting = redis.Redis(connection_pool=client.connection_pool)
        self._consumer, self._keys = consumer, QueueKeys(queue)
        self._enqueue, self._wake = Script(client, _ENQUEUE), Script(client, _WAKE)
        self._fetch, self._ack = Script(client, _FETCH), Script(client, _ACK)
        self._put: Coalescer[tuple[str, bytes], None] = Coalescer(self._put_all)

    def put(self, message_id: str, data: bytes) -> None:
        """Enqueue a message, in one round trip with the messages that other threads enqueue at the same time.

        Raises `Unavailable` when it can't be sent in time, or `redis.RedisError`.
        """
        self._put((message_id, data))

    def _put_all(self, messages: Sequence[tuple[str, bytes]]) -> list[None]:
        keys = self._keys
        self._enqueue([keys.arrived, keys.messages, keys.idle], list(chain.from_iterable(messages)))
        return [None] * len(messages)

    def fetch(self, quota: Quota, held: Mapping[int, int]) -> Fetched:
        """Return the messages that `quota` admits. `held` is {organization: number of messages in work here}."""
        keys = self._keys
        messages, more, deferred = self._fetch(
            [
                keys.arrived,
                keys.messages,
                keys.fetched(self._consumer),
                keys.organizations,
                keys.idle,
                keys.wake(self._consumer),
            ],
            [self._consumer, quota.share, quota.places, quota.capacity, *(n for pair in held.items() for n in pair)],
        )
        # Redis may have lost a message's body (by FLUSHALL) and have its id again.
        return Fetched([Message.decode(data) for data in messages if data is not None], bool(more), deferred)

    def wait(self, timeout_s: int) -> bool:
        """Wait until there may be messages to fetch; return False when the time is over.

        Redis ends a wait by its wall clock, which may be put back meanwhile. Then the socket's time-out ends the wait,
        and the next fetch shows whether Redis answers.
        """
        try:
            return self._waiting.blpop([self._keys.wake(self._consumer)], timeout_s) is not None
        except redis.TimeoutError:
            return True

    def ack(self, message_ids: Sequence[str], *, wake: bool) -> None:
        """Delete messages that are done; `wake` this process if it may now have a thread for refused messages."""
        keys = self._keys
        self._ack([keys.fetched(self._consumer), keys.messages, keys.wake(self._consumer)], [int(wake), *message_ids])

    def wake_for(self, message_ids: Iterable[str]) -> None:
        """Wake idle processes for requeued messages."""
        self._wake([self._keys.arrived, self._keys.idle], list(message_ids))

    def leave(self) -> None:
        """Remove this process from the idle ones, so that messages wake other processes."""
        self._client.hdel(self._keys.idle, self._consumer)
