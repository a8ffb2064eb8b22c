"""Bounded polling and free ports."""

import itertools
import os
import random
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

LOOPBACK = "127.0.0.1"
PATIENCE_S = 300
"""The seconds after which a state that does not come is a failure, also on a machine with much else to do."""
T = TypeVar("T")


class NotReady(Exception):
    """The state did not come within its time."""


def wait_until(condition: Callable[[], T], what: str, timeout_s: float = PATIENCE_S, interval_s: float = 0.02) -> T:
    """The first truthy answer of `condition`; `NotReady`, naming `what`, after `timeout_s`.

    It is asked every `interval_s`, but for half of the time at most: what is waited for needs the processor, too.
    """
    deadline = time.monotonic() + timeout_s
    asked = time.monotonic()
    while not (answer := condition()):
        now = time.monotonic()
        if now > deadline:
            raise NotReady(f"{what}: not within {timeout_s:g} s")
        time.sleep(max(interval_s, now - asked))
        asked = time.monotonic()
    return answer


def own_place(environment: Mapping[str, str] = os.environ) -> tuple[int, int]:
    """Return this process's number among all that test at the same time, from 0, and how many they are."""
    number = environment.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    return int(number), int(environment.get("PYTEST_XDIST_WORKER_COUNT", "1"))


def own_ports(environment: Mapping[str, str] = os.environ) -> Iterator[int]:
    """Yield the ports that this process may use, in any order, again and again.

    A server is given its port long before it binds it, so processes that test at the same time share none.
    """
    number, count = own_place(environment)
    ports = range(10_000 + number, 32_000, count)
    return itertools.cycle(random.sample(ports, len(ports)))


_PORTS = own_ports()


def free_port() -> int:
    """A TCP port that is free, below the range of outgoing connections.

    From that range a client that keeps trying to reconnect to a stopped server could be handed the server's
    own port, and then the server cannot start again.
    """
    for port in itertools.islice(_PORTS, 200):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return port
    raise NotReady("no free port")


def accepts(port: int) -> bool:
    """Return whether a server accepts connections on `port` of this machine."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0
