"""The limit of tries, which Redis and this process count."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import fakeredis
import pytest
import redis

from app.redis_store.local_counts import WINDOW_S
from app.redis_store.rate import AttemptLimiter

LOG = "requests:a"


@pytest.fixture
def server() -> fakeredis.FakeServer:
    return fakeredis.FakeServer()


@pytest.fixture
def client(server: fakeredis.FakeServer) -> Iterator[redis.Redis]:
    with fakeredis.FakeRedis(server=server, version=(7,)) as client:
        yield client


def tries(limiter: AttemptLimiter, count: int) -> list[bool]:
    return [limiter.hit("a").allowed for _ in range(count)]


def test_the_processes_share_a_limit(client: redis.Redis) -> None:
    first, second = AttemptLimiter(client, 3), AttemptLimiter(client, 3)

    assert tries(first, 2) == [True, True]
    assert tries(second, 2) == [True, False]
    refused = first.hit("a")
    assert (refused.allowed, refused.limit, refused.remaining) == (False, 3, 0)
    assert 0 < refused.reset_s <= WINDOW_S


def test_what_redis_refuses_uses_up_no_try_of_the_process(client: redis.Redis) -> None:
    first, second = AttemptLimiter(client, 1), AttemptLimiter(client, 1)
    allowance = first.hit("a")
    tries(second, 5)

    first.give_back("a", allowance)

    assert tries(second, 2) == [True, False]


def test_a_try_that_is_given_back_makes_room_for_another(client: redis.Redis) -> None:
    limiter = AttemptLimiter(client, 1)

    limiter.give_back("a", limiter.hit("a"))

    assert tries(limiter, 2) == [True, False]


def test_without_redis_the_process_counts(server: fakeredis.FakeServer, client: redis.Redis) -> None:
    limiter = AttemptLimiter(client, 3)
    server.connected = False

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: limiter.hit("a"), range(20)))
    allowed = [answer for answer in answers if answer.allowed]
    assert len(allowed) == 3
    limiter.give_back("a", allowed[0])
    assert tries(limiter, 2) == [True, False]


def test_a_redis_that_comes_and_goes_allows_nothing_twice(server: fakeredis.FakeServer, client: redis.Redis) -> None:
    limiter = AttemptLimiter(client, 5)

    allowed = tries(limiter, 2)
    server.connected = False
    allowed += tries(limiter, 2)
    server.connected = True
    allowed += tries(limiter, 3)

    assert allowed == [True] * 5 + [False] * 2


def test_a_redis_that_lost_its_counts_allows_nothing_twice(client: redis.Redis) -> None:
    limiter = AttemptLimiter(client, 2)
    tries(limiter, 2)
    client.flushall()

    assert tries(limiter, 2) == [False, False]


def test_a_try_that_redis_did_not_count_reduces_no_count(server: fakeredis.FakeServer, client: redis.Redis) -> None:
    limiter = AttemptLimiter(client, 5)
    tries(limiter, 2)
    server.connected = False
    uncounted = limiter.hit("a")
    server.connected = True

    limiter.give_back("a", uncounted)

    assert client.llen(LOG) == 2


def test_a_try_stays_counted_when_redis_cannot_remove_it(server: fakeredis.FakeServer, client: redis.Redis) -> None:
    limiter = AttemptLimiter(client, 1)
    allowance = limiter.hit("a")
    server.connected = False

    limiter.give_back("a", allowance)
    server.connected = True

    assert tries(limiter, 1) == [False]
