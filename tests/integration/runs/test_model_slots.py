"""A model gets no more calls at once than it may, whoever makes them, and the places of the dead come back."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import fakeredis
import pytest
import redis

from app.concurrency.quotas import Quota
from app.errors import ProviderTimeout
from app.redis_store.slots import GRACE_S, ModelSlots
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, run
from tests.support.waiting import wait_until

MODEL = "OPENAI gpt-4o-mini"
ORGANIZATION, OTHER, THIRD = 7, 8, 9
LONG_S = 120


@pytest.fixture
def client(container):
    """Of each backend in turn."""
    for key in container.redis.commands.keys("reprise:slots:*"):
        container.redis.commands.delete(key)
    return container.redis.commands


def impatient(client, quota, **options):
    """Slots for which somebody waits as often as in `LONG_S`, but no time passes."""
    now_s = 0.0

    def sleep(pause_s):
        nonlocal now_s
        now_s += pause_s

    return ModelSlots(client, quota=quota, monotonic=lambda: now_s, sleep=sleep, **options)


def test_processes_together_make_no_more_calls_than_the_limit(client):
    lock, now, most = threading.Lock(), 0, 0
    three = threading.Barrier(3)

    def call(number):
        nonlocal now, most
        with ModelSlots(client, quota=Quota.of(3, 25)).of(MODEL, ORGANIZATION, LONG_S):
            with lock:
                now, most = now + 1, max(most, now + 1)
            three.wait(LONG_S)
            with lock:
                now -= 1

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(call, range(24)))
    assert most == 3


def test_calls_of_several_models_that_begin_together_are_counted_each_for_its_own(client):
    slots, others = impatient(client, Quota.of(2, 25)), f"{MODEL}-other"
    begun, leave = threading.Semaphore(0), threading.Event()

    def call(model):
        try:
            with slots.of(model, ORGANIZATION, LONG_S):
                begun.release()
                return leave.wait(LONG_S)
        except ProviderTimeout:
            begun.release()
            return False

    with ThreadPoolExecutor(16) as pool:
        calls = {model: [pool.submit(call, model) for _ in range(8)] for model in (MODEL, others)}
        for _ in range(16):
            assert begun.acquire(timeout=LONG_S)
        leave.set()
        assert [sum(one.result() for one in calls[model]) for model in (MODEL, others)] == [2, 2]
    with ExitStack() as places:
        for model in (MODEL, MODEL, others, others):
            places.enter_context(slots.of(model, ORGANIZATION, LONG_S))


def test_a_call_waits_for_a_place_inside_its_time(client):
    slots = ModelSlots(client, quota=Quota.of(1, 25))
    with ExitStack() as first, ThreadPoolExecutor(1) as pool:
        first.enter_context(slots.of(MODEL, ORGANIZATION, LONG_S))

        def second():
            with slots.of(MODEL, ORGANIZATION, LONG_S):
                return "called"

        waiting = pool.submit(second)
        assert not waiting.done()
        first.close()
        assert waiting.result(timeout=LONG_S) == "called"


def test_when_no_place_becomes_free_in_time_the_call_fails_as_too_slow(client):
    slots = impatient(client, Quota.of(1, 25))
    with (
        slots.of(MODEL, ORGANIZATION, LONG_S),
        pytest.raises(ProviderTimeout, match="busy with 1 calls"),
        slots.of(MODEL, ORGANIZATION, LONG_S),
    ):
        pass


def test_models_do_not_wait_for_each_other(client):
    slots = impatient(client, Quota.of(1, 25))
    with slots.of(MODEL, ORGANIZATION, LONG_S), slots.of("OPENAI other", ORGANIZATION, LONG_S):
        pass


@pytest.mark.parametrize("places", [2, 3, 4, 8, 40])
def test_calls_in_the_background_leave_a_share_to_others_of_their_organization(client, places):
    slots = impatient(client, Quota.of(places, 25), background=Quota.for_background(places, 25))
    with ExitStack() as held:
        alone = taken(held, slots, ORGANIZATION, background=True)
        assert alone >= 1
        taken(held, slots, OTHER, background=True)
        assert taken(held, slots, ORGANIZATION) >= Quota.of(places, 25).share


def test_other_organizations_get_calls_in_the_background_while_one_has_all_that_it_may(client):
    slots = impatient(client, Quota.of(8, 25), background=Quota.for_background(8, 25))
    with ExitStack() as held:
        assert taken(held, slots, ORGANIZATION, background=True) == 4
        assert taken(held, slots, OTHER, background=True) == 1


def test_calls_in_the_background_wait_while_others_hold_the_places(client):
    slots = impatient(client, Quota.of(4, 25), background=Quota.for_background(4, 25))
    with ExitStack() as held:
        assert taken(held, slots, ORGANIZATION) == 4
        assert taken(held, slots, ORGANIZATION, background=True) == 0
        assert taken(held, slots, OTHER, background=True) == 0


def test_a_failed_call_gives_its_place_back(client):
    slots = impatient(client, Quota.of(1, 25))
    with pytest.raises(ZeroDivisionError), slots.of(MODEL, ORGANIZATION, LONG_S):
        raise ZeroDivisionError
    with slots.of(MODEL, ORGANIZATION, LONG_S):
        pass


def free_places(slots):
    with ExitStack() as places:
        return taken(places, slots, ORGANIZATION)


def test_the_place_of_a_call_that_is_answered_is_held_until_the_end_of_its_block(client):
    slots = impatient(client, Quota.of(3, 25))
    with slots.held_until_end():
        for _ in range(2):
            with slots.of(MODEL, ORGANIZATION, LONG_S):
                pass
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(free_places, slots).result(LONG_S) == 1
    assert free_places(slots) == 3
    with slots.of(MODEL, ORGANIZATION, LONG_S):
        pass
    assert free_places(slots) == 3


def test_a_call_that_fails_gives_its_place_back_within_the_block(client):
    slots = impatient(client, Quota.of(1, 25))
    with slots.held_until_end():
        for _ in range(2):
            with suppress(KeyError), slots.of(MODEL, ORGANIZATION, LONG_S):
                raise KeyError
        with slots.of(MODEL, ORGANIZATION, LONG_S):
            pass


def test_a_block_that_fails_gives_its_places_back(client):
    slots = impatient(client, Quota.of(1, 25))
    with suppress(KeyError), slots.held_until_end():
        with slots.of(MODEL, ORGANIZATION, LONG_S):
            pass
        raise KeyError
    assert free_places(slots) == 1


def test_a_run_gives_its_place_back_after_its_caller_is_answered(world, client, upstream, monkeypatch):
    ending, held = world.container.services.runs.ending, []

    def places():
        return sum(client.zcard(key) for key in client.keys("reprise:slots:*"))

    announce = ending.completions.announce
    monkeypatch.setattr(ending.completions, "announce", lambda *end: (held.append(places()), announce(*end)))
    upstream.script(Reply(text="Sunny"))
    assert run(world, prompt(world, model="gpt-4o-mini")).json["answer"] == "Sunny"

    assert held == [2], "among all of the model's, and among the organization's"
    wait_until(lambda: places() == 0, "the place of the run")


def test_another_thread_gives_its_places_back_at_once(client):
    slots = impatient(client, Quota.of(2, 25))

    def call():
        with slots.of(MODEL, ORGANIZATION, LONG_S):
            pass

    with slots.held_until_end(), ThreadPoolExecutor(1) as pool:
        pool.submit(call).result(LONG_S)
        assert pool.submit(free_places, slots).result(LONG_S) == 2


def test_the_place_of_a_dead_process_comes_back_while_others_go_on(client):
    slots = impatient(client, Quota.of(2, 25))
    dead = slots.of(MODEL, ORGANIZATION, LONG_S)
    dead.__enter__()  # and never left

    assert free_places(slots) == 1
    for key in client.keys("reprise:slots:*"):
        assert LONG_S < client.pttl(key) / 1000 <= LONG_S + GRACE_S
        client.zadd(key, dict.fromkeys(client.zrange(key, 0, -1), 1))  # the time at which its lease ended
    assert free_places(slots) == 2


def taken(places, slots, organization_id, **which):
    """Reserve as many of the model's places as the organization gets, and return their number."""
    count = 0
    while True:
        try:
            places.enter_context(slots.of(MODEL, organization_id, LONG_S, **which))
        except ProviderTimeout:
            return count
        count += 1


def test_calls_of_one_organization_that_hang_leave_others_a_share_of_a_models_places(client):
    slots = impatient(client, Quota.of(16, 25))
    with ExitStack() as places:
        assert [taken(places, slots, one) for one in (ORGANIZATION, OTHER, THIRD)] == [16, 2, 1]

    with ExitStack() as places:
        assert taken(places, slots, OTHER) == 16


def test_models_of_two_organizations_at_one_address_share_nothing(client):
    slots = impatient(client, Quota.of(4, 25))
    with ExitStack() as places:
        assert taken(places, slots, ORGANIZATION, is_own=True) == 4
        assert taken(places, slots, OTHER, is_own=True) == 4
        assert taken(places, slots, OTHER) == 4


def test_while_redis_is_away_no_call_is_stopped():
    server = fakeredis.FakeServer()
    slots = ModelSlots(fakeredis.FakeRedis(server=server, version=(7,)), quota=Quota.of(1, 25))
    server.connected = False
    with slots.of(MODEL, ORGANIZATION, 1), slots.of(MODEL, ORGANIZATION, 1):
        pass
    with pytest.raises(redis.ConnectionError):
        fakeredis.FakeRedis(server=server).ping()
