"""Notes the statements that are executed: all of an engine, or those of the product on MySQL."""

import re
import sqlite3
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.dialects.mysql.mysqldb import MySQLDialect_mysqldb

APP = f"{Path(__file__).parents[2] / 'app'}/"
# What executes statements for others.
BETWEEN = {
    f"{APP}{name}" for name in ("database/transactions.py", "models/bulk.py", "models/queries.py", "work/table.py")
}
VALUES, ROWS = re.compile(r"%s(?:, ?%s)+"), re.compile(r"\(%s\)(?:, ?\(%s\))+")


@contextmanager
def executed(engines: Iterable[Engine] = (), *, thread: int | None = None) -> Iterator[list[str]]:
    """Collect the statements that are executed while the block runs: on all engines and by all threads by default.

    Name the thread, by its identifier, where the workers of the process must not count: they work at any time.
    """
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        if thread in (None, threading.get_ident()):
            statements.append(statement)

    with ExitStack() as stack:
        for target in tuple(engines) or (Engine,):
            event.listen(target, "before_cursor_execute", note)
            stack.callback(event.remove, target, "before_cursor_execute", note)
        yield statements


def call_by_instructions(engine: Engine, every: int = 100) -> None:
    """Let SQLite call a function for this many instructions of its virtual machine, so that `calls_of` sees its work.

    The connections of the engine that exist already do not.
    """

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: Any) -> None:
        connection.set_progress_handler(lambda: None, every)


@contextmanager
def executed_on_mysql() -> Iterator[dict[str, str]]:
    """Collect what the product executes on MySQL while the block runs, whichever thread executes it.

    Statements are the keys, each once and normalised; the values are the functions that executed them first.
    """
    functions: dict[str, str] = {}
    # Hashes, as those of ingest have megabytes.
    known: set[int] = set()

    def note(_cursor: Any, text: str, *_more: Any) -> None:
        # `reprise doctor --deep` asks each server, not a proxy: see docs/capacity.md.
        if text.startswith("CHECK TABLE"):
            return
        # A test may execute the same text before the product does, so that only the product's are known.
        if hash(text) not in known and (function := _product_function(sys._getframe(1))):
            known.add(hash(text))
            functions.setdefault(normalised(text), function)

    with ExitStack() as stack:
        # Of the dialect, so that SQLite's engines call nothing.
        for name in ("do_execute", "do_executemany", "do_execute_no_params"):
            event.listen(MySQLDialect_mysqldb, name, note)
            stack.callback(event.remove, MySQLDialect_mysqldb, name, note)
        yield functions


def normalised(text: str) -> str:
    """Return the statement with one value in the place of a list of them, and one row in the place of several."""
    # What SQLAlchemy writes for a list without values.
    filled = " ".join(text.split()).replace("(NULL) AND (1 != 1)", "(%s)")
    return ROWS.sub("(%s)", VALUES.sub("%s", filled))


def _product_function(frame: FrameType | None) -> str:
    """Return the function of the product, `module.function`, that executes a statement; "" for one of a test's own."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file not in BETWEEN:
            if file.startswith(APP):
                return f"{file.removeprefix(APP).removesuffix('.py').replace('/', '.')}.{frame.f_code.co_name}"
            if "/sqlalchemy/" not in file and not file.endswith(("/contextlib.py", "/_contextlib.py")):
                return ""
        frame = frame.f_back
    return ""
