"""Rows that many requests would make, copied from one that a request made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sqlalchemy import Table, insert, select

from app.database.transactions import Database
from app.models.base import metadata

ROWS_PER_INSERT = 500
Change = Callable[[int], Any]


def copy_row(database: Database, table: str, row_id: object, count: int, **changes: Change) -> None:
    """Add `count` copies of the row with this id. `changes` make the values of columns from the copy's number."""
    columns = metadata.tables[table]
    with database.read() as connection:
        row = connection.execute(select(columns).where(columns.c.id == row_id)).mappings().one()
    for chunk in _chunks(_copies(row, count, changes)):
        with database.write() as connection:
            connection.execute(insert(columns), chunk)


def add_rows(database: Database, table: str, count: int, values: Callable[[int], Mapping[str, Any]]) -> None:
    """Add `count` rows, each with the values of its number."""
    columns: Table = metadata.tables[table]
    for chunk in _chunks(dict(values(number)) for number in range(1, count + 1)):
        with database.write() as connection:
            connection.execute(insert(columns), chunk)


def _copies(row: Mapping[Any, Any], count: int, changes: Mapping[str, Change]) -> Iterator[dict[str, Any]]:
    kept = {name: value for name, value in row.items() if name != "id"}
    for number in range(1, count + 1):
        yield kept | {name: change(number) for name, change in changes.items()}


def _chunks(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    chunk: list[dict[str, Any]] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == ROWS_PER_INSERT:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
