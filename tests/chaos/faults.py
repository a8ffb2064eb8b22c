"""Faults, each as a block: the fault lasts inside it, and is mended after it as by an operator or supervisor."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from tests.chaos.clocks import DAY_S, HOUR_S, off
from tests.chaos.small_disk import filled
from tests.chaos.system import AnySystem, ClusterSystem, SingleSystem
from tests.support.galera import GaleraNode
from tests.support.process import ChildProcess
from tests.support.waiting import wait_until

Fault = Callable[[Any], AbstractContextManager[None]]
"""Of a system of one kind: those of `FAULTS` on single servers, those of `CLUSTER_FAULTS` on a cluster."""


@contextlib.contextmanager
def _killed(child: ChildProcess) -> Iterator[None]:
    child.kill()
    yield
    child.start()


@contextlib.contextmanager
def _paused(*children: ChildProcess) -> Iterator[None]:
    """As a network that is cut: connections stay open, and nothing comes."""
    for child in children:
        child.pause()
    try:
        yield
    finally:
        for child in children:
            child.resume()


@contextlib.contextmanager
def redis_flushed(system: SingleSystem) -> Iterator[None]:
    with system.redis.client() as client:
        client.flushall()
    yield


@contextlib.contextmanager
def database_read_only(system: SingleSystem) -> Iterator[None]:
    system.mariadb.execute("SET GLOBAL read_only = 1")
    try:
        yield
    finally:
        system.mariadb.execute("SET GLOBAL read_only = 0")


@contextlib.contextmanager
def disk_full(system: SingleSystem) -> Iterator[None]:
    """Of the database; where no small disk could be made, the error is simulated.

    A MariaDB that cannot write a page ends itself, sometimes. So it is started again when there is room.
    """
    if system.disk is not None:
        with filled(system.disk):
            yield
        system.mariadb.restart()
        return
    trigger = f"{system.database}.disk_full"
    refusal = "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021, MESSAGE_TEXT = 'Disk full'"
    system.mariadb.execute(f"CREATE TRIGGER {trigger} BEFORE INSERT ON {system.database}.spans FOR EACH ROW {refusal}")
    try:
        yield
    finally:
        system.mariadb.execute(f"DROP TRIGGER {trigger}")


@contextlib.contextmanager
def database_slow(system: SingleSystem) -> Iterator[None]:
    """It works a quarter of the time."""
    stop = threading.Event()

    def stutter() -> None:
        while not stop.is_set():
            system.mariadb.pause()
            time.sleep(0.15)
            system.mariadb.resume()
            time.sleep(0.05)

    thread = threading.Thread(target=stutter)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _clocks_off(seconds: int, *whose: str) -> Fault:
    """Where clocks can't be moved, nothing is wrong."""

    def fault(system: AnySystem) -> AbstractContextManager[None]:
        clocks = [getattr(system.clocks, name) for name in whose] if system.clocks else []
        return off(*clocks, seconds=seconds)

    return fault


# A day would be the end of each Idempotency-Key, too, for whoever believes all of them.
ALL = ("web", "workers", "redis", "mariadb")
CLOCK_FAULTS: dict[str, Fault] = {
    "all clocks an hour ahead": _clocks_off(HOUR_S, *ALL),
    "all clocks an hour behind": _clocks_off(-HOUR_S, *ALL),
    "all clocks but MariaDB's a day ahead": _clocks_off(DAY_S, "web", "workers", "redis"),
    "the web's clock a day ahead": _clocks_off(DAY_S, "web"),
    "the workers' clocks a day ahead": _clocks_off(DAY_S, "workers"),
    "the workers' clocks an hour behind": _clocks_off(-HOUR_S, "workers"),
    "Redis's clock a day ahead": _clocks_off(DAY_S, "redis"),
    "MariaDB's clock a day ahead": _clocks_off(DAY_S, "mariadb"),
    "MariaDB's clock an hour behind": _clocks_off(-HOUR_S, "mariadb"),
}
FAULTS: dict[str, Fault] = {
    "a web process killed": lambda system: _killed(system.deployment.webs[0]),
    "the spans worker killed": lambda system: _killed(system.deployment.workers["spans"][0]),
    "the runs worker killed": lambda system: _killed(system.deployment.workers["runs"][0]),
    "the replays worker killed": lambda system: _killed(system.deployment.workers["replays"][0]),
    "the clock killed": lambda system: _killed(system.deployment.clock),
    "Redis killed": lambda system: _killed(system.redis),
    "Redis emptied": redis_flushed,
    "MariaDB killed": lambda system: _killed(system.mariadb),
    "MariaDB read-only": database_read_only,
    "the disk full": disk_full,
    "a slow database": database_slow,
    "MariaDB cut off": lambda system: _paused(system.mariadb),
    "Redis cut off": lambda system: _paused(system.redis),
    "the workers cut off": lambda system: _paused(*(w for each in system.deployment.workers.values() for w in each)),
    **CLOCK_FAULTS,
}


@contextlib.contextmanager
def _isolated(node: GaleraNode) -> Iterator[None]:
    """Cut a node off from the others; its clients still reach it."""
    node.isolate(True)
    try:
        yield
    finally:
        # One that is let back while the others still miss it may lose them when another node goes.
        wait_until(lambda: not node.serves(), "the node misses the others")
        node.isolate(False)


def _without_a_node(
    fault: Callable[[GaleraNode], AbstractContextManager[None]],
) -> Callable[[ClusterSystem], AbstractContextManager[None]]:
    """The fault of the node that the web prefers; it ends when the nodes are one cluster again."""

    @contextlib.contextmanager
    def of_system(system: ClusterSystem) -> Iterator[None]:
        with fault(system.mariadb.nodes[0]):
            yield
        system.mariadb.wait_whole()

    return of_system


@contextlib.contextmanager
def _node_and_primary_killed(system: ClusterSystem) -> Iterator[None]:
    with _killed(system.mariadb.nodes[1]), _killed(system.redis.primary()):
        yield
    system.mariadb.wait_whole()


CLUSTER_FAULTS: dict[str, Fault] = {
    "a node killed": _without_a_node(_killed),
    "a node that hangs": _without_a_node(_paused),
    "a node cut off from the others": _without_a_node(_isolated),
    "Redis's primary killed": lambda system: _killed(system.redis.primary()),
    "Redis's primary hangs": lambda system: _paused(system.redis.primary()),
    "a node and Redis's primary killed": _node_and_primary_killed,
}
"""Faults that a cluster goes on through: it serves again while they last."""
