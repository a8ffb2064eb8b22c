"""Files of runs, and encrypted requests, stored until the run ends in chunks that fit any packet limit."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Column, Connection, Integer, Table, UniqueConstraint, delete, insert, select

from app.models.base import OPTIONS, MediumBlob, identifier, metadata, reference

CHUNK_BYTES = 4 * 1024 * 1024

run_file_chunks = Table(
    "run_file_chunks",
    metadata,
    identifier(),
    reference("run_id", "runs"),
    Column("position", Integer, nullable=False),
    Column("chunk", Integer, nullable=False),
    Column("content", MediumBlob, nullable=False),
    UniqueConstraint("run_id", "position", "chunk"),
    **OPTIONS,
)


def add_files(connection: Connection, *, run_id: int, contents: Sequence[bytes]) -> None:
    """One statement per piece: several in one would pass the packet limit again."""
    for position, content in enumerate(contents):
        for chunk, start in enumerate(range(0, len(content), CHUNK_BYTES)):
            values = {"run_id": run_id, "position": position, "chunk": chunk}
            piece = content[start : start + CHUNK_BYTES]
            connection.execute(insert(run_file_chunks).values(content=piece, **values))


def read_files(connection: Connection, *, run_id: int, count: int) -> list[bytes]:
    """The contents of the run's `count` files, in order."""
    return [read_file(connection, run_id=run_id, position=position) for position in range(count)]


def read_file(connection: Connection, *, run_id: int, position: int) -> bytes:
    c = run_file_chunks.c
    pieces = select(c.content).where(c.run_id == run_id, c.position == position).order_by(c.chunk)
    return b"".join(connection.scalars(pieces))


def delete_files(connection: Connection, *, run_id: int) -> None:
    connection.execute(delete(run_file_chunks).where(run_file_chunks.c.run_id == run_id))
