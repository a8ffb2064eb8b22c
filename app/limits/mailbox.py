"""The claim check of trace batches: the body waits in Redis, the message carries its key.

Redis is never the only copy of what was acknowledged: a batch is acknowledged after its commit, and an exporter
sends it again until then. Here it is also known which batches are in work, so that the same body sent again joins
the one in work, and which spans were in those that were stored lately, so that the same body need not be read again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import redis

from app.errors import Unavailable

BODY_S = 60
# Exporters send again within seconds.
STORED_S = 120
QUEUE_KEY = "dramatiq:spans"


@dataclass(frozen=True, slots=True)
class Claim:
    """`message_id` is the message that stores the batch; `joined` when another request has sent it."""

    message_id: str
    joined: bool


class Mailbox:
    def __init__(self, client: redis.Redis, *, backlog: int) -> None:
        self._client = client
        self._backlog = backlog

    @staticmethod
    def key_of(project_id: int, encoding: str, body: bytes) -> str:
        """The same for the same body of the same project."""
        return f"{project_id}:{encoding or 'identity'}:{hashlib.sha256(body).hexdigest()}"

    def put(self, key: str, ticket: str, body: bytes, message_id: str, *, join: bool = True) -> Claim:
        """Leave a batch under `ticket` for the message `message_id`, unless another is storing it and `join` is true.

        The ticket is the message's own: whoever is done with the same batch first takes nothing from the other.

        Raises `Unavailable` when too many batches are waiting already.
        """
        with self._client.pipeline(transaction=False) as pipe:
            pipe.llen(QUEUE_KEY)
            pipe.set(_message(key), message_id, ex=BODY_S, nx=join)
            pipe.get(_message(key))
            waiting, _, holder = pipe.execute()
        holder = (holder or message_id.encode()).decode()
        if holder != message_id:
            return Claim(holder, joined=True)
        if waiting >= self._backlog:
            self._client.delete(_message(key))
            raise Unavailable("Too many batches are waiting to be stored; send this one again.")
        self._client.set(_body(ticket), body, ex=BODY_S)
        return Claim(message_id, joined=False)

    def body(self, ticket: str) -> bytes | None:
        """What was left under `ticket`; None when it is too old, or Redis has lost it."""
        return self._client.get(_body(ticket))  # type: ignore[return-value]

    def stored_before(self, key: str) -> bytes:
        """The note of the same body, if it was stored lately: a hint that the caller has to check with the database."""
        return self._client.get(_stored(key)) or b""  # type: ignore[return-value]

    def done(self, key: str, ticket: str, *, note: bytes = b"") -> None:
        """Forget the batch; leave the note for those who send it again."""
        with self._client.pipeline(transaction=False) as pipe:
            pipe.delete(_body(ticket), _message(key))
            if note:
                pipe.set(_stored(key), note, ex=STORED_S)
            pipe.execute()


def _body(ticket: str) -> str:
    return f"batch:{ticket}:body"


def _message(key: str) -> str:
    return f"batch:{key}:message"


def _stored(key: str) -> str:
    return f"batch:{key}:stored"
