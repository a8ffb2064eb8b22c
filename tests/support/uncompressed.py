"""Texts and spans as releases without compression stored them, and what compresses them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Column, select

from app.models.compression import store_texts
from app.models.span_bodies import scope_of
from app.models.spans import SPAN_COLUMNS, SpanRow, replace_bodies, spans
from app.services.data.compression import COMPRESSED_COLUMNS as COMPRESSED
from app.wiring.container import Container
from tests.support.readable import bodies_of
from tests.support.world import World


@contextmanager
def uncompressed(world: World) -> Iterator[None]:
    """Store the texts of the block uncompressed."""
    database = world.container.database
    store_texts(database, compressed=False)
    try:
        yield
    finally:
        store_texts(database, compressed=True)


def compress_all(container: Container, *columns: Column[Any]) -> None:
    """Compress what is stored, as `reprise compress` does, or only some columns of it."""
    service = container.services.compression
    for column in columns or COMPRESSED:
        for _ in service.compress(column, until_id=service.last_id(column)):
            pass


def pack(world: World) -> None:
    """Pack all turns of a project, as the clock does an hour later."""
    for _ in world.container.services.span_packer.pack_project(world.project_id):
        pass


def store_spans_plain(world: World) -> int:
    """Store all spans of a project again as they were sent; returns their number."""
    bodies, c = bodies_of(world, world.project_id), spans.c
    listed = select(*(c[name] for name in SPAN_COLUMNS)).where(c.project_id == world.project_id)
    with world.container.database.write() as connection:
        rows = [SpanRow(*row) for row in connection.execute(listed.order_by(c.trace_id, c.span_id))]
        scopes = {row.key: row.scope for row in rows}
        whole = [row._replace(scope=scope_of(row.key, bytes(row.body), scopes), body=bodies[row.key]) for row in rows]
        replace_bodies(connection, whole)
    return len(bodies)
