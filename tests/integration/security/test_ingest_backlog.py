"""No organization fills the backlog of batches, by their number or their bytes, and what is left is forgotten."""

from __future__ import annotations

import secrets
from dataclasses import replace

import pytest
import redis

from app.concurrency.quotas import Quota
from app.errors import Unavailable
from app.redis_store.batches import BODY_S, Mailbox
from app.redis_store.keys import BATCH_TICKETS
from app.wiring.container import Container
from tests.support.exports import export, span
from tests.support.world import World, new_world

GREEDY, OTHER, THIRD = 1, 2, 3
MANY = Quota.of(1_000_000, 25)


@pytest.fixture
def client(container: Container) -> redis.Redis:
    container.redis.commands.delete(BATCH_TICKETS)
    return container.redis.commands


def put(mailbox: Mailbox, organization_id: int, size: int = 2) -> tuple[str, str]:
    """The key and the ticket of a new batch."""
    key, body = f"{organization_id}::{secrets.token_hex(8)}", b"x" * size
    ticket = mailbox.ticket(organization_id, body)
    mailbox.put(key, ticket, body, secrets.token_hex(8))
    return key, ticket


def fill(mailbox: Mailbox, organization_id: int, size: int = 2) -> list[tuple[str, str]]:
    """As many batches as the organization may leave."""
    left: list[tuple[str, str]] = []
    while len(left) < 1000:
        try:
            left.append(put(mailbox, organization_id, size))
        except Unavailable:
            return left
    pytest.fail("there is no end")


def test_an_organization_that_floods_ingest_leaves_others_a_share_of_its_batches(client: redis.Redis) -> None:
    refused: list[None] = []
    mailbox = Mailbox(client, batches=Quota.of(8, 25), size=MANY, on_refused=lambda: refused.append(None))

    assert len(fill(mailbox, GREEDY)) == 8
    assert len(fill(mailbox, OTHER)) == 1
    assert len(fill(mailbox, THIRD)) == 1
    assert len(refused) == 3


def test_big_batches_of_one_organization_fill_no_more_of_redis_than_their_share(client: redis.Redis) -> None:
    mailbox = Mailbox(client, batches=MANY, size=Quota.within(10_000, 25))

    assert len(fill(mailbox, GREEDY, size=1000)) == 8
    assert len(fill(mailbox, OTHER, size=500)) == 2
    assert len(fill(mailbox, THIRD, size=250)) == 2
    bodies = [client.strlen(f"batch:{ticket.decode()}:body") for ticket in client.zrange(BATCH_TICKETS, 0, -1)]
    assert sum(bodies) == 9500


def test_a_batch_that_is_stored_leaves_its_place(client: redis.Redis) -> None:
    mailbox = Mailbox(client, batches=Quota.of(2, 25), size=Quota.within(10, 25))
    for key, ticket in fill(mailbox, GREEDY):
        mailbox.done(key, ticket)

    assert len(fill(mailbox, GREEDY)) == 2


def test_what_a_process_that_died_left_is_counted_no_longer_than_redis_keeps_it(client: redis.Redis) -> None:
    mailbox = Mailbox(client, batches=Quota.of(2, 25), size=MANY)
    for _, ticket in fill(mailbox, GREEDY):
        assert 0 < client.ttl(f"batch:{ticket}:body") <= BODY_S
        client.zincrby(BATCH_TICKETS, -1000 * BODY_S, ticket)  # as if its time were over

    assert len(fill(mailbox, GREEDY)) == 2


def test_where_nothing_waits_a_batch_may_be_of_any_size(client: redis.Redis) -> None:
    mailbox = Mailbox(client, batches=MANY, size=Quota.within(10, 25))

    put(mailbox, GREEDY, size=1000)
    with pytest.raises(Unavailable):
        put(mailbox, OTHER, size=1)


def test_a_batch_that_is_sent_again_while_it_waits_needs_no_further_place(client: redis.Redis) -> None:
    mailbox = Mailbox(client, batches=Quota.of(1, 25), size=MANY)
    mailbox.put("1::x", mailbox.ticket(GREEDY, b"{}"), b"{}", "first")

    assert mailbox.put("1::x", mailbox.ticket(GREEDY, b"{}"), b"{}", "second").joined
    with pytest.raises(Unavailable):
        mailbox.put("1::x", mailbox.ticket(GREEDY, b"{}"), b"{}", "second", join=False)


def test_a_full_backlog_is_503_only_for_its_organization(container: Container, client: redis.Redis) -> None:
    greedy = new_world(container)
    other = replace(new_world(container), client=greedy.client)
    quota = Quota.of(container.settings.ingest_backlog, container.settings.organization_share)
    fill(Mailbox(client, batches=quota, size=MANY), greedy.organization_id)
    try:
        refused, stored = _send(greedy), _send(other)
    finally:
        client.delete(BATCH_TICKETS)

    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
    assert "wait to be stored" in refused.json["message"]
    assert stored.status_code == 200


def _send(world: World):  # type: ignore[no-untyped-def]
    return world.send(export(span({"service.prompt.id": world.prompt()}, traceId=secrets.token_hex(16))))
