"""The moving window of requests per key, on a fake Redis that runs the real script; test_own_counts has the other."""

import math
import time
from concurrent.futures import ThreadPoolExecutor

import fakeredis
import pytest
import redis

from app.metrics import Metrics
from app.metrics.registry import RATE_LIMIT_NOT_COUNTED
from app.redis_store.clients import RedisClients
from app.redis_store.epochs import Epochs
from app.redis_store.local_counts import WINDOW_S
from app.redis_store.rate import RateLimiter

LOG = "requests:7"


@pytest.fixture
def server():
    return fakeredis.FakeServer()


@pytest.fixture
def client(server, monkeypatch):
    """One for which no time passes."""
    monkeypatch.setattr(time, "time", lambda: 1_000_000.0)
    with fakeredis.FakeRedis(server=server, version=(7,)) as client:
        yield client


def limiter(client, per_minute=3, of_ingest=None, metrics=None):
    clients = RedisClients(client, client, client)
    return RateLimiter(clients, per_minute, of_ingest=of_ingest, metrics=metrics or Metrics())


def now_us(client):
    seconds, micros = client.time()
    return seconds * 1_000_000 + micros


def put(client, *times_us):
    """Put requests into the log of the key 7, the newest first."""
    for sum_, time_us in enumerate(reversed(times_us), 1):
        client.lpush(LOG, f"{time_us} 1 {sum_}")


def test_requests_up_to_the_limit_pass_and_the_next_is_refused(client):
    answers = [limiter(client).hit(7) for _ in range(4)]

    assert [answer.allowed for answer in answers] == [True, True, True, False]
    assert [answer.remaining for answer in answers] == [2, 1, 0, 0]
    assert {answer.reset_s for answer in answers} == {WINDOW_S}


def test_keys_are_counted_apart(client):
    for _ in range(3):
        limiter(client).hit(1)

    assert limiter(client).hit(2).allowed


def test_a_clock_that_is_put_back_by_hours_blocks_no_caller_until_it_has_caught_up(client):
    hour_us = 3600 * 1_000_000
    put(client, *(now_us(client) + hour_us - n for n in range(3)))

    answer = limiter(client).hit(7)

    assert (answer.allowed, answer.remaining, answer.reset_s) == (True, 2, WINDOW_S)


def test_a_clock_that_is_put_back_a_little_forgets_nothing(client):
    ahead_us = now_us(client) + 30 * 1_000_000
    put(client, ahead_us, ahead_us - 1)
    asked = limiter(client, per_minute=4)

    answers = [asked.hit(7) for _ in range(3)]

    assert [answer.allowed for answer in answers] == [True, True, False]
    assert answers[-1].reset_s == WINDOW_S + 30
    times = [int(entry.split()[0]) for entry in client.lrange(LOG, 0, -1)]
    assert times == [ahead_us] * 3 + [ahead_us - 1]


def test_a_request_that_left_the_window_makes_room_for_another(client):
    window_us = WINDOW_S * 1_000_000
    put(client, now_us(client) - 1_000, now_us(client) - window_us - 1, now_us(client) - 2 * window_us)

    answer = limiter(client).hit(7)

    assert (answer.allowed, answer.remaining) == (True, 1)
    assert client.llen(LOG) == 2


def test_the_reset_is_when_the_oldest_request_leaves(client):
    put(client, now_us(client) - 50 * 1_000_000)

    assert limiter(client).hit(7).reset_s == WINDOW_S - 50


def test_refused_requests_are_not_counted(client):
    for _ in range(10):
        limiter(client).hit(7)

    assert client.llen(LOG) == 3


def test_a_lower_limit_holds_for_what_was_counted_under_a_higher_one(client):
    for _ in range(3):
        limiter(client).hit(7)
    answer = limiter(client, per_minute=2).hit(7)

    assert (answer.allowed, answer.remaining) == (False, 0)


def test_of_many_at_once_as_many_pass_as_may(client):
    asked = limiter(client, per_minute=20)
    with ThreadPoolExecutor(10) as pool:
        allowed = list(pool.map(lambda _: asked.hit(7).allowed, range(60)))

    assert sum(allowed) == 20


def test_without_redis_requests_pass_and_that_is_noted(server, client):
    metrics = Metrics()
    asked = limiter(client, metrics=metrics)
    server.connected = False

    assert asked.hit(7).allowed
    assert metrics.pending() == {(RATE_LIMIT_NOT_COUNTED, (), ""): 1}


def test_what_is_counted_expires_with_the_window(client):
    limiter(client).hit(7)

    assert 0 < client.ttl(LOG) <= WINDOW_S


def test_the_epoch_comes_along_and_stays_until_it_is_ended(client):
    asked, epochs = limiter(client), Epochs(client)
    first, others = asked.hit(7, project_id=1).epoch, asked.hit(7, project_id=2).epoch

    assert first
    assert first == asked.hit(8, project_id=1).epoch != others
    epochs.end(1)
    assert asked.hit(9, project_id=1).epoch not in {first, b""}
    assert asked.hit(9, project_id=2).epoch == others


def test_an_epoch_that_redis_has_lost_never_comes_back(client):
    seen = set()
    for _ in range(20):
        seen.add(limiter(client, per_minute=100).hit(7, project_id=1).epoch)
        client.flushall()

    assert len(seen) == 20


def test_without_redis_or_a_project_there_is_no_epoch(server, client):
    assert limiter(client).hit(7).epoch == b""
    server.connected = False
    assert limiter(client).hit(7, project_id=1).epoch == b""


def test_ingest_counts_toward_the_limit_of_all(client):
    asked = limiter(client)
    for _ in range(2):
        asked.hit(7, ingest=True)

    assert [asked.hit(7).remaining, asked.hit(7).allowed] == [0, False]


def test_ingest_is_refused_only_for_what_ingest_has_used(client):
    asked = limiter(client)
    for _ in range(5):
        asked.hit(7)
    answers = [asked.hit(7, ingest=True) for _ in range(4)]

    assert [answer.allowed for answer in answers] == [True, True, True, False]
    assert [answer.remaining for answer in answers] == [2, 1, 0, 0]
    assert not asked.hit(7).allowed


def test_ingest_may_have_a_separate_limit(client):
    asked = limiter(client, 3, of_ingest=5)
    answers = [asked.hit(7, ingest=True) for _ in range(6)]

    assert [answer.allowed for answer in answers] == [True] * 5 + [False]
    assert {answer.limit for answer in answers} == {5}
    assert asked.hit(7).limit == 3


def test_room_is_there_again_when_all_beyond_the_limit_have_left(client):
    """The log of all requests may be longer than the limit, as those of ingest are in it."""
    asked = limiter(client, 2, of_ingest=10)
    second = 1_000_000
    put(client, *(now_us(client) - age * second for age in (10, 20, 30, 40)))
    refused = asked.hit(7)

    assert (refused.allowed, refused.remaining) == (False, 0)
    assert refused.reset_s == WINDOW_S - 20


def test_the_log_of_ingest_expires_with_the_window(client):
    limiter(client).hit(7, ingest=True)

    assert 0 < client.ttl(f"{LOG}:ingest") <= WINDOW_S


@pytest.mark.parametrize("amounts", [[3, 2, 4, 1], [9, 1], [1] * 10, [10], [2, 8]])
def test_a_request_counts_for_the_amount_that_it_names(client, amounts):
    asked = limiter(client, per_minute=10)
    answers = [asked.hit(7, amount=amount) for amount in amounts]

    assert all(answer.allowed for answer in answers)
    assert [answer.remaining for answer in answers] == [10 - sum(amounts[: n + 1]) for n in range(len(amounts))]
    assert not asked.hit(7).allowed
    assert client.llen(LOG) == len(amounts)


def test_a_large_request_waits_until_enough_have_left(client):
    second, asked = 1_000_000, limiter(client, per_minute=10)
    for sum_, (amount, age) in zip((3, 5, 9), ((3, 50), (2, 30), (4, 10)), strict=True):
        client.lpush(LOG, f"{now_us(client) - age * second} {amount} {sum_}")

    assert asked.hit(7).remaining == 0
    # One of 4 fits once the oldest two have left, one of 6 when those of 10 seconds ago have, too.
    assert asked.hit(7, amount=4).reset_s == WINDOW_S - 30
    assert asked.hit(7, amount=6).reset_s == WINDOW_S - 10
    assert asked.hit(7, amount=3).reset_s == WINDOW_S - 50


def test_what_left_the_window_counts_for_nothing_of_its_amount(client):
    window_us, asked = WINDOW_S * 1_000_000, limiter(client, per_minute=10)
    client.lpush(LOG, f"{now_us(client) - window_us - 1} 8 8", f"{now_us(client) - 1_000} 2 10")

    answer = asked.hit(7, amount=7)

    assert (answer.allowed, answer.remaining, client.llen(LOG)) == (True, 1, 2)


def commands(client, limiter_, **asked):
    """The commands that Redis executes for a question, those of the script among them."""
    limiter_.hit("warm", **asked)
    client.config_resetstat()
    assert limiter_.hit(7, **asked).allowed
    return {name: stats["calls"] for name, stats in client.info("commandstats").items()}


def test_the_work_of_redis_grows_with_neither_the_amount_nor_what_left_the_window(redis_url):
    most, window_us = 6_000, WINDOW_S * 1_000_000
    with redis.Redis.from_url(redis_url) as client:
        asked = limiter(client, per_minute=most)
        one = commands(client, asked, ingest=True)
        client.flushdb()
        many = commands(client, asked, ingest=True, amount=999)
        assert many == one
        assert (many["cmdstat_evalsha"], many["cmdstat_lpush"]) == (1, 2)

        client.flushdb()
        left = now_us(client) - window_us - 10 * most
        for log in (LOG, f"{LOG}:ingest"):
            client.rpush(log, *(f"{left - n} 1 {most - n}" for n in range(most)))
        after = commands(client, asked, ingest=True, amount=999)
        assert sum(after.values()) - sum(one.values()) <= 2 * (3 + 2 * math.log2(most) + 1)
        assert client.llen(LOG) == 1

        client.flushdb()
        client.rpush(LOG, *(f"{now_us(client) - n} 1 {most - n}" for n in range(most - 3)))
        client.rpush(LOG, *(f"{left - n} 1 {3 - n}" for n in range(3)))
        few = commands(client, limiter(client, per_minute=10 * most))
        # The oldest, those behind it up to one that stays, and one between: far from the middle of the log.
        assert few["cmdstat_lindex"] <= 8
        assert client.llen(LOG) == most - 2


def test_a_question_is_one_round_trip_whatever_it_counts_for(client, monkeypatch):
    asked, sent = limiter(client, per_minute=2_000), []
    asked.hit(7, ingest=True, amount=999)
    execute = type(client).execute_command
    monkeypatch.setattr(
        type(client), "execute_command", lambda self, *args, **kw: sent.append(args[0]) or execute(self, *args, **kw)
    )

    assert asked.hit(7, project_id=1, ingest=True, amount=999).allowed
    assert sent == ["EVALSHA"]
