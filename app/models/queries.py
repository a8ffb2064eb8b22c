"""Statements in the shapes that most tables need, and dataclasses made from the rows that they select.

Ingest inserts hundreds of rows at once. SQLAlchemy's own inserts would split them into several statements.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from itertools import chain
from typing import Any, Literal, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    Insert,
    Select,
    Table,
    and_,
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


def columns_of(row_type: type[Any], table: Table, **elsewhere: ColumnElement[Any]) -> list[ColumnElement[Any]]:
    """Columns that fill a dataclass, in the order of its fields: those of the table, or `elsewhere` by field name."""
    return [elsewhere[f.name] if f.name in elsewhere else table.c[f.name] for f in fields(row_type)]


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


# A statement has at most twice these bytes, as bytes are sent in hexadecimal digits. That is well under the smallest
# packet limit that a server ships with (MariaDB: 16 MiB). A larger row gets a statement for itself.
STATEMENT_BYTES = 4 * 1024 * 1024

# Longer lists of keys make no statement faster, and databases limit the number of parameters.
KEYS_PER_STATEMENT = 500

Key = TypeVar("Key")
Rule = Literal["new", "least", "greatest", "plus", "first", "extent"]
Values = tuple[Any, ...]
# "first" keeps what is not NULL. "extent" is the time from the earliest start to the latest end. It is written before
# the rules of these two columns, because MySQL would otherwise read their new values.
_SQLITE = {
    "new": "excluded.{c}",
    "least": "min({c}, excluded.{c})",
    "greatest": "max({c}, excluded.{c})",
    "plus": "{c} + excluded.{c}",
    "first": "coalesce({c}, excluded.{c})",
    "extent": "max(last_ns, excluded.last_ns) - min(start_ns, excluded.start_ns)",
}
_MYSQL = {
    "new": "VALUES({c})",
    "least": "LEAST({c}, VALUES({c}))",
    "greatest": "GREATEST({c}, VALUES({c}))",
    "plus": "{c} + VALUES({c})",
    "first": "COALESCE({c}, VALUES({c}))",
    "extent": "GREATEST(last_ns, VALUES(last_ns)) - LEAST(start_ns, VALUES(start_ns))",
}


def pieces(keys: Sequence[Key]) -> Iterator[Sequence[Key]]:
    """Return the keys in lists that fit one statement."""
    return (keys[start : start + KEYS_PER_STATEMENT] for start in range(0, len(keys), KEYS_PER_STATEMENT))


# MySQL's codes for: NULL where a value is required, number out of range, truncated value, wrong type, too long.
_CHANGED = frozenset({1048, 1264, 1265, 1366, 1406})


def insert_all(connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Values]) -> int:
    """Insert rows that are all new; returns their number."""
    return _insert(connection, f"INSERT INTO {table}", columns, rows, "")


def insert_new(connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Values]) -> int:
    """Insert the rows with new unique keys; returns their number.

    IGNORE reports that number, unlike an update that changes nothing (`put_row`). It also truncates what is too long,
    even in MySQL's strict mode; then `ValueError` is raised.
    """
    verb = "INSERT OR IGNORE" if connection.dialect.name == "sqlite" else "INSERT IGNORE"
    return _insert(connection, f"{verb} INTO {table}", columns, rows, "")


def upsert(
    connection: Connection,
    table: str,
    columns: Sequence[str],
    rows: Sequence[Values],
    *,
    key: Sequence[str],
    update: Mapping[str, Rule],
) -> bool:
    """Insert the rows; where the unique `key` is taken, update each column of `update` by its rule.

    Returns whether all rows are known to be new: MySQL counts a row that is changed twice, SQLite once.
    """
    if connection.dialect.name == "sqlite":
        changes = ", ".join(f"{c} = {_SQLITE[rule].format(c=c)}" for c, rule in update.items())
        tail = f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}"
    else:
        tail = " ON DUPLICATE KEY UPDATE " + ", ".join(
            f"{c} = {_MYSQL[rule].format(c=c)}" for c, rule in update.items()
        )
    count = _insert(connection, f"INSERT INTO {table}", columns, rows, tail)
    return connection.dialect.name != "sqlite" and count == len(rows)


def _insert(connection: Connection, head: str, columns: Sequence[str], rows: Sequence[Values], tail: str) -> int:
    head = f"{head} ({', '.join(columns)}) VALUES "
    if connection.dialect.name == "sqlite":
        group = f"({', '.join('?' * len(columns))})"
        return connection.exec_driver_sql(head + group + tail, list(rows)).rowcount if rows else 0
    group = f"({', '.join(['%s'] * len(columns))})"
    count = 0
    for chunk in by_size(rows, _row_bytes, STATEMENT_BYTES):
        values = tuple(chain.from_iterable(chunk))
        inserted = connection.exec_driver_sql(head + ",".join([group] * len(chunk)) + tail, values).rowcount
        if head.startswith("INSERT IGNORE"):
            _refuse_changed(connection, len(chunk) - inserted)
        count += inserted
    return count


def _refuse_changed(connection: Connection, duplicates: int) -> None:
    """Raise `ValueError` if the server has changed a value of the rows that were just inserted."""
    driver: Any = connection.connection.driver_connection
    # A duplicate causes one warning.
    if driver.warning_count() > duplicates:
        changed = [text for _, code, text in connection.exec_driver_sql("SHOW WARNINGS") if code in _CHANGED]
        if changed:
            raise ValueError(f"A row does not fit its table: {changed[0]}")


def by_size(rows: Sequence[Row], size_of: Callable[[Row], int], most: int) -> Iterator[Sequence[Row]]:
    """Yield the rows in lists with a total size of at most `most`; a larger row is in a list by itself."""
    start = size = 0
    for end, row in enumerate(rows):
        row_size = size_of(row)
        if end > start and size + row_size > most:
            yield rows[start:end]
            start, size = end, 0
        size += row_size
    if start < len(rows):
        yield rows[start:]


_SIZED = frozenset({bytes, memoryview, str})


def _row_bytes(row: Values) -> int:
    return sum([len(value) for value in row if type(value) in _SIZED])


_RANDOM_BITS = 21


def first_batch_id(when: datetime) -> int:
    """Return the lowest id of batches that were received at this time or later."""
    return int(when.timestamp() * 1000) << _RANDOM_BITS


def new_batch_id(now: datetime) -> int:
    """Return milliseconds since 1970 and 21 random bits, which make ids of the same millisecond differ."""
    return first_batch_id(now) | secrets.randbits(_RANDOM_BITS)
