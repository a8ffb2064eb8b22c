"""A caller that waits for a run learns of its end, and never waits longer than it asked."""

from concurrent.futures import ThreadPoolExecutor

import fakeredis
import pytest

from app.redis_store.keys import RUNS_ENDED
from app.redis_store.runs import Announcement, RunCompletions
from tests.support.waiting import wait_until

LONG_S = 120


@pytest.fixture
def server():
    return fakeredis.FakeServer()


@pytest.fixture
def ends(server):
    """Those of another process with each call."""
    listening = []

    def listen():
        listening.append(RunCompletions(fakeredis.FakeRedis(server=server, version=(7,))))
        listening[-1].listen()
        wait_until(listening[-1]._listening.is_set, "it to listen")
        return listening[-1]

    yield listen
    for one in listening:
        one.close()


def test_all_who_wait_for_a_run_hear_of_its_end_in_every_process(ends):
    worker, webs = ends(), [ends(), ends()]
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(web.wait, 7, LONG_S) for web in webs for _ in range(2)]
        wait_until(lambda: all(len(web._waiting.get(7, ())) == 2 for web in webs), "those who wait")
        worker.announce(7, b"record")

        assert [one.result(LONG_S) for one in waiting] == [Announcement(7, b"record")] * 4


def test_an_end_that_comes_before_the_wait_is_remembered(ends):
    web = ends()
    web.announce(7, b"record")

    assert web.wait(7, LONG_S)
    assert web.wait(7, 0) == Announcement(7), "records are not kept: no caller may ask for them"


def test_all_ends_that_are_announced_at_once_are_heard(ends):
    worker, web = ends(), ends()
    with ThreadPoolExecutor(40) as pool:
        waiting = [pool.submit(web.wait, run_id, LONG_S) for run_id in range(20)]
        wait_until(lambda: len(web._waiting) == 20, "those who wait")
        list(pool.map(worker.announce, range(20), map(bytes, range(20))))

        assert [one.result(LONG_S) for one in waiting] == [Announcement(run_id, bytes(run_id)) for run_id in range(20)]


def test_the_end_of_another_run_wakes_no_caller(ends):
    web = ends()
    web.announce(8)
    assert web.wait(8, LONG_S)

    assert not web.wait(7, 0.01)


def test_the_wait_ends_in_its_time_although_redis_is_away(ends, server):
    web = ends()
    server.connected = False
    web.announce(7)

    assert not web.wait(7, 0.01)


def test_listening_begins_again_when_redis_is_back(ends, server):
    web, watch = ends(), fakeredis.FakeRedis(server=server, version=(7,))
    server.connected = False
    assert not web.wait(7, 0.01)
    server.connected = True
    wait_until(lambda: dict(watch.pubsub_numsub(RUNS_ENDED))[RUNS_ENDED.encode()], "a listener")
    web.announce(7)

    assert web.wait(7, LONG_S)


def test_nothing_is_kept_of_those_who_stopped_waiting(ends):
    web = ends()
    web.wait(7, 0)

    assert not web._waiting
