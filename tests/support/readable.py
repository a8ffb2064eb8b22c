"""Where a word can be read: in which tables, and under which keys of Redis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import select

from app.models import metadata
from app.models.compression import decompress
from app.models.span_blocks import span_blocks
from app.models.span_bodies import SpanKey, read_all
from app.models.spans import spans
from tests.support.world import World


def readable(world: World, word: str) -> list[Any]:
    """The tables and keys, in whichever project."""
    return [*tables_with(world, word), *keys_with(world, word)]


def tables_with(world: World, word: str) -> list[str]:
    names = []
    with world.container.database.read() as connection:
        for table in metadata.sorted_tables:
            # By its types, as most of what is long is compressed.
            values = [value for row in connection.execute(select(table)) for value in row]
            if table is spans:
                projects = connection.scalars(select(spans.c.project_id).distinct()).all()
                values += [body for project_id in projects for body in bodies_of(world, project_id).values()]
            if table is span_blocks:
                values += map(decompress, connection.scalars(select(span_blocks.c.body)))
            if any(_has(value, word) for value in values):
                names.append(table.name)
    return names


def bodies_of(world: World, project_id: int) -> dict[SpanKey, bytes]:
    """Return the bodies of all spans of a project, each of which must be readable."""
    c, b = spans.c, span_blocks.c
    of_project = select(c.trace_id, c.span_id, c.body).where(c.project_id == project_id)
    with world.container.database.read() as connection:
        stored = {(trace_id, span_id): body for trace_id, span_id, body in connection.execute(of_project)}
        of_blocks = select(b.id, b.body).where(b.project_id == project_id)
        blocks = {row.id: row.body for row in connection.execute(of_blocks)}
    scopes = dict.fromkeys(stored, "")
    bodies = {key: body for key, _, body in read_all(stored, scopes, {}, blocks)}
    assert bodies.keys() == stored.keys()
    return bodies


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
    keys = []
    for key in client.scan_iter():
        read = readers.get(client.type(key))
        if read and word in str(read(key)):
            keys.append(key)
    return keys
