"""The Redis of the embedded mode: a fake server in the process, made faster for our commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import fakeredis
import redis

# `_Database` and `_Scripts` use undocumented parts; `tests/unit/redis_store/test_in_process.py` names the version.
from fakeredis._core._database import Database

from app.redis_store import keys


class _Database(Database):
    """Wakes blocked clients only when a key changes that a client may wait for.

    fakeredis wakes all blocked clients at each change of any key. With seven of them each change cost 0.2 ms of CPU
    time.
    """

    def notify_watch(self, key: bytes) -> None:
        if keys.may_be_waited_for(key) or self.has_watch(key):
            super().notify_watch(key)


class _Scripts:
    """A Lua runtime that compiles each script once, and leaves garbage collection to Lua.

    fakeredis compiles a script at each execution, collects all garbage after it, and looks for new global variables at
    each command of it. That was half of the time of a rate limit. The scripts are tested on Redis, which refuses
    scripts that set global variables.
    """

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime
        self._compiled: dict[bytes, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def globals(self) -> Mapping[bytes, Any]:
        return {}

    def execute(self, script: bytes | str) -> Any:
        if isinstance(script, str):  # fakeredis' script that collects garbage
            return None
        if script not in self._compiled:
            self._compiled[script] = self.compile(script)
        return self._compiled[script]()


class _Server(fakeredis.FakeServer):
    """Wraps `_lua_runtime`, which fakeredis sets when the first script is executed."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, _Scripts(value) if name == "_lua_runtime" else value)


def in_process_client() -> redis.Redis:
    """Return a client of a new server, which has one database and lives as long as its clients."""
    server = _Server()
    # fakeredis makes the database at the first connection; two threads that connect at once would get one each.
    server.dbs = {0: _Database(server.lock)}
    return fakeredis.FakeRedis(server=server, version=(7,))
