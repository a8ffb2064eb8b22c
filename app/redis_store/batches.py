"""The claim check of trace batches: the body waits in Redis, the message carries its key.

Redis never has the only copy of an acknowledged batch: a batch is acknowledged after its commit, and an exporter sends
it again until then. Redis also knows which batches are in work, so that a repeated body joins the one in work. And it
keeps notes of the spans that were stored recently, so that a repeated body is not decoded again.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any

import redis

from app.concurrency.quotas import Quota
from app.errors import Unavailable
from app.redis_store import keys
from app.redis_store.scripts import Script

BODY_S = 60
# Exporters retry within seconds.
STORED_S = 120
# A process counts as busy with batches for this long after its last one.
BUSY_S = 0.5
# A sorted set has the tickets of all batches that are kept, by the time at which they expire. A ticket begins with an
# organization and a size. So no counter is needed, which would be wrong after a process has died.

# KEYS: the batch's message, the tickets; ARGV: the message, whether to join, the ticket, seconds, then places, share
# and capacity of batches and of bytes. Returns the message that stores the batch, or "" when there is no room. It uses
# Redis' clock, which all processes share.
_CLAIM = """
local holder = redis.call('GET', KEYS[1])
if holder and ARGV[2] == '1' then return holder end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
local organization, size = string.match(ARGV[3], '^(%d+):(%d+):')
local tickets = redis.call('ZRANGE', KEYS[2], 0, -1)
local bytes, own, own_bytes = 0, 0, 0
for _, ticket in ipairs(tickets) do
    local owner, of_size = string.match(ticket, '^(%d+):(%d+):')
    bytes = bytes + of_size
    if owner == organization then own, own_bytes = own + 1, own_bytes + of_size end
end
-- The same as `Quota.admits`; `at` is the index of the quota's first number.
local function admits(at, all, held, more)
    local places, share, capacity = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    if held + more <= share then return held + more <= capacity - all end
    return all + more <= places
end
-- When nothing waits, a batch of any size is admitted.
local room = admits(5, #tickets, own, 1) and (#tickets == 0 or admits(8, bytes, own_bytes, tonumber(size)))
if not room then return '' end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[4])
redis.call('ZADD', KEYS[2], now + ARGV[4] * 1000, ARGV[3])
redis.call('EXPIRE', KEYS[2], ARGV[4])
return ARGV[1]
"""


@dataclass(frozen=True, slots=True)
class BatchClaim:
    """`message_id` is the message that stores the batch; `joined` is True when another request has sent the message."""

    message_id: str
    joined: bool


class LocalBodies:
    """Keeps bodies in this process, each for as long as Redis would; `monotonic` returns seconds."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, bytes]] = {}

    def put(self, ticket: str, body: bytes) -> None:
        """Keep a body for `BODY_S` seconds under its ticket."""
        now = self._monotonic()
        with self._lock:
            self._forget_until(now)
            self._kept[ticket] = now + BODY_S, body

    def get(self, ticket: str) -> bytes | None:
        """Return the body; None if it has expired or was deleted."""
        with self._lock:
            self._forget_until(self._monotonic())
            return self._kept[ticket][1] if ticket in self._kept else None

    def delete(self, ticket: str) -> None:
        with self._lock:
            self._kept.pop(ticket, None)

    def _forget_until(self, now: float) -> None:
        """Remove expired bodies."""
        for ticket in [ticket for ticket, (until, _) in self._kept.items() if until <= now]:
            del self._kept[ticket]


class Mailbox:
    """Keeps batches, within one quota of their number and one of their bytes.

    `bodies` keeps the bodies where Redis is in this process, because storing a body in it copies the body several
    times. `monotonic` returns seconds.
    """

    def __init__(
        self,
        client: redis.Redis,
        *,
        batches: Quota,
        size: Quota,
        bodies: LocalBodies | None = None,
        on_refused: Callable[[], None] = lambda: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._claim = Script(client, _CLAIM)
        self._quotas = (*astuple(batches), *astuple(size))
        self._bodies = bodies
        self._on_refused = on_refused
        self._monotonic = monotonic
        self._used_at = -math.inf

    def is_busy(self) -> bool:
        """Return whether this process accepted or stored a batch within the last half second, or any batch waits."""
        if self._monotonic() - self._used_at < BUSY_S:
            return True
        try:
            return bool(self._client.exists(keys.BATCH_TICKETS))
        except redis.RedisError:
            return False

    def note_use(self) -> None:
        """Note that this process has a batch in work."""
        self._used_at = self._monotonic()

    @staticmethod
    def ticket(organization_id: int, body: bytes) -> str:
        """Make a ticket for a body of the organization."""
        return f"{organization_id}:{len(body)}:{uuid.uuid4().hex}"

    @staticmethod
    def key_of(project_id: int, form: str, body: bytes) -> str:
        """Return the key of a batch. The same body of the same project, sent in the same form, has the same key."""
        return f"{project_id}:{form}:{hashlib.sha256(body).hexdigest()}"

    def put(self, key: str, ticket: str, body: bytes, message_id: str, *, join: bool = True) -> BatchClaim:
        """Keep a batch under `ticket` for the message `message_id`; with `join`, unless another message stores it.

        Each message has its own ticket, so that two messages for one batch do not delete each other's body.

        Raises `Unavailable` when too much waits already, of all organizations or of the ticket's.
        """
        self.note_use()
        claimed: bytes = self._claim(
            [keys.batch_message(key), keys.BATCH_TICKETS], [message_id, int(join), ticket, BODY_S, *self._quotas]
        )
        if not claimed:
            self._on_refused()
            raise Unavailable("Too many batches, or too many bytes of them, wait to be stored; send this one again.")
        if claimed.decode() != message_id:
            return BatchClaim(claimed.decode(), joined=True)
        if self._bodies is None:
            self._client.set(keys.batch_body(ticket), body, ex=BODY_S)
        else:
            self._bodies.put(ticket, body)
        return BatchClaim(message_id, joined=False)

    def read(self, key: str, ticket: str) -> tuple[bytes | None, bytes]:
        """Return the body of `ticket`, and the note of the same body if it was stored lately.

        The body is None when it has expired, or Redis has lost it. The note is b"" when there is none; it is a hint,
        which the caller checks against the database.
        """
        if self._bodies is not None:
            note: Any = self._client.get(keys.batch_stored(key))
            return self._bodies.get(ticket), note or b""
        values: Any = self._client.mget(keys.batch_body(ticket), keys.batch_stored(key))
        return values[0], values[1] or b""

    def done(self, key: str, ticket: str, *, note: bytes = b"") -> None:
        """Delete the batch; keep the note for when the same batch is sent again."""
        self.note_use()
        if self._bodies is not None:
            self._bodies.delete(ticket)
        with self._client.pipeline(transaction=False) as pipe:
            pipe.delete(keys.batch_body(ticket), keys.batch_message(key))
            pipe.zrem(keys.BATCH_TICKETS, ticket)
            if note:
                pipe.set(keys.batch_stored(key), note, ex=STORED_S)
            pipe.execute()
