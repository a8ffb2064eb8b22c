"""Statements about many rows, for ingest: INSERTs of hundreds of rows, which SQLAlchemy's own would take apart."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection

# Well under the smallest packet limit a server ships with (MariaDB: 16 MiB); a larger row goes alone.
STATEMENT_BYTES = 4 * 1024 * 1024

# Longer lists of keys make no statement faster, and databases take only so many parameters.
KEYS_PER_STATEMENT = 500

Key = TypeVar("Key")
Rule = Literal["new", "least", "greatest"]
Row = tuple[Any, ...]
_SQLITE = {"new": "excluded.{c}", "least": "min({c}, excluded.{c})", "greatest": "max({c}, excluded.{c})"}
_MYSQL = {"new": "VALUES({c})", "least": "LEAST({c}, VALUES({c}))", "greatest": "GREATEST({c}, VALUES({c}))"}


def pieces(keys: Sequence[Key]) -> Iterator[Sequence[Key]]:
    """The keys in lists that fit one statement."""
    return (keys[start : start + KEYS_PER_STATEMENT] for start in range(0, len(keys), KEYS_PER_STATEMENT))


def insert_new(connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Row]) -> int:
    """Insert the rows whose unique keys are free; returns their number.

    IGNORE reports that number, which an update that changes nothing (`queries.put_row`) does not. Other errors that it
    would hide, such as NULL or text that is too long, can't occur: the rows were validated before.
    """
    verb = "INSERT OR IGNORE" if connection.dialect.name == "sqlite" else "INSERT IGNORE"
    return _insert(connection, f"{verb} INTO {table}", columns, rows, "")


def upsert(
    connection: Connection,
    table: str,
    columns: Sequence[str],
    rows: Sequence[Row],
    *,
    key: Sequence[str],
    update: Mapping[str, Rule],
) -> None:
    """Insert the rows; where the unique `key` is taken, update each column of `update` by its rule."""
    if connection.dialect.name == "sqlite":
        changes = ", ".join(f"{c} = {_SQLITE[rule].format(c=c)}" for c, rule in update.items())
        tail = f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}"
    else:
        tail = " ON DUPLICATE KEY UPDATE " + ", ".join(
            f"{c} = {_MYSQL[rule].format(c=c)}" for c, rule in update.items()
        )
    _insert(connection, f"INSERT INTO {table}", columns, rows, tail)


def _insert(connection: Connection, head: str, columns: Sequence[str], rows: Sequence[Row], tail: str) -> int:
    head = f"{head} ({', '.join(columns)}) VALUES "
    if connection.dialect.name == "sqlite":
        group = f"({', '.join('?' * len(columns))})"
        return connection.exec_driver_sql(head + group + tail, list(rows)).rowcount if rows else 0
    group = f"({', '.join(['%s'] * len(columns))})"
    count = 0
    for chunk in _by_size(rows):
        # The driver accepts no memoryviews; only those of one chunk are copied at a time.
        values = tuple(bytes(value) if type(value) is memoryview else value for row in chunk for value in row)
        count += connection.exec_driver_sql(head + ",".join([group] * len(chunk)) + tail, values).rowcount
    return count


def _by_size(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    start = size = 0
    for end, row in enumerate(rows):
        row_size = sum(len(value) for value in row if isinstance(value, bytes | memoryview | str))
        if end > start and size + row_size > STATEMENT_BYTES:
            yield rows[start:end]
            start, size = end, 0
        size += row_size
    if start < len(rows):
        yield rows[start:]


_RANDOM_BITS = 21


def first_batch_id(when: datetime) -> int:
    """The lowest id of batches that were received at this time or later."""
    return int(when.timestamp() * 1000) << _RANDOM_BITS


def new_batch_id(now: datetime) -> int:
    """Milliseconds since 1970 and 21 random bits, which tell the attempts of one millisecond apart."""
    return first_batch_id(now) | secrets.randbits(_RANDOM_BITS)
