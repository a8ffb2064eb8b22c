"""Asks a database whether its files are damaged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from app.database.transactions import Database

DAMAGES_MAX = 5
"""Damages of which the messages are returned: one damaged page may cause thousands."""


def damages(database: Database, tables: Iterable[str]) -> Iterator[str]:
    """Yield what the database reports about damaged pages; of SQLite at most `DAMAGES_MAX` messages.

    SQLite compares its indexes with the rows, and MySQL verifies the checksum of each page. Others may write meanwhile.
    """
    if database.is_sqlite:
        with database.read() as connection:
            yield from _of_file(connection)
        return
    with database.unlimited() as connection:
        for table in tables:
            yield from (f"{table}: {message}" for message in _of_table(connection, table))


def _of_table(connection: Connection, table: str) -> Iterator[str]:
    try:
        results = connection.exec_driver_sql(f"CHECK TABLE `{table}`").all()
    except DBAPIError as error:
        yield str(error.orig)
    else:
        yield from (message for _, _, kind, message in results if (kind, message) != ("status", "OK"))


def _of_file(connection: Connection) -> Iterator[str]:
    try:
        results = connection.exec_driver_sql(f"PRAGMA integrity_check({DAMAGES_MAX})").scalars().all()
    except DBAPIError as error:
        yield str(error.orig)
    else:
        yield from (message for message in results if message != "ok")
