"""Blocks: bodies of spans that are compressed together. `span_packing.py` writes them.

A block never changes: what is left of it after a removal gets a new row. So a reader either finds the block that a
span's row named, or reads the span's row again.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Column, Connection, select

from app.models import queries
from app.models.base import BigInt, MediumBlob, new_table, no_index

# Without foreign keys and indexes: a block is found by the id that the rows of its spans have.
span_blocks = new_table(
    "span_blocks",
    Column("project_id", BigInt, nullable=False),
    # The ids of the traces of its spans, 16 bytes each.
    Column("traces", MediumBlob, nullable=False),
    Column("body", MediumBlob, nullable=False),
)
_C = span_blocks.c


def bodies_of(connection: Connection, *, project_id: int, ids: Collection[int]) -> dict[int, bytes]:
    """Return the stored bodies of blocks by their ids."""
    of_project = select(_C.id, _C.body).where(no_index(_C.project_id) == project_id)
    pieces = queries.pieces(sorted(ids))
    return {row.id: row.body for piece in pieces for row in connection.execute(of_project.where(_C.id.in_(piece)))}
