"""Texts and spans as releases without compression stored them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from app.models.compression import store_texts
from app.models.spans import store_bodies
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


def store_spans_plain(world: World) -> int:
    """Store all spans of a project again as they were sent; returns their number."""
    bodies = bodies_of(world, world.project_id)
    with world.container.database.write() as connection:
        store_bodies(connection, project_id=world.project_id, bodies=bodies)
    return len(bodies)
