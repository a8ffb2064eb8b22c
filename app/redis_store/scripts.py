"""Lua scripts, which Redis executes by their digest."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha1
from typing import Any

import redis
from redis.exceptions import NoScriptError


class Script:
    """A script of Redis; call it with its keys and arguments.

    redis-py's own looks at every argument of every call for deprecated ones, which takes a fifth of its time.
    """

    def __init__(self, client: redis.Redis, source: str) -> None:
        self._client = client
        self._source = source
        self._digest = sha1(source.encode(), usedforsecurity=False).hexdigest()

    def __call__(self, keys: Sequence[str] = (), arguments: Sequence[Any] = ()) -> Any:
        """Return the script's reply. A Redis that does not know the script is sent it, and keeps it."""
        called = (len(keys), *keys, *arguments)
        try:
            return self._client.execute_command("EVALSHA", self._digest, *called)
        except NoScriptError:
            return self._client.execute_command("EVAL", self._source, *called)
