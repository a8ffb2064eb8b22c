"""Waits for Redis end at the deadline, or after the client's time-out, also where Redis answers byte by byte."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import redis

from app.concurrency.deadline import within
from app.redis_store.bounded import LONG_COMMAND_BYTES, CutShort
from app.redis_store.clients import COMMAND_S, RedisClients, connect
from tests.support.redis_server import RedisServer
from tests.support.still_server import Behaviour, StillServer

pytestmark = pytest.mark.services
SOON_S = 0.3
LONG = b"x" * 32 * 1024 * 1024


@pytest.fixture
def in_front(redis_server: RedisServer) -> Iterator[StillServer]:
    with StillServer(redis_server.port) as server:
        yield server


@pytest.fixture
def clients(in_front: StillServer) -> Iterator[RedisClients]:
    clients = connect(f"redis://127.0.0.1:{in_front.port}/0", waiters=1, longest_wait_s=60)
    yield clients
    clients.close()


@pytest.mark.parametrize("is_warm", [True, False])
@pytest.mark.parametrize("behaviour", ["silent", "dripping"])
def test_a_command_is_waited_for_until_the_deadline(
    clients: RedisClients, in_front: StillServer, behaviour: Behaviour, is_warm: bool
) -> None:
    if is_warm:
        clients.waiting.ping()
    began = time.monotonic()
    with in_front.stands_still(behaviour), within(SOON_S), pytest.raises(CutShort):
        clients.waiting.blpop("nothing", 30)
    assert time.monotonic() - began < COMMAND_S
    assert clients.waiting.ping()


def test_a_time_out_counts_from_the_command_and_not_from_the_last_byte(
    clients: RedisClients, in_front: StillServer
) -> None:
    clients.quick.set("key", "a value of more bytes than seconds", ex=60)
    with in_front.stands_still("dripping"), pytest.raises(redis.TimeoutError):
        clients.quick.get("key")


def test_a_wait_that_a_deadline_made_short_shows_no_outage(clients: RedisClients, in_front: StillServer) -> None:
    with in_front.stands_still("silent"), within(SOON_S), pytest.raises(CutShort):
        clients.commands.get("key")
    assert clients.commands.ping()


def test_a_long_command_that_redis_does_not_read_is_given_up_at_the_deadline(
    clients: RedisClients, redis_server: RedisServer
) -> None:
    assert len(LONG) > LONG_COMMAND_BYTES
    clients.waiting.ping()
    began = time.monotonic()
    redis_server.pause()
    try:
        with within(SOON_S), pytest.raises(redis.RedisError):
            clients.waiting.set("key", LONG, ex=60)
    finally:
        redis_server.resume()
    assert time.monotonic() - began < COMMAND_S


def test_after_the_deadline_no_command_is_sent(clients: RedisClients) -> None:
    clients.commands.set("counted", 1, ex=60)
    with within(0, grace_s=0), pytest.raises(redis.RedisError):
        clients.commands.incr("counted")
    assert clients.commands.get("counted") == b"1"
