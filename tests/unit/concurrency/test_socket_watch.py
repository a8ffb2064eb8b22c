"""Waits for a socket end at their time, and only those."""

from __future__ import annotations

import math
import os
import socket
import time
from collections.abc import Iterator

import pytest

from app.concurrency.socket_watch import WATCH, SocketWatch
from tests.support.waiting import wait_until

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def watch() -> SocketWatch:
    return SocketWatch()


def test_a_wait_ends_at_its_time(watch: SocketWatch, pair: Pair) -> None:
    ours, _ = pair
    wait = watch.begin(time.monotonic(), ours.fileno)
    assert ours.recv(1) == b""
    assert watch.end(wait)


def test_a_wait_that_has_ended_before_its_time_leaves_the_socket_usable(watch: SocketWatch, pair: Pair) -> None:
    ours, theirs = pair
    ended = watch.begin(time.monotonic() + 0.2, ours.fileno)
    assert not watch.end(ended)
    other, peer = socket.socketpair()
    with other, peer:
        due = watch.begin(ended.until, other.fileno)
        wait_until(lambda: due.ended, "a wait of the same time")
        watch.end(due)
    theirs.send(b"x")
    assert ours.recv(1) == b"x"


def test_a_wait_that_has_no_socket_yet_ends_when_it_has_one(watch: SocketWatch, pair: Pair) -> None:
    ours, _ = pair
    asked: list[int] = []

    def descriptor() -> int:
        asked.append(len(asked))
        return -1 if len(asked) < 3 else ours.fileno()

    wait = watch.begin(time.monotonic(), descriptor)
    assert ours.recv(1) == b""
    assert watch.end(wait)
    assert len(asked) == 3


@pytest.mark.slow
def test_the_thread_ends_when_nothing_waits_and_another_one_starts_for_the_next(watch: SocketWatch, pair: Pair) -> None:
    ours, _ = pair
    watch.end(watch.begin(math.inf, ours.fileno))
    first = watch._thread
    assert first is not None
    wait_until(lambda: watch._thread is None, "the thread to end")
    watch.begin(time.monotonic(), ours.fileno)
    assert ours.recv(1) == b""


def test_a_fork_ends_its_own_waits(pair: Pair) -> None:
    ours, _ = pair
    of_parent = WATCH.begin(math.inf, ours.fileno)
    if (child := os.fork()) == 0:
        WATCH.begin(time.monotonic(), ours.fileno)
        ours.settimeout(30)
        os._exit(0 if ours.recv(1) == b"" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    WATCH.end(of_parent)
