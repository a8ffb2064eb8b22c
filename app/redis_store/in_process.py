"""The Redis of the embedded mode: a fake server in the process, which wakes only those that a change is for."""

from __future__ import annotations

from collections import defaultdict

import fakeredis
import redis

# Not documented; `tests/unit/redis_store/test_in_process.py` names the version.
from fakeredis._core._database import Database

from app.redis_store import keys


class _Database(Database):
    """Leaves blocked clients asleep while keys change that no client waits for.

    fakeredis wakes all blocked clients at each change of any key. A process has some seven of them, which took 0.2 ms
    of a processor at each change.
    """

    def notify_watch(self, key: bytes) -> None:
        if keys.may_be_waited_for(key) or self.has_watch(key):
            super().notify_watch(key)


def in_process_client() -> redis.Redis:
    """Return a client of a new server, which ends with the last of its clients."""
    server = fakeredis.FakeServer()
    server.dbs = defaultdict(lambda: _Database(server.lock))
    return fakeredis.FakeRedis(server=server, version=(7,))
