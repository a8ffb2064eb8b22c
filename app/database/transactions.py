"""Transactions for queries and for changes, the errors that database faults become, and retries of lock conflicts."""

from __future__ import annotations

import copy
import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import structlog
from sqlalchemy import Connection, Engine, QueuePool
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.concurrency import lasting_changes
from app.concurrency.breaker import OutageBreaker
from app.concurrency.deadline import ServerTimeout, is_over, left_s
from app.database.engines import (
    BEGIN,
    COMMITTED,
    EXCLUSIVE,
    HOSTS,
    LOCK_WAIT_S,
    OUTAGE_S,
    USES,
    build_engine,
    is_sqlite,
    mysql_engine,
)
from app.database.sqlite_writer_lock import WriterLock, file_of
from app.errors import Unavailable

T = TypeVar("T")
P = ParamSpec("P")
log = structlog.get_logger(__name__)

# Raised for values that a database, its driver or the JSON writer does not accept.
UNSTORABLE = (SQLAlchemyError, TypeError, ValueError, OverflowError, RecursionError)
# MySQL's "lock wait timeout" and "deadlock found": the transaction was rolled back and may be retried.
LOCK_ERRORS = frozenset({1205, 1213})
LOCK_ATTEMPTS = 8
# After an outage, one caller per this many seconds waits for a connection; the others fail immediately.
COOL_DOWN_S = 1.0
# Of a statement that the deadline of its request ended.
LATE = "The database does not answer in time, perhaps because another change holds the same rows; try again."


class Database:
    """Hands out transactions: `read()` for queries, `retrying(work)` for changes, and `write()` in a `retried` method.

    A fault of the server or the network becomes `Unavailable`; the error of a violated constraint is not changed.
    `reader` is an engine only for `read()`, so that queries do not wait for a connection behind changes. A transaction
    of a request ends at the request's deadline. While the server hangs, one caller at a time waits for it.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        reader: Engine | None = None,
        on_lock_retry: Callable[[], None] = lambda: None,
        on_pool_timeout: Callable[[], None] = lambda: None,
    ) -> None:
        self.engine = engine
        self._reader = reader or engine
        self._on_lock_retry = on_lock_retry
        self._on_pool_timeout = on_pool_timeout
        self.engines = frozenset({self.engine, self._reader})
        self._breakers = {
            used: OutageBreaker(
                "The database",
                is_outage=lambda error: isinstance(error, ServerHangs) or None,
                refusal=Unavailable,
                cool_down_s=COOL_DOWN_S,
            )
            for used in self.engines
        }
        self.is_sqlite = engine.dialect.name == "sqlite"
        # SQLite has one writer. Waiting in line here is fair; waiting in its busy handler is not.
        self._thread_lock = threading.RLock()
        # And this process waits in line with the other processes that write to the file.
        self._process_lock = WriterLock(engine.url.database if self.is_sqlite else None)
        self._background_lock: AbstractContextManager[object] = nullcontext()
        # Its transactions lock SQLite for writing from their start; on MySQL it is an ordinary engine.
        self.exclusive_engine = engine.execution_options(**{BEGIN: EXCLUSIVE})
        for used, breaker in self._breakers.items():
            if uses := used.get_execution_options().get(USES):
                uses.on_outage = breaker.note_outage

    @cached_property
    def background(self) -> Database:
        """The same database, for work that no caller waits for.

        On SQLite its changes first wait for each other, so that only one of them at a time competes with requests.
        """
        background = copy.copy(self)
        background._background_lock = threading.RLock()
        return background

    @property
    def file(self) -> Path | None:
        """The file of SQLite; None on MySQL and in memory."""
        return file_of(self.engine.url.database) if self.is_sqlite else None

    @property
    def missing_file(self) -> Path | None:
        """The file of SQLite if it is missing or empty, and the first connection would make it; None otherwise."""
        return self.file if self.file and not (self.file.exists() and self.file.stat().st_size) else None

    def connections(self) -> dict[str, int]:
        """Count this process' connections, in use and idle."""
        pools = [pool for pool in (engine.pool for engine in self.engines) if isinstance(pool, QueuePool)]
        return (
            {"in_use": sum(p.checkedout() for p in pools), "idle": sum(p.checkedin() for p in pools)} if pools else {}
        )

    def dispose(self) -> None:
        """Close the idle connections; the others are closed when they return to the pool."""
        for engine in self.engines:
            engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give the block a connection for queries.

        On MySQL each statement sees what is committed when it begins. On SQLite all see what was committed when the
        first one began, so a block that waits for a change never sees it.
        """
        with translated(), self._connected(self._reader) as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Give the block a transaction: committed at its end, rolled back when it raises an error."""
        if not self.is_sqlite:
            with translated(), self._connected(self.engine) as connection:
                with connection.begin():
                    yield connection
                    lasting_changes.note()
                connection.info[COMMITTED] = True
            return
        with (
            self._background_lock,
            self._writing(),
            self._process_lock,
            translated(),
            self.exclusive_engine.begin() as connection,
        ):
            yield connection
            lasting_changes.note()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock of this process' SQLite writers."""
        if not self._thread_lock.acquire(timeout=left_s(threading.TIMEOUT_MAX)):
            raise Unavailable("The database is busy; try again.")
        try:
            yield
        finally:
            self._thread_lock.release()

    def _connected(self, engine: Engine) -> Connection:
        """Return a connection; raise `ServerHangs` after a wait that shows an outage."""
        began = time.monotonic()
        with self._breakers[engine].guard():
            try:
                return engine.connect()
            except PoolTimeout as error:
                self._on_pool_timeout()
                raise _unavailable("All database connections are in use; try again.", began) from error
            except OperationalError as error:
                if isinstance(error.orig, ServerTimeout):
                    raise _unavailable("The database does not answer; try again.", began) from error
                raise

    @contextmanager
    def unlimited(self) -> Iterator[Connection]:
        """Give the block a connection for changes of the schema, without a transaction or a limit for statements."""
        if self.is_sqlite:
            with self.exclusive_engine.connect() as connection:
                yield connection
            return
        hosts = self.engine.get_execution_options().get(HOSTS)
        engine = mysql_engine(self.engine.url, pool_size=1, statement_s=None, hosts=hosts)
        try:
            with translated():
                connected = engine.connect()
            with connected as connection:
                yield connection
        finally:
            engine.dispose()

    @contextmanager
    def single(self) -> Iterator[Connection]:
        """Give the block a connection that commits each statement, which saves round trips.

        On SQLite, where that saves nothing, it is a transaction.
        """
        commits_by_itself = self._reader is not self.engine
        lasting_changes.note()
        with self.read() if commits_by_itself else self.write() as connection:
            yield connection

    def retrying(self, work: Callable[[Connection], T], *, single: bool = False) -> T:
        """Run `work` in a transaction; repeat it when MySQL chose it as the victim of a lock conflict.

        `single`: `work` changes rows with only one statement.
        """

        def attempt() -> T:
            with self.single() if single else self.write() as connection:
                return work(connection)

        return self.until_committed(attempt)

    def until_committed(self, attempt: Callable[[], T], *, within_s: float = math.inf) -> T:
        """Call `attempt` again when MySQL chose its one transaction as the victim of a lock conflict.

        No attempt begins later than `within_s` seconds after the first one.
        """
        until = time.monotonic() + within_s
        for number in range(1, LOCK_ATTEMPTS + 1):
            try:
                return attempt()
            except LockConflict:
                if number == LOCK_ATTEMPTS or time.monotonic() >= until:
                    raise
                self._on_lock_retry()
                time.sleep(random.uniform(0, 0.01 * 2**number))  # noqa: S311 - jitter, no secret
        raise AssertionError("unreachable")


class HasDatabase(Protocol):
    @property
    def database(self) -> Database: ...


Service = TypeVar("Service", bound=HasDatabase)


def retried(method: Callable[Concatenate[Service, P], T]) -> Callable[Concatenate[Service, P], T]:
    """Call a method of a service again when MySQL chose its transaction as the victim of a lock conflict.

    The method must make exactly one transaction for changes, have no lasting effect before its commit, and query
    nothing after it. Because its caller waits, it is not repeated after a full wait for a lock.
    """

    @wraps(method)
    def called(service: Service, /, *args: P.args, **kwargs: P.kwargs) -> T:
        attempt = partial(method, service, *args, **kwargs)
        return service.database.until_committed(attempt, within_s=LOCK_WAIT_S)

    return called


class ServerHangs(Unavailable):
    """The server did not answer for so long that other callers should not wait for it as well."""


def _unavailable(message: str, began: float) -> Unavailable:
    """Return the error of a wait without an answer that began at `began`.

    A wait that a deadline cut short shows nothing about the server.
    """
    was_long = time.monotonic() - began >= OUTAGE_S
    return (ServerHangs if was_long or not is_over() else Unavailable)(message)


class LockConflict(Unavailable):
    """MySQL rolled this transaction back in favour of another one (1205, 1213)."""


@contextmanager
def translated() -> Iterator[None]:
    """Turn faults of the server or the network into `Unavailable`, with a message for the caller."""
    try:
        yield
    except OperationalError as error:
        code = error.orig.args[0] if error.orig and error.orig.args else None
        if code in LOCK_ERRORS:
            raise LockConflict("The database is busy; try again.") from error
        log.warning("database_unavailable", error=str(error.orig), code=code)
        raise Unavailable(LATE if is_over() else "The database is not available; try again.") from error
    except DBAPIError as error:
        if not error.connection_invalidated:
            raise
        raise Unavailable("The connection to the database was lost; try again.") from error


def build_database(
    url: str, *, pool_size: int, on_lock_retry: Callable[[], None], on_pool_timeout: Callable[[], None]
) -> Database:
    """Return a database with at most `pool_size` connections: on MySQL one half for queries, one half for changes."""
    if is_sqlite(url):
        return Database(build_engine(url, pool_size=pool_size), on_lock_retry=on_lock_retry)
    half = max(1, pool_size // 2)
    engine = build_engine(url, pool_size=half)
    hosts = engine.get_execution_options().get(HOSTS)
    return Database(
        engine,
        reader=build_engine(url, pool_size=half, queries_only=True, hosts=hosts),
        on_lock_retry=on_lock_retry,
        on_pool_timeout=on_pool_timeout,
    )
