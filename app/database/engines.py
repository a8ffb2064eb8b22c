"""The engines of MySQL and SQLite: their pools, and how connections are made, checked and returned.

Waits of a request end at its deadline (see `app/concurrency/deadline.py`).
"""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event, make_url
from sqlalchemy.exc import DisconnectionError

from app.concurrency.deadline import end_of_wait, left_s
from app.database.hosts import DatabaseHosts
from app.database.packed_text import unpack
from config.servers import MYSQL_PORT, hosts_of

# A connection that was used within this time is not pinged. A ping costs as much as a small query.
TRUSTED_S = 1.0
STATEMENT_S = 30  # then the connection is given up
LOCK_WAIT_S = 20
POOL_WAIT_S = 10
CONNECT_S = 10  # to connect to a server, or to ping it
# How long SQLite waits for the lock of another process. A request sets a shorter time, down to `BUSY_MIN_S`. The time
# stays set for the next reader on the connection, and its short waits end within the minimum.
BUSY_S = 30.0
BUSY_MIN_S = 0.5
# A server that has not answered any wait for this long is considered to hang.
OUTAGE_S = 1.0
# Options of an engine: the `DatabaseHosts` that it connects to, None for one host, and its `ConnectionUses`.
HOSTS = "hosts"
USES = "uses"
# An option of a connection to SQLite: the statement that begins its transactions. `EXCLUSIVE` also locks for writing.
BEGIN, EXCLUSIVE = "begin", "BEGIN IMMEDIATE"
# A function of SQLite that returns the text of a packed form.
UNPACK = "reprise_unpack"
# The mark of a pooled connection after its transaction was committed.
COMMITTED = "committed"


def build_engine(
    url: str,
    *,
    pool_size: int = 16,
    queries_only: bool = False,
    statement_s: int | None = STATEMENT_S,
    hosts: DatabaseHosts | None = None,
) -> Engine:
    """Return an engine for `mysql://…` (with mysqlclient) or `sqlite:///…`, with the session settings that it needs.

    The most recently used connection is used next, because its caches are warm. A URL of MySQL may have several hosts
    (see `DatabaseHosts`); pass the `hosts` of another engine for the same URL, so that one thread watches them for
    both. `queries_only`: autocommit, which saves the rollback after queries.
    """
    if is_sqlite(url):
        engine = create_engine(
            url,
            pool_size=pool_size,
            pool_use_lifo=True,
            max_overflow=-1,
            hide_parameters=True,
            connect_args={"timeout": BUSY_S},
        )
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        # The same format as SQLAlchemy's. Python's adapters are deprecated, and omit microseconds that are zero.
        sqlite3.register_adapter(date, date.isoformat)
        sqlite3.register_adapter(datetime, lambda when: when.isoformat(" ", "microseconds"))
        return engine
    first, addresses = hosts_of(url, MYSQL_PORT)
    parsed = make_url(first).set(drivername="mysql+mysqldb").update_query_dict({"charset": "utf8mb4"})
    if len(addresses) > 1 and not hosts:
        hosts = DatabaseHosts(addresses)
    return mysql_engine(parsed, pool_size=pool_size, queries_only=queries_only, statement_s=statement_s, hosts=hosts)


def mysql_engine(
    url: URL, *, pool_size: int, statement_s: int | None, hosts: DatabaseHosts | None, queries_only: bool = False
) -> Engine:
    """Return an engine for a URL with one host, or for `hosts`. `statement_s` limits a statement; None is no limit."""
    from app.database.mysql_cursor import LiteralCursor  # the compiled driver is not installed everywhere

    uses = ConnectionUses()
    timeouts = {"read_timeout": statement_s, "write_timeout": statement_s} if statement_s else {}
    engine = create_engine(
        url,
        poolclass=BoundedPool,
        pool_size=pool_size,
        pool_use_lifo=True,
        max_overflow=0,
        pool_timeout=POOL_WAIT_S,
        pool_recycle=1800,
        # The texts of prompts and answers must not get into logs with an error's message.
        hide_parameters=True,
        isolation_level="AUTOCOMMIT" if queries_only else "READ COMMITTED",
        skip_autocommit_rollback=queries_only,
        pool_reset_on_return=None,  # see `_reset`
        connect_args={"cursorclass": LiteralCursor, **timeouts},
        execution_options={HOSTS: hosts, USES: uses},
    )
    event.listen(engine, "connect", _prepare_mysql)
    event.listen(engine, "checkout", uses.begin)
    event.listen(engine, "checkin", uses.end)
    event.listen(engine, "close", uses.close)
    if not queries_only:
        event.listen(engine, "reset", _reset)
    if hosts:
        hosts.serve(engine)
    else:
        event.listen(engine, "do_connect", _connect_mysql)
    return engine


def is_sqlite(url: str) -> bool:
    """Return True for the URL of a SQLite database."""
    return url.startswith("sqlite")


class BoundedPool(QueuePool):
    """Lets a request wait for a connection until its deadline, and at most `timeout`.

    SQLAlchemy reads the attribute `_timeout` at each wait; `tests/unit/database/test_engines.py` checks this.
    """

    @property
    def _timeout(self) -> float:
        return left_s(self._longest_s)

    @_timeout.setter
    def _timeout(self, longest_s: float) -> None:
        self._longest_s = longest_s


class ConnectionUses:
    """Limits each use of an engine's MySQL connections (`BoundedConnection`) to the deadline of its thread.

    `on_outage` is called when a use was cut off, and the server has not answered any other use since its beginning.
    Otherwise it may only have been a slow statement.
    """

    def __init__(self) -> None:
        self.on_outage: Callable[[], None] = lambda: None
        self._answered_at = -math.inf

    def begin(self, connection: Any, record: Any, _proxy: Any) -> None:
        """Ping a connection that was idle for a while; without an answer the pool replaces it."""
        began = record.info["began_at"] = time.monotonic()
        if began - record.info.get("used_at", -math.inf) >= TRUSTED_S:
            connection.watch(end_of_wait(CONNECT_S))
            try:
                connection.ping()
            except connection.OperationalError as error:
                raise DisconnectionError from error
            self._answered_at = record.info["began_at"] = time.monotonic()
        until = end_of_wait(math.inf)
        connection.watch(None if until == math.inf else until)

    def end(self, connection: Any, record: Any) -> None:
        """Note the last use of a connection. After a cut it will be pinged, and replaced, before its next use."""
        if connection is None:  # it was closed
            return
        connection.watch(None)
        if connection.cut:
            record.info["used_at"] = -math.inf
        else:
            self._answered_at = record.info["used_at"] = time.monotonic()

    def close(self, connection: Any, record: Any) -> None:
        """Detect an outage when a connection that was cut is closed."""
        connection.watch(None)
        began = record.info.get("began_at", math.inf)
        if connection.cut and self._answered_at <= began and time.monotonic() - began >= OUTAGE_S:
            self.on_outage()


def _connect_mysql(_dialect: Any, _record: Any, args: Any, options: Any) -> Any:
    from app.database.mysql_connection import BoundedConnection  # see `mysql_engine`

    return BoundedConnection(*args, **options, until=end_of_wait(CONNECT_S))


def _reset(connection: Any, record: Any, state: Any) -> None:
    """Roll back an open transaction. SQLAlchemy's pool would also do so after commits, while the caller waits."""
    if not record.info.pop(COMMITTED, False) and not state.terminate_only:
        connection.rollback()


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin_sqlite`, not by Python
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")
    # SQLite's function only changes ASCII, but searches ignore case in all scripts.
    connection.create_function("lower", 1, lambda text: text and str(text).lower(), deterministic=True)
    connection.create_function(UNPACK, 1, _unpacked, deterministic=True)


def _unpacked(stored: str | None) -> str | None:
    """Return the text of a packed form, or None, like MySQL's UNCOMPRESS, if it is damaged."""
    try:
        return stored and unpack(stored)
    except ValueError:
        return None


def _begin_sqlite(connection: Connection) -> None:
    # A writer locks from the start: the upgrade of a read transaction can fail without waiting.
    begin = connection.get_execution_options().get(BEGIN, "BEGIN")
    if begin == EXCLUSIVE:
        _bound_lock_wait(connection)
    connection.exec_driver_sql(begin)


def _bound_lock_wait(connection: Connection) -> None:
    """Let SQLite wait for the lock until the thread's deadline."""
    busy_ms = math.ceil(max(BUSY_MIN_S, left_s(BUSY_S)) * 1000)
    if connection.info.get("busy_ms") != busy_ms:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {busy_ms}")
        connection.info["busy_ms"] = busy_ms


def _prepare_mysql(connection: Any, _record: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SET time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', "
            f"innodb_lock_wait_timeout = {LOCK_WAIT_S}"
        )
