"""Statements in the shapes that most tables need, and dataclasses made from the rows that they select."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Executable,
    Insert,
    LargeBinary,
    Select,
    Table,
    and_,
    cast,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.mysql import insert as mysql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

Row = TypeVar("Row")
ROWS_PER_GROUP = 16
"""The rows of each group that `small_groups` reads together with those of the others."""


def columns_of(row_type: type[Any], table: Table, **elsewhere: ColumnElement[Any]) -> list[ColumnElement[Any]]:
    """Return the columns of a dataclass's fields, in their order: of the table, or of `elsewhere` by field name."""
    return [elsewhere[f.name] if f.name in elsewhere else table.c[f.name] for f in fields(row_type)]


def bytes_of(text: ColumnElement[Any]) -> ColumnElement[int]:
    """Return the number of bytes of a text. SQLite's `length` of a text ends at a NUL."""
    return func.length(cast(text, LargeBinary))


def find_row(
    connection: Connection,
    make: Callable[..., Row],
    statement: Executable,
    parameters: Mapping[str, Any] | None = None,
) -> Row | None:
    """Return the row that a statement selects, made by calling `make` with its columns; None if there is none.

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
    """Return all rows that a statement selects, each made by calling `make` with its columns."""
    return [make(*row) for row in connection.execute(statement, parameters)]


def id_pairs(connection: Connection, statement: Executable) -> dict[int, int]:
    """Return the rows of a statement that selects two ids, as {first: second}."""
    return {row[0]: row[1] for row in connection.execute(statement)}


def newest_first(
    statement: Select[Any], id_column: ColumnElement[int], *, before_id: int | None = None, limit: int | None = None
) -> Select[Any]:
    """Return the statement in descending order of ids: at most `limit` rows with ids below `before_id`."""
    below = statement if before_id is None else statement.where(id_column < before_id)
    return below.order_by(id_column.desc()).limit(limit)


def in_order(
    statement: Select[Any],
    key: ColumnElement[Any],
    id_column: ColumnElement[int],
    *,
    descending: bool,
    last_id: int | None,
    limit: int | None,
) -> Select[Any]:
    """Return the statement in the order of `key`, then of ids: at most `limit` rows after the one with `last_id`."""
    if last_id is not None:
        last = select(key).where(id_column == last_id).correlate(None).scalar_subquery()
        beyond, further = (key < last, id_column < last_id) if descending else (key > last, id_column > last_id)
        statement = statement.where(or_(beyond, and_(key == last, further)))
    columns = (key.desc(), id_column.desc()) if descending else (key, id_column)
    return statement.order_by(*columns).limit(limit)


def small_groups(
    connection: Connection, statement: Select[Any], column: Column[bytes], values: Collection[bytes], most: int
) -> Iterator[tuple[bytes, Sequence[Any]]]:
    """Yield each value of the column that at most `most` rows of the statement have, with these rows.

    The statement selects the column. Of a value that more rows have, only `most` + 1 rows are read.
    """
    for piece in pieces(sorted(values)):
        # Mostly one statement has all of them.
        limit = most + ROWS_PER_GROUP * (len(piece) - 1)
        together = connection.execute(statement.where(column.in_(piece)).limit(limit + 1)).all()
        if len(together) > limit:
            for value in piece if len(piece) > 1 else ():
                rows = connection.execute(statement.where(column == value).limit(most + 1)).all()
                if len(rows) <= most:
                    yield value, rows
        else:
            groups: dict[bytes, list[Any]] = {value: [] for value in piece}
            for row in together:
                groups[getattr(row, column.key)].append(row)
            yield from ((value, rows) for value, rows in groups.items() if len(rows) <= most)


def count_rows(connection: Connection, statement: Select[Any]) -> int:
    """Return the number of rows that a statement selects, which should have a limit."""
    return int(connection.scalar(select(func.count()).select_from(statement.subquery())) or 0)


def insert_row(connection: Connection, table: Table, /, **values: Any) -> int:
    """Insert a row; returns its id."""
    return int(connection.execute(insert(table), values).inserted_primary_key[0])  # type: ignore[index]


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Insert rows that have the same columns; returns their ids, in the order of the rows.

    That is one statement on MariaDB, which returns the ids, and one for each row on MySQL and SQLite.
    """
    if len(rows) == 1 or not connection.dialect.insert_executemany_returning_sort_by_parameter_order:
        return [insert_row(connection, table, **row) for row in rows]
    return list(connection.scalars(insert(table).returning(table.c.id, sort_by_parameter_order=True), rows))


def update_rows(connection: Connection, table: Table, /, key: Mapping[str, Any], **values: Any) -> None:
    """Set columns of the rows that have the values of `key`."""
    connection.execute(update(table).filter_by(**key).values(**values))


def delete_rows(connection: Connection, table: Table, /, **key: Any) -> int:
    """Delete the rows that have the values of `key`; returns their number."""
    return connection.execute(delete(table).filter_by(**key)).rowcount


def changes_row(connection: Connection, statement: Executable) -> bool:
    """Execute an UPDATE or DELETE; returns whether exactly one row matched."""
    return connection.execute(statement).rowcount == 1


def lock_rows(connection: Connection, table: Table, *conditions: ColumnElement[bool]) -> None:
    """Lock rows until the commit by a change of their `lock_count`, for a rule about other rows.

    A lock by SELECT … FOR UPDATE only holds on one node. Nodes of a Galera cluster compare the rows that transactions
    change: if two transactions change the same row on two nodes, the second commit is refused with 1213.
    """
    connection.execute(update(table).where(*conditions).values(lock_count=table.c.lock_count + 1))


def put_row(
    connection: Connection,
    table: Table,
    *,
    key: Mapping[str, Any],
    values: Mapping[str, Any] | None = None,
    new: Mapping[str, Any] | None = None,
) -> None:
    """Insert a row, or set `values` where its unique `key` exists; `new` are further values of an inserted row.

    Without values, an existing row does not change. MySQL then executes an update that changes nothing, because INSERT
    IGNORE would also hide other errors and truncate data that is too long.
    """
    row = {**key, **(values or {}), **(new or {})}
    connection.execute(_upsert(connection, table, row, list(key), values or {}))


def put_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], *, key: Sequence[str]) -> None:
    """Insert the rows with a new unique `key`; existing rows do not change."""
    if connection.dialect.name == "sqlite":
        statement: Insert = sqlite_insert(table).on_conflict_do_nothing(index_elements=key)
    else:
        statement = mysql_insert(table).on_duplicate_key_update(_unchanged(table, key))
    if rows:
        connection.execute(statement, rows)


def _upsert(
    connection: Connection, table: Table, row: Mapping[str, Any], key: list[str], changes: Mapping[str, Any]
) -> Insert:
    if connection.dialect.name == "sqlite":
        added = sqlite_insert(table).values(row)
        if not changes:
            return added.on_conflict_do_nothing(index_elements=key)
        return added.on_conflict_do_update(index_elements=key, set_=changes)
    return mysql_insert(table).values(row).on_duplicate_key_update(dict(changes) or _unchanged(table, key))


def _unchanged(table: Table, key: Sequence[str]) -> dict[str, ColumnElement[Any]]:
    """Return the update of a row that changes nothing.

    It names the key's last column, because Vitess refuses an update of the column that it finds the shard by, which may
    be the first one.
    """
    return {key[-1]: table.c[key[-1]]}


# Longer lists of keys make no statement faster, and databases limit the number of parameters.
KEYS_PER_STATEMENT = 500

Key = TypeVar("Key")


def pieces(keys: Sequence[Key], size: int = KEYS_PER_STATEMENT) -> Iterator[Sequence[Key]]:
    """Return the keys in lists that fit one statement, or of `size` keys where each row needs much memory."""
    return (keys[start : start + size] for start in range(0, len(keys), size))


_RANDOM_BITS = 21
# Ids of batches have 61 bits since 2004.
_EARLY_BITS = 60


def first_batch_id(when: datetime) -> int:
    """Return the lowest id of batches that were received at this time or later."""
    return int(when.timestamp() * 1000) << _RANDOM_BITS


def new_batch_id(now: datetime) -> int:
    """Return milliseconds since 1970 and 21 random bits, which make ids of the same millisecond differ."""
    return first_batch_id(now) | secrets.randbits(_RANDOM_BITS)


def new_early_id() -> int:
    """Return a random id below the ids of all batches, for a change that no batch made."""
    return 1 + secrets.randbits(_EARLY_BITS)
