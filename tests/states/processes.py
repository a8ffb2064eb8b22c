"""Threads in the place of processes: each stops before its next statement or message, and goes on or dies there.

A transaction for changes is one step for other processes, because SQLite has one writer. A process may die before any
of its statements, so the test looks at the rows before each of them: they show what a split transaction has committed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import redis
from dramatiq import Message
from sqlalchemy import Connection, event

from app.chat import Answer
from app.database.transactions import Database
from app.errors import Unavailable
from app.providers.router import Providers
from app.providers.types import ModelRequest
from app.webhooks.sender import DeliveryAttempt, WebhookSender
from app.work.heartbeat import Heartbeat
from tests.support.waiting import PATIENCE_S

PROCESS = "process"
"""An option of an engine: the process that uses it."""
NO_STEP = ("BEGIN", "PRAGMA")
CHANGES = ("INSERT", "UPDATE", "DELETE")

Fault = Literal["request", "answer", "redis"]
"""What is lost next: a statement before it is executed, the answer after a commit, or the connection to Redis."""
Stop = Literal["query", "change"]
"""What a stopped process does next: a query, or anything that others can notice."""


class Killed(BaseException):
    """The process has died: no code of it has an effect any more."""


class Process:
    """A process that does one piece of work at a time, in a thread that goes on only when `go` is called."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.beats: list[PushedHeartbeat] = []
        self.next: Stop = "change"
        self.in_transaction = False
        self._may_go = threading.Semaphore(0)
        self._has_stopped = threading.Semaphore(0)
        self._working = False
        self._has_acted = False
        self._is_dead = False
        self._fault: Fault | None = None
        self._statements_left: int | None = None
        self._error: BaseException | None = None

    @property
    def is_busy(self) -> bool:
        return self._working

    def begin(self, work: Callable[[], object]) -> None:
        """Begin a piece of work; its first step is done by `go`."""
        self._working, self._is_dead, self._error, self.next = True, False, None, "change"
        threading.Thread(target=self._work, args=(work,), name=self.name, daemon=True).start()

    def _work(self, work: Callable[[], object]) -> None:
        self._may_go.acquire()
        try:
            if not self._is_dead:
                work()
        except BaseException as error:  # noqa: BLE001 - the thread of the test raises it
            self._error = error
        self._working = False
        self._has_stopped.release()

    def go(self) -> BaseException | None:
        """Let the work go on until it stops again or ends; return the error with which it has ended."""
        self._may_go.release()
        assert self._has_stopped.acquire(timeout=PATIENCE_S), f"{self.name} does not stop"
        return None if self._working else self._error

    def kill(self) -> None:
        self._is_dead = True
        self.go()
        assert not self._working
        self.restart()

    def restart(self) -> None:
        """Forget what only the process knew."""
        self.beats, self.in_transaction = [], False
        self.be_whole()

    def be_whole(self) -> None:
        """Cancel the faults that have not happened yet."""
        self._fault = self._statements_left = None

    def has_acted(self) -> bool:
        """Return whether others can see something new of it since the last call."""
        has_acted, self._has_acted = self._has_acted, False
        return has_acted

    def lose(self, fault: Fault) -> None:
        self._fault = fault

    def die_after(self, statements: int) -> None:
        """Let the process die after so many statements of its next transaction, or before the commit."""
        self._statements_left = statements

    # The methods below are called by the work.

    def stop(self, before: Stop = "change") -> None:
        """Wait until the process may go on."""
        self._live()
        self.next = before
        self._has_stopped.release()
        self._may_go.acquire()
        self._live()

    def act(self) -> None:
        self._has_acted = True

    def execute(self, before: Stop) -> None:
        """Wait before a statement; in a transaction only after a change, so that the test can look at the rows."""
        if not self.in_transaction:
            self.stop(before)
        else:
            self._look()
            if self._statements_left is not None:
                self._is_dead = self._is_dead or self._statements_left == 0
                self._statements_left -= 1
        self._live()
        self._raise("request")

    def _look(self) -> None:
        if self._has_acted:
            self.stop()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.in_transaction = True
        try:
            yield
            self._look()
            self._is_dead = self._is_dead or self._statements_left is not None
            self._live()
        finally:
            self.in_transaction, self._statements_left = False, None

    def be_answered(self) -> None:
        """Note the end of a transaction."""
        self._live()
        self._raise("answer")

    def send(self) -> None:
        """Wait before a message to Redis; raises the error of a lost connection."""
        self.stop()
        if self._fault == "redis":
            self._fault = None
            raise redis.ConnectionError("lost")

    def _live(self) -> None:
        if self._is_dead:
            raise Killed

    def _raise(self, fault: Fault) -> None:
        if self._fault == fault:
            self._fault = None
            raise Unavailable(f"The {fault} was lost.")


class SteppedDatabase(Database):
    """The database of one process, which stops before each statement and each transaction for changes."""

    def __init__(self, shared: Database, process: Process) -> None:
        engine, *readers = (
            engine.execution_options(**{PROCESS: process})
            for engine in sorted(shared.engines, key=lambda engine: engine is not shared.engine)
        )
        super().__init__(engine, reader=readers[0] if readers else None)
        self.process = process

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with super().read() as connection:
            yield connection
        self.process.be_answered()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        self.process.stop()
        with super().write() as connection, self.process.transaction():
            yield connection
        self.process.act()
        self.process.be_answered()


@contextmanager
def stepped(database: Database) -> Iterator[None]:
    """Let the processes that use the database's engines stop before their statements."""
    for engine in database.engines:
        event.listen(engine, "before_cursor_execute", _stop_before)
    try:
        yield
    finally:
        for engine in database.engines:
            event.remove(engine, "before_cursor_execute", _stop_before)


def _stop_before(connection: Connection, _cursor: Any, statement: str, *_further: Any) -> None:
    process = connection.get_execution_options().get(PROCESS)
    if process is not None and not statement.startswith(NO_STEP):
        is_change = statement.startswith(CHANGES)
        process.execute("change" if is_change else "query")
        if is_change:
            process.act()


@dataclass(frozen=True, slots=True, kw_only=True)
class SteppedModels(Providers):
    """The builtin models, with a stop before and after each call; `questions` are the ones that were asked.

    `is_right` returns whether a model repeats the question, as it should.
    """

    process: Process
    questions: list[str]
    is_right: Callable[[], bool]

    def complete(self, request: ModelRequest) -> Answer:
        self.process.stop()
        self.questions.append(request.messages[-1].text)
        self.process.act()
        answer = Providers.complete(self, request)
        self.process.stop()
        return answer if self.is_right() else replace(answer, text="Wrong.")


@dataclass(slots=True, kw_only=True)
class SteppedSender(WebhookSender):
    """A receiver of webhooks, with a stop before and after each request; `receive` returns its status."""

    process: Process
    receive: Callable[[str], int]

    def post(self, url: str, headers: Any, body: bytes) -> DeliveryAttempt:
        self.process.stop()
        status = self.receive(headers["webhook-id"])
        self.process.act()
        self.process.stop()
        return DeliveryAttempt(status, "", None, 1)


@dataclass(slots=True, kw_only=True)
class PushedHeartbeat(Heartbeat):
    """A heartbeat without a thread: the test decides when it beats."""

    @contextmanager
    def of(self, row_id: int, token: str) -> Iterator[None]:
        process: Process = self.database.process  # type: ignore[attr-defined]
        self._tokens[row_id] = token
        process.beats.append(self)
        try:
            yield
        finally:
            self._tokens.pop(row_id)
            if self in process.beats:
                process.beats.remove(self)

    def lost(self) -> bool:
        return self._lost

    def beat(self, database: Database) -> None:
        """Touch the rows, as the thread of a heartbeat does while the process waits elsewhere."""
        with database.write() as connection:
            touched = self.table.touch(connection, dict(self._tokens), now=self.now(), values=self.progress())
        self._lost = touched == 0


@dataclass(frozen=True, slots=True)
class Mail:
    """The messages that were sent and not received yet."""

    messages: list[Message[Any]] = field(default_factory=list)

    def enqueue_of(self, process: Process) -> Callable[..., Message[Any]]:
        """Return what a broker of the process does with a message."""

        def enqueue(message: Message[Any], *, delay: int | None = None) -> Message[Any]:
            process.send()
            self.messages.append(message)
            return message

        return enqueue
