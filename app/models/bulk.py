"""Inserts of many rows at once: hundreds in one statement, which SQLAlchemy's own inserts would split."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection

from app.models.base import ExactString, metadata

Row = TypeVar("Row")
# A statement has at most twice these bytes, as bytes are sent in hexadecimal digits. That is well under the smallest
# packet limit that a server ships with (MariaDB: 16 MiB). A larger row gets a statement for itself.
STATEMENT_BYTES = 4 * 1024 * 1024

Rule = Literal["new", "least", "greatest", "plus", "first", "extent", "append"]
Values = tuple[Any, ...]
# "first" keeps a stored value that is not NULL. "append" does not change a stored NULL. "extent" is the time from the
# earliest start to the latest end; a statement has it before the rules of `start_ns` and `last_ns`, because MySQL would
# otherwise read their new values.
_SQLITE = {
    "new": "excluded.{c}",
    "least": "min({c}, excluded.{c})",
    "greatest": "max({c}, excluded.{c})",
    "plus": "{c} + excluded.{c}",
    "first": "coalesce({c}, excluded.{c})",
    "extent": "max(last_ns, excluded.last_ns) - min(start_ns, excluded.start_ns)",
    "append": "CAST({c} || excluded.{c} AS BLOB)",
}
_MYSQL = {
    "new": "VALUES({c})",
    "least": "LEAST({c}, VALUES({c}))",
    "greatest": "GREATEST({c}, VALUES({c}))",
    "plus": "{c} + VALUES({c})",
    "first": "COALESCE({c}, VALUES({c}))",
    "extent": "GREATEST(last_ns, VALUES(last_ns)) - LEAST(start_ns, VALUES(start_ns))",
    "append": "CONCAT({c}, VALUES({c}))",
}
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

    Returns whether all rows are known to be new. MySQL's row count has 1 for a new row and 2 for a changed one.
    SQLite's has 1 for both, so that it is never known there.
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
    rows = _unpadded(head.rpartition(" ")[2], columns, rows)
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


def _unpadded(table: str, columns: Sequence[str], rows: Sequence[Values]) -> Sequence[Values]:
    """Return the rows as `ExactString` stores them."""
    places = _exact_places(table, tuple(columns))
    padded = {n for place in places for n, row in enumerate(rows) if row[place] and row[place][-1] == " "}
    if not padded:
        return rows
    unpadded = list(rows)
    for n in padded:
        row = list(rows[n])
        for place in places:
            row[place] = row[place] and row[place].rstrip(" ")
        unpadded[n] = tuple(row)
    return unpadded


@cache
def _exact_places(table: str, columns: Values) -> tuple[int, ...]:
    """Return the places of the columns that are an `ExactString`."""
    known = metadata.tables[table].c
    return tuple(place for place, name in enumerate(columns) if isinstance(known[name].type, ExactString))


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
