"""What a history is recorded on: the embedded mode, separate servers, or clusters, each with its faults."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import redis

from tests.chaos.faults import CLUSTER_FAULTS, FAULTS, Fault
from tests.chaos.system import SETTINGS, AnySystem, running_cluster, running_system
from tests.support.deployment import EmbeddedServer
from tests.support.http_client import Client, serves
from tests.support.mariadb import MariaDB
from tests.support.process import children_of, pause, resume

EXPORTER_GIVES_UP_S = 10
FAULT_S = 0.5

Harm = Callable[[random.Random], None]
"""Makes a fault, and mends it after a random time."""


@dataclass(frozen=True)
class Recordable:
    clients: Sequence[Client]
    harms: Mapping[str, Harm]
    ready: Callable[[], bool]


@contextlib.contextmanager
def embedded(folder: Path) -> Iterator[Recordable]:
    with EmbeddedServer(folder, SETTINGS) as server:
        client = Client(server.url, server.client().api_key, EXPORTER_GIVES_UP_S)

        def server_killed(chooser: random.Random) -> None:
            server.process.kill()
            server.process.start()

        def storing_process_killed(chooser: random.Random) -> None:
            """The processes that store spans are children of the server."""
            os.kill(chooser.choice(children_of(server.process.pid)), signal.SIGKILL)

        def server_stopped(chooser: random.Random) -> None:
            pause(server.process.pid)
            time.sleep(chooser.random() * FAULT_S)
            resume(server.process.pid)

        yield Recordable(
            [client],
            {
                "the server killed": server_killed,
                "a storing process killed": storing_process_killed,
                "the server stopped": server_stopped,
            },
            lambda: serves(server.url),
        )


SINGLE = (
    "a web process killed",
    "the spans worker killed",
    "the runs worker killed",
    "Redis killed",
    "Redis emptied",
    "MariaDB killed",
    "MariaDB cut off",
    "Redis cut off",
)


@contextlib.contextmanager
def services(folder: Path) -> Iterator[Recordable]:
    with running_system(folder) as system:
        chosen = {name: partial(_made, system, FAULTS[name]) for name in SINGLE}
        cuts = {
            "the connections to MariaDB cut": lambda _: _cut_connections(system.mariadb, system.database),
            "the connections to Redis cut": lambda _: _cut_redis(system.redis.client()),
        }
        yield Recordable(_clients(system), chosen | cuts, system.ready)


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Recordable]:
    with running_cluster(folder) as system:
        chosen = {name: partial(_made, system, fault) for name, fault in CLUSTER_FAULTS.items()}
        yield Recordable(_clients(system), chosen, system.ready)


def _clients(system: AnySystem) -> list[Client]:
    return [system.client(web) for web in range(len(system.deployment.urls))]


def _made(system: AnySystem, fault: Fault, chooser: random.Random) -> None:
    with fault(system):
        time.sleep(chooser.random() * FAULT_S)


def _cut_connections(mariadb: MariaDB, database: str) -> None:
    import MySQLdb  # Compiled, so not on every machine.

    for (thread,) in mariadb.execute(f"SELECT id FROM information_schema.processlist WHERE db = '{database}'"):
        with contextlib.suppress(MySQLdb.OperationalError):  # It ended meanwhile.
            mariadb.execute(f"KILL {thread}")


def _cut_redis(client: redis.Redis) -> None:
    with client:
        client.client_kill_filter(_type="normal", skipme=True)


SYSTEMS = {"SQLite": embedded, "MariaDB": services, "Galera": cluster}
