"""Texts as releases without compression stored them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from app.models.compression import store_texts
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
