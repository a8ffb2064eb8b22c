"""Statements in the shapes that most tables need, and dataclasses made from the rows that they select."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Executable, Insert, Select, Table, delete, insert, update
from sqlalchemy.dialects.mysql import insert as mysql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

Row = TypeVar("Row")


def columns_of(row_type: type[Any], table: Table, **elsewhere: ColumnElement[Any]) -> list[ColumnElement[Any]]:
    """Columns that fill a dataclass, in the order of its fields: those of the table, or `elsewhere` by field name."""
    return [elsewhere[f.name] if f.name in elsewhere else table.c[f.name] for f in fields(row_type)]


def find_row(
    connection: Connection,
    make: Callable[..., Row],
    statement: Executable,
    parameters: Mapping[str, Any] | None = None,
) -> Row | None:
    """The row that a statement selects, made by calling `make` with its columns; None if there is none.

    Raises SQLAlchemy's `MultipleResultsFound` for more than one row.
    """
    row = connection.execute(statement, parameters).one_or_none()
    return None if row is None else make(*row)


def list_rows(
    connection: Connection,
    make: Callable[..., Row],
    statement: Executable,
    parameters: Mapping[str, Any] | None = None,
) -> list[Row]:
    """All rows that a statement selects, each made by calling `make` with its columns."""
    return [make(*row) for row in connection.execute(statement, parameters)]


def newest_first(
    statement: Select[Any], id_column: ColumnElement[int], *, before_id: int | None = None, limit: int | None = None
) -> Select[Any]:
    """The statement in descending order of ids: at most `limit` rows with ids below `before_id`."""
    below = statement if before_id is None else statement.where(id_column < before_id)
    return below.order_by(id_column.desc()).limit(limit)


def insert_row(connection: Connection, table: Table, /, **values: Any) -> int:
    """Insert a row; returns its id."""
    return int(connection.execute(insert(table), values).inserted_primary_key[0])  # type: ignore[index]


def update_rows(connection: Connection, table: Table, /, key: Mapping[str, Any], **values: Any) -> None:
    """Set columns of the rows that have the values of `key`."""
    connection.execute(update(table).filter_by(**key).values(**values))


def delete_rows(connection: Connection, table: Table, /, **key: Any) -> int:
    """Delete the rows that have the values of `key`; returns their number."""
    return connection.execute(delete(table).filter_by(**key)).rowcount


def changes_row(connection: Connection, statement: Executable, parameters: Mapping[str, Any] | None = None) -> bool:
    """Execute an UPDATE or DELETE; returns whether exactly one row matched."""
    return connection.execute(statement, parameters).rowcount == 1


def put_row(
    connection: Connection,
    table: Table,
    *,
    key: Mapping[str, Any],
    values: Mapping[str, Any] | None = None,
    new: Mapping[str, Any] | None = None,
) -> None:
    """Insert a row, or set `values` where its unique `key` is taken; `new` are further values of an inserted row.

    Without values, a row that exists stays as it is. MySQL then executes an update that changes nothing, because
    INSERT IGNORE would also hide other errors and truncate data that is too long.
    """
    row = {**key, **(values or {}), **(new or {})}
    connection.execute(_upsert(connection, table, row, list(key), values or {}))


def _upsert(
    connection: Connection, table: Table, row: Mapping[str, Any], key: list[str], changes: Mapping[str, Any]
) -> Insert:
    if connection.dialect.name == "sqlite":
        added = sqlite_insert(table).values(row)
        if not changes:
            return added.on_conflict_do_nothing(index_elements=key)
        return added.on_conflict_do_update(index_elements=key, set_=changes)
    unchanged = {key[0]: table.c[key[0]]}
    return mysql_insert(table).values(row).on_duplicate_key_update(dict(changes) or unchanged)
