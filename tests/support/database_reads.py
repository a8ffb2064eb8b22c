"""Counting what a database reads for the statements of this process: instructions of SQLite, or rows of MariaDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, event

INSTRUCTIONS = 10
"""SQLite counts its virtual machine's instructions in steps of so many."""


@contextmanager
def database_reads() -> Iterator[Callable[[], int]]:
    """Return a function that gives the number of reads since the block began, on all connections that it used."""
    counted: dict[int, tuple[Any, int]] = {}
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    def begin(connection: Connection, *_statement: Any) -> None:
        raw = connection.connection.dbapi_connection
        if id(raw) in counted:
            return
        if connection.dialect.name == "sqlite":
            raw.set_progress_handler(step, INSTRUCTIONS)  # type: ignore[union-attr]
            counted[id(raw)] = raw, 0
        else:
            counted[id(raw)] = raw, _rows_read(raw)

    def reads() -> int:
        rows = sum(_rows_read(raw) - before for raw, before in counted.values() if hasattr(raw, "thread_id"))
        return rows + steps

    event.listen(Engine, "before_cursor_execute", begin)
    try:
        yield reads
    finally:
        event.remove(Engine, "before_cursor_execute", begin)
        for raw, _ in counted.values():
            if hasattr(raw, "set_progress_handler"):
                raw.set_progress_handler(None, 0)


def _rows_read(connection: Any) -> int:
    """Return how often the session of a MariaDB connection has read a row, or an entry of an index."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
        return sum(int(count) for _, count in cursor.fetchall())
