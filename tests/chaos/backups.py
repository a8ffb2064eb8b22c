"""A backup that is taken during a fault, and whether the restored copy keeps every promise that was made before it."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Self

from app.redis_store.broker import QUEUES, workers_seen
from tests.chaos.load import Load, Promised
from tests.chaos.system import AnySystem
from tests.support.deployment import run_to_end
from tests.support.galera import GaleraCluster
from tests.support.mariadb import MariaDB
from tests.support.waiting import NotReady, wait_until

AGAIN_S = 0.2


class Backup:
    """Dumps the database from `begin` on, again while the server fails, until the end of the `with` block.

    `promised` was acknowledged before the dump began.
    """

    def __init__(self, system: AnySystem, load: Load) -> None:
        self._system, self._load = system, load
        # Not on the disk of the database, which a fault fills.
        self._file = system.deployment.home / "backup.sql"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._repeat, daemon=True)
        self._is_complete = False
        self.promised = Promised()

    def __enter__(self) -> Self:
        return self

    def begin(self) -> None:
        self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()

    def wrong(self, lost_or_doubled: Callable[[AnySystem, Promised], list[str]]) -> list[str]:
        """Restore the backup in another database and return what `lost_or_doubled` and `reprise doctor` find there."""
        self._thread.join()
        if not self._is_complete and not self._dumped():
            return ["no backup could be made"]
        name = self._system.mariadb.create_database()
        server = _server(self._system)
        try:
            server.load(self._file, name)
            found = lost_or_doubled(replace(self._system, mariadb=server, database=name), self.promised)
            # A Redis that was emptied knows the workers again when each has sent its next sign of life.
            wait_until(self._all_workers_seen, "workers of all queues")
            env = {**self._system.deployment.env, "DATABASE_URL": server.url(name)}
            run_to_end(["reprise", "doctor", "--deep"], env)
        except NotReady as problem:
            found.append(str(problem))
        finally:
            server.drop_database(name)
        return [f"the restored backup: {problem}" for problem in found]

    def _all_workers_seen(self) -> bool:
        with self._system.redis.client() as client:
            return all(workers_seen(client, queue) for queue in QUEUES)

    def _repeat(self) -> None:
        while not self._dumped() and not self._over.wait(AGAIN_S):
            pass

    def _dumped(self) -> bool:
        """Dump the database and return whether the server answered until the end."""
        self.promised = self._load.promised_until_now()
        try:
            _server(self._system).dump(self._system.database, self._file)
        except subprocess.CalledProcessError:
            return False
        self._is_complete = True
        return True


def _server(system: AnySystem) -> MariaDB:
    """Return the server, or the node that no fault harms."""
    return system.mariadb.nodes[-1] if isinstance(system.mariadb, GaleraCluster) else system.mariadb
