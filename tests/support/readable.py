"""Where a word can be read: in which tables, and under which keys of Redis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import select

from app.models import metadata
from tests.support.world import World


def readable(world: World, word: str) -> list[Any]:
    """The tables and keys, in whichever project."""
    return [*tables_with(world, word), *keys_with(world, word)]


def tables_with(world: World, word: str) -> list[str]:
    found = []
    with world.container.database.read() as connection:
        for table in metadata.sorted_tables:
            # By its types, as bodies are compressed.
            rows = connection.execute(select(table)).all()
            if any(_has(value, word) for row in rows for value in row):
                found.append(table.name)
    return found


def _has(value: object, word: str) -> bool:
    return word.encode() in value if isinstance(value, bytes) else word in str(value)


def keys_with(world: World, word: str) -> list[bytes]:
    client: Any = world.container.redis.commands
    readers: dict[bytes, Callable[[bytes], Any]] = {
        b"string": client.get,
        b"hash": client.hgetall,
        b"stream": client.xrange,
        b"list": lambda key: client.lrange(key, 0, -1),
        b"set": client.smembers,
        b"zset": lambda key: client.zrange(key, 0, -1),
    }
    found = []
    for key in client.scan_iter():
        read = readers.get(client.type(key))
        if read and word in str(read(key)):
            found.append(key)
    return found
