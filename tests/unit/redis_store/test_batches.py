"""Where bodies wait for a worker: in Redis, or in the process where that is the worker's, too."""

import fakeredis
import pytest

from app.concurrency.quotas import Quota
from app.redis_store.batches import BODY_S, LocalBodies, Mailbox

BODY = b"a batch of spans"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def mailbox(client: fakeredis.FakeRedis, bodies: LocalBodies | None) -> Mailbox:
    return Mailbox(client, batches=Quota.of(10, 25), size=Quota.of(1000, 25), bodies=bodies)


@pytest.mark.parametrize("own", [True, False])
def test_a_body_waits_until_its_batch_is_done(own: bool) -> None:
    client = fakeredis.FakeRedis(version=(7,))
    box = mailbox(client, LocalBodies() if own else None)
    key, ticket = box.key_of(1, "identity", BODY), box.ticket(1, BODY)

    assert not box.put(key, ticket, BODY, "message").joined
    values = [client.get(name) for name in client.scan_iter() if client.type(name) == b"string"]
    assert (BODY in values) is not own
    assert box.read(key, ticket) == (BODY, b"")
    box.done(key, ticket, note=b"note")
    assert box.read(key, ticket) == (None, b"note")


def test_bodies_of_the_process_are_forgotten_as_redis_forgets_them() -> None:
    clock = Clock()
    bodies = LocalBodies(clock)
    bodies.put("early", BODY)
    clock.now = 1.0
    bodies.put("late", BODY)
    assert (bodies.get("early"), bodies.get("late")) == (BODY, BODY)
    clock.now = BODY_S
    assert (bodies.get("early"), bodies.get("late")) == (None, BODY)
    clock.now = BODY_S + 1.0
    assert bodies.get("late") is None
