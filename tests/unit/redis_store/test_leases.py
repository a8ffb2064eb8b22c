"""Leases of permits and epochs: a busy key needs few round trips, and neither a limit nor a change is missed."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fakeredis
import pytest
import redis

from app.redis_store import leases
from app.redis_store.epochs import LEASE_S, Epochs
from app.redis_store.leases import BUSY_REQUESTS, IDLE_S, RENEWED_S, LeasedWindow
from app.redis_store.local_counts import WINDOW_S
from app.redis_store.shared_window import LOST_S, Question, SharedWindow
from tests.support.deployment import ROOT
from tests.support.waiting import wait_until

LIMIT = 1000
PROJECT = 1


class Clock:
    """The clock of Redis and of all processes, which only a test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "time", clock)
    monkeypatch.setattr(LeasedWindow, "_begin_renewing", lambda _: None)
    return clock


@pytest.fixture
def client(clock: Clock) -> Iterator[fakeredis.FakeRedis]:
    with fakeredis.FakeRedis(version=(7,)) as client:
        yield client


@pytest.fixture
def process(client: fakeredis.FakeRedis, clock: Clock) -> Callable[[], LeasedWindow]:
    """Return a maker of windows that count as those of a process each."""
    return lambda: LeasedWindow(SharedWindow(client, LIMIT), clock)


def make_busy(window: LeasedWindow, clock: Clock, requests: int = 20) -> None:
    """Send requests of the key 7 until its next one asks for a lease."""
    for _ in range(requests):
        assert window.hit(7, PROJECT).allowed
    clock.now += LEASE_S


def asked(client: fakeredis.FakeRedis, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    sent: list[str] = []
    execute = type(client).execute_command
    monkeypatch.setattr(
        type(client), "execute_command", lambda self, *args, **kw: sent.append(args[0]) or execute(self, *args, **kw)
    )
    return sent


def used_of(process: Callable[[], LeasedWindow]) -> int:
    """Return how many requests count, before this one."""
    return LIMIT - process().hit(7, PROJECT).remaining - 1


def test_a_busy_key_needs_a_round_trip_a_lease(
    process: Callable[[], LeasedWindow],
    clock: Clock,
    client: fakeredis.FakeRedis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    window = process()
    make_busy(window, clock)
    sent = asked(client, monkeypatch)

    answers = [window.hit(7, PROJECT) for _ in range(20)]

    assert sent == ["EVALSHA"]
    assert {(answer.allowed, answer.remaining) for answer in answers} == {(True, LIMIT - 20 - 25)}
    clock.now += LEASE_S
    window.hit(7, PROJECT)
    assert len(sent) == 2
    assert used_of(process) == 20 + 20 + 25


def test_a_busy_key_gets_its_next_lease_before_the_present_one_ends(
    process: Callable[[], LeasedWindow],
    clock: Clock,
    client: fakeredis.FakeRedis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    window = process()
    make_busy(window, clock)
    window.hit(7, PROJECT)
    sent = asked(client, monkeypatch)
    for _ in range(10):
        for _ in range(10):
            assert window.hit(7, PROJECT).allowed
        clock.now += RENEWED_S
        window.renew()

    assert sent == ["EVALSHA"] * 10, "no request asks"
    clock.now += LEASE_S
    window.send(window.ended())
    assert used_of(process) == 20 + 1 + 100
    clock.now += LEASE_S
    window.renew()
    sent.clear()
    window.renew()
    assert sent == [], "a key without requests gets no lease"


def test_a_lease_that_was_renewed_before_a_change_ends_with_it(
    process: Callable[[], LeasedWindow], clock: Clock, client: fakeredis.FakeRedis
) -> None:
    window = process()
    make_busy(window, clock)
    window.hit(7, PROJECT)
    clock.now += RENEWED_S
    window.renew()
    epoch = window.hit(7, PROJECT).epoch
    Epochs(client, sleep=lambda seconds: setattr(clock, "now", clock.now + seconds)).end(PROJECT)

    assert window.hit(7, PROJECT).epoch not in {epoch, b""}


def test_a_renewal_that_redis_did_not_answer_counts_as_used(
    process: Callable[[], LeasedWindow],
    clock: Clock,
    client: fakeredis.FakeRedis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    window = process()
    make_busy(window, clock)
    window.hit(7, PROJECT)
    ask_all = SharedWindow.ask_all

    def without_reply(self: SharedWindow, questions: Any) -> Any:
        ask_all(self, questions)
        raise redis.ConnectionError

    with monkeypatch.context() as broken:
        broken.setattr(SharedWindow, "ask_all", without_reply)
        window.renew()
    sent = asked(client, monkeypatch)

    assert window.hit(7, PROJECT).allowed
    assert sent == [], "the present lease may be used until its end"
    assert used_of(process) == 20 + 25 * 2
    clock.now += LEASE_S
    window.renew()
    assert window.hit(7, PROJECT).allowed


def test_a_quiet_key_and_requests_of_ingest_are_counted_one_by_one(
    process: Callable[[], LeasedWindow], clock: Clock
) -> None:
    window = process()
    for number in range(1, 30):
        clock.now += LEASE_S / (BUSY_REQUESTS - 1.5)
        assert window.hit(7, PROJECT).remaining == LIMIT - number

    make_busy(window, clock)
    assert [window.hit(7, PROJECT, ingest=True).remaining for _ in range(3)] == [LIMIT - 1, LIMIT - 2, LIMIT - 3]


def test_permits_that_were_not_used_are_free_again(process: Callable[[], LeasedWindow], clock: Clock) -> None:
    window = process()
    make_busy(window, clock)
    for _ in range(5):
        window.hit(7, PROJECT)
    assert used_of(process) == 20 + 25
    clock.now += LEASE_S

    [question] = window.ended()
    window.send([question])

    assert used_of(process) == 20 + 5 + 1  # and the request by which `used_of` asked before
    window.send([question])
    assert used_of(process) == 20 + 5 + 2, "a lease is settled once"


@pytest.mark.parametrize("jump", [LOST_S + 1, -LOST_S - 1])
def test_a_lease_of_a_process_that_died_counts_as_used(
    process: Callable[[], LeasedWindow], clock: Clock, jump: float
) -> None:
    window = process()
    make_busy(window, clock)
    window.hit(7, PROJECT)
    begun = clock.now
    clock.now += LEASE_S
    late = window.ended()

    clock.now = begun + jump
    assert used_of(process) == 20 + 25

    window.send(late)  # it was only stopped
    assert used_of(process) == 20 + 25 + 1
    clock.now += abs(jump) + WINDOW_S
    assert used_of(process) == 0


def test_keys_without_a_lease_are_forgotten(
    process: Callable[[], LeasedWindow], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 50
    monkeypatch.setattr(leases, "KEYS_MAX", most)
    window = process()
    for number in range(3 * most):
        clock.now += 2 * IDLE_S / most
        window.hit(f"replay {number}", PROJECT)

    assert len(window._keys) <= most + 1


def test_permits_end_with_their_lease(
    process: Callable[[], LeasedWindow], clock: Clock, client: fakeredis.FakeRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = process()
    make_busy(window, clock)
    epoch = window.hit(7, PROJECT).epoch
    Epochs(client, sleep=lambda seconds: setattr(clock, "now", clock.now + seconds)).end(PROJECT)

    answer = window.hit(7, PROJECT)

    assert answer.epoch not in {epoch, b""}


def test_the_numbers_of_a_caller_near_its_limit_are_exact(process: Callable[[], LeasedWindow], clock: Clock) -> None:
    windows = [process(), process()]
    allowed, last = 0, []
    for number in range(LIMIT + LIMIT // 5):
        clock.now += LEASE_S / 50
        answer = windows[number % 2].hit(7, PROJECT)
        allowed += answer.allowed
        if answer.allowed and answer.remaining < LIMIT // 20:
            last.append(answer.remaining)
        for window in windows:
            window.send(window.ended())

    assert allowed == LIMIT
    assert last[-40:] == list(range(39, -1, -1))


def test_a_lease_that_redis_did_not_answer_counts_as_used(
    process: Callable[[], LeasedWindow], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = process()
    make_busy(window, clock)
    ask = SharedWindow.ask

    def without_reply(self: SharedWindow, question: Question) -> Any:
        ask(self, question)
        raise redis.ConnectionError

    with monkeypatch.context() as broken:
        broken.setattr(SharedWindow, "ask", without_reply)
        for _ in range(3):
            with pytest.raises(redis.RedisError):
                window.hit(7, PROJECT)
    assert used_of(process) == 20 + 25 * 3

    clock.now += LEASE_S
    make_busy(window, clock)
    assert window.hit(7, PROJECT).allowed


PROCESS = """
import os, sys, time
import redis
from app.redis_store.leases import LeasedWindow
from app.redis_store.shared_window import SharedWindow
window = LeasedWindow(SharedWindow(redis.Redis.from_url(sys.argv[1]), int(sys.argv[2])))
with open(sys.argv[3], "ab", buffering=0) as file:
    while True:
        if window.hit(7, 1).allowed:
            file.write(b".")
        else:
            time.sleep(0.001)
"""


def test_processes_that_are_killed_and_stopped_never_pass_the_limit(redis_url: str, tmp_path: Path) -> None:
    limit, files = 20_000, [tmp_path / str(number) for number in range(4)]
    argv = [sys.executable, "-c", PROCESS, redis_url, str(limit)]
    processes = [subprocess.Popen([*argv, str(file)], cwd=ROOT) for file in files]

    def passed() -> int:
        return sum(file.stat().st_size for file in files if file.exists())

    try:
        wait_until(lambda: passed() > limit / 10, "the first requests")
        processes[0].send_signal(signal.SIGSTOP)
        processes[1].kill()
        wait_until(lambda: passed() > limit / 2, "more requests")
        processes[0].send_signal(signal.SIGCONT)
        with redis.Redis.from_url(redis_url) as client:
            window = SharedWindow(client, limit)
            wait_until(lambda: not window.hit(7, 1).allowed, "the limit")
        # The killed process and the stopped one lose two leases each, of at most a twentieth of the limit.
        assert limit - 4 * limit // 20 < passed() <= limit
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_change_that_is_acknowledged_is_seen_by_each_later_request(redis_url: str) -> None:
    clients = [redis.Redis.from_url(redis_url) for _ in range(4)]
    windows = [LeasedWindow(SharedWindow(client, 10**9)) for client in clients[1:]]
    epochs, stop, stale = Epochs(clients[0]), threading.Event(), []
    ended: list[bytes] = []

    def read(window: LeasedWindow) -> int:
        requests = 0
        while not stop.is_set():
            known = set(ended)
            if window.hit(7, PROJECT).epoch in known:
                stale.append(requests)
            requests += 1
        return requests

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read, window) for window in windows]
        for _ in range(40):
            before = clients[0].get(f"project:{PROJECT}:epoch")
            epochs.end(PROJECT)
            ended += [before] if before else []
        stop.set()

    assert stale == []
    assert all(reader.result() > 100 for reader in readers)
    assert len(ended) > 30
