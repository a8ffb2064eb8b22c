"""The engines of MySQL and SQLite: their pools, their connections, and how these are checked and handed back."""

from __future__ import annotations

import math
import sqlite3
import time
from datetime import date, datetime
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DisconnectionError

from app.database_hosts import DatabaseHosts
from app.packed_text import unpack
from config.servers import MYSQL_PORT, hosts_of

# A connection that was used so lately is not pinged again, which costs as much as a small query.
TRUSTED_S = 1.0
# How long a statement may take before its connection is given up, a wait for a lock, and one for a free connection.
STATEMENT_S = 30
LOCK_WAIT_S = 20
POOL_WAIT_S = 10
# An engine's option: the `DatabaseHosts` that it connects to, None for one host.
HOSTS = "hosts"
# A function of SQLite that returns the text of a packed form.
UNPACK = "reprise_unpack"
# What a connection of the pool is marked with whose transaction has ended by a commit.
COMMITTED = "committed"


def build_engine(
    url: str,
    *,
    pool_size: int = 16,
    queries_only: bool = False,
    statement_s: int | None = STATEMENT_S,
    hosts: DatabaseHosts | None = None,
) -> Engine:
    """Return an engine for `mysql://…` (by mysqlclient) or `sqlite:///…`, with the pragmas each of them needs.

    The connection that was used last is used next, as it is warm on both sides. A URL of MySQL may have several hosts,
    see `DatabaseHosts`; `hosts` are those of another engine for the same URL, so that one thread watches them for both.
    `queries_only`: each statement for itself, which saves the rollback after it.
    """
    if is_sqlite(url):
        engine = create_engine(
            url,
            pool_size=pool_size,
            pool_use_lifo=True,
            max_overflow=-1,
            hide_parameters=True,
            connect_args={"timeout": 30},
        )
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        # As SQLAlchemy writes them. Python's own adapters are deprecated, and omit microseconds that are zero.
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
    """Return an engine for a URL of one host, or of `hosts`; a statement has `statement_s`, None for any time."""
    from app.mysql_cursor import LiteralCursor  # the driver is compiled, so not everywhere

    timeouts = {"read_timeout": statement_s, "write_timeout": statement_s} if statement_s else {}
    engine = create_engine(
        url,
        pool_size=pool_size,
        pool_use_lifo=True,
        max_overflow=0,
        pool_timeout=POOL_WAIT_S,
        pool_recycle=1800,
        # Texts of prompts and answers must not reach a log with an error's message.
        hide_parameters=True,
        isolation_level="AUTOCOMMIT" if queries_only else "READ COMMITTED",
        skip_autocommit_rollback=queries_only,
        pool_reset_on_return=None,  # see `_reset`
        connect_args={"connect_timeout": 5, "cursorclass": LiteralCursor, **timeouts},
        execution_options={HOSTS: hosts},
    )
    event.listen(engine, "connect", _prepare_mysql)
    event.listen(engine, "checkout", _check_alive)
    event.listen(engine, "checkin", _note_use)
    if not queries_only:
        event.listen(engine, "reset", _reset)
    if hosts:
        hosts.serve(engine)
    return engine


def is_sqlite(url: str) -> bool:
    """Return True for the URL of a SQLite database."""
    return url.startswith("sqlite")


def _check_alive(connection: Any, record: Any, _proxy: Any) -> None:
    """Ping a connection that was idle for a while; the pool replaces one that does not answer."""
    if time.monotonic() - record.info.get("used_at", -math.inf) < TRUSTED_S:
        return
    try:
        connection.ping()
    except connection.OperationalError as error:
        raise DisconnectionError from error


def _note_use(_connection: Any, record: Any) -> None:
    record.info["used_at"] = time.monotonic()


def _reset(connection: Any, record: Any, state: Any) -> None:
    """Roll back what is left of a transaction. The pool does so after each commit, too, for which callers waited."""
    if not record.info.pop(COMMITTED, False) and not state.terminate_only:
        connection.rollback()


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where `Database.write` says so
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
        connection.execute(f"PRAGMA {pragma}")
    # SQLite's own knows ASCII alone, and searches are meant to find any script in any case.
    connection.create_function("lower", 1, lambda text: text and str(text).lower(), deterministic=True)
    connection.create_function(UNPACK, 1, _unpacked, deterministic=True)


def _unpacked(stored: str | None) -> str | None:
    """Return the text of a packed form, None where it is damaged, as MySQL's UNCOMPRESS does."""
    try:
        return stored and unpack(stored)
    except ValueError:
        return None


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes the lock at once: one that upgrades a read transaction can fail without waiting.
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))


def _prepare_mysql(connection: Any, _record: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SET time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', "
            f"innodb_lock_wait_timeout = {LOCK_WAIT_S}"
        )
