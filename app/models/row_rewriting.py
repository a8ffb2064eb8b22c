"""Rewrites rows that were stored uncompressed; bodies of spans are joined by `span_rewriting.py`.

The type of a rewritten column has `raw`, its type in the database, `is_plain` and `shorten`: see `compression.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, Connection, Table, bindparam, func, select, type_coerce, update

from app.models.compression import raw_of


def last_id(connection: Connection, table: Table) -> int:
    """Return the highest id of a table, 0 if it is empty."""
    return connection.scalar(select(func.max(table.c.id))) or 0


def plain_rows(
    connection: Connection, *, column: Column[Any], after_id: int, until_id: int
) -> list[tuple[list[int], int]]:
    """List the rows with an uncompressed value and ids in (after_id, until_id]: their ids, and the values' lengths."""
    c, raw, length = column.table.c, raw_of(column), func.length(column)
    stored: Any = column.type
    listed = select(c.id, length).where(c.id > after_id, c.id <= until_id, stored.is_plain(raw)).order_by(c.id)
    # HEX(NULL) is "" on SQLite, so that null counts as a text without a mark there.
    return [([id_], size) for id_, size in connection.execute(listed) if size is not None]


def compress_rows(connection: Connection, *, column: Column[Any], ids: Sequence[int]) -> int:
    """Compress a column of rows, which must not change before the commit; returns the number that became shorter.

    Rows that were compressed since they were listed are skipped, so that no value is compressed twice.
    """
    c, raw = column.table.c, raw_of(column)
    stored: Any = column.type
    locked = select(c.id, raw).where(c.id.in_(ids), stored.is_plain(raw)).with_for_update()
    rows = connection.execute(locked).all()
    shorter = [{"row_id": id_, "stored": new} for id_, old in rows if old and (new := stored.shorten(old)) != old]
    if shorter:
        changed = update(column.table).where(c.id == bindparam("row_id"))
        connection.execute(changed.values({column: type_coerce(bindparam("stored"), raw.type)}), shorter)
    return len(shorter)
