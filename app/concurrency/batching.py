"""Lets threads that call another process at the same time share one call, or one transaction."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from sqlalchemy.exc import SQLAlchemyError

from app.concurrency import lasting_changes
from app.concurrency.deadline import left_s
from app.errors import ServiceError, Unavailable

Q = TypeVar("Q")
A = TypeVar("A")

QUESTIONS_PER_ROUND = 128
# The same time as a caller waits for a connection of the database's pool.
WAIT_S = 10.0
# Drivers raise `ValueError` for texts that they cannot encode.
REFUSALS = (SQLAlchemyError, ServiceError, ValueError)


class Coalescer(Generic[Q, A]):
    """Sends the simultaneous questions of several threads in one call of `ask`, like a group commit.

    `ask` gets the questions and returns as many answers, in the same order. If it raises an error, every caller of the
    round gets it. A question that arrives during a round joins the next one, so that no answer is older than its
    question; outside of a round it is sent at once. A round has at most `most` questions. A caller that waits for its
    round longer than `wait_s`, or than its deadline allows, gets `Unavailable`.
    """

    def __init__(
        self, ask: Callable[[Sequence[Q]], Sequence[A]], *, most: int = QUESTIONS_PER_ROUND, wait_s: float = WAIT_S
    ) -> None:
        self._ask = ask
        self._most = most
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._waiting: deque[_Ticket[Q, A]] = deque()
        self._leader: _Ticket[Q, A] | None = None

    def __call__(self, question: Q) -> A:
        ticket: _Ticket[Q, A] = _Ticket(question)
        try:
            if not self._becomes_leader(ticket) and not ticket.woken.acquire(timeout=left_s(self._wait_s)):
                self._give_up(ticket)
            if not ticket.answered:
                self._ask_together(ticket)
        finally:
            if not ticket.answered:
                self._leave(ticket)
        if ticket.error is not None:
            raise ticket.error
        return ticket.answer

    def _becomes_leader(self, ticket: _Ticket[Q, A]) -> bool:
        """Return True if no other caller is the leader, who calls `ask`; queue the ticket otherwise."""
        with self._lock:
            if self._leader is None:
                self._leader = ticket
                return True
            self._waiting.append(ticket)
            return False

    def _leave(self, ticket: _Ticket[Q, A]) -> None:
        """Withdraw a ticket without an answer: a thread that is interrupted must not stop the others."""
        with self._lock:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
            self._hand_on(ticket)

    def _hand_on(self, ticket: _Ticket[Q, A]) -> None:
        """Make the first caller in the queue the leader, if the ticket's caller is the leader."""
        if self._leader is ticket:
            self._leader = self._waiting.popleft() if self._waiting else None
            if self._leader:
                self._leader.woken.release()

    def _give_up(self, ticket: _Ticket[Q, A]) -> None:
        """Raise `Unavailable` for a ticket in the queue; wait on for the answer of one that is in a round.

        The answer may be a lease in Redis, which must not be lost. With a deadline a ticket is given up in a round as
        well, because the leader's deadline may be later.
        """
        with self._lock:
            if ticket in self._waiting:
                raise Unavailable("Too many requests wait for the same answer of the database or Redis; try again.")
        if not ticket.woken.acquire(timeout=left_s(threading.TIMEOUT_MAX)):
            raise Unavailable("The database or Redis does not answer; try again.")

    def _ask_together(self, leader: _Ticket[Q, A]) -> None:
        """Call `ask` with the leader's question and the questions in the queue."""
        together = [leader]
        with ExitStack() as answering:
            answering.push(partial(self._wake, together))
            with self._lock:
                while self._waiting and len(together) < self._most:
                    together.append(self._waiting.popleft())
            answers = self._ask([ticket.question for ticket in together])
            for ticket, answer in zip(together, answers, strict=True):
                ticket.answer = answer

    def _wake(self, together: list[_Ticket[Q, A]], _kind: object, error: BaseException | None, _trace: object) -> None:
        """Hand on to the next leader, and wake the callers of a round, which raise its error."""
        if error is not None and not isinstance(error, Exception):
            # An exception that ends the leader's thread, such as its time limit, must not end the others.
            error = Unavailable("The request was given up before its answer; try again.")
        with self._lock:
            self._hand_on(together[0])
        for ticket in together:
            ticket.error = error
            ticket.answered = True
            ticket.woken.release()


class Forwarder(Generic[Q]):
    """Sends the simultaneous items of several threads in one call of `send`, for which only one thread waits.

    A thread that passes an item during a call leaves it to the thread that makes the call, which then makes another
    call for all items that have arrived. If `send` raises an error, that thread gets it, and the items are sent with
    the next one. So an item may be sent twice, but none is lost.
    """

    def __init__(self, send: Callable[[Sequence[Q]], object], *, most: int = QUESTIONS_PER_ROUND) -> None:
        self._send = send
        self._most = most
        self._lock = threading.Lock()
        self._waiting: deque[Q] = deque()
        self._sender: object = None

    def __call__(self, item: Q) -> None:
        me, items = object(), list[Q]()
        try:
            with self._lock:
                self._waiting.append(item)
                self._sender = self._sender or me
            while self._sender is me and (items := self._next()):
                self._send(items)
        finally:
            with self._lock:
                if self._sender is me:
                    self._waiting.extendleft(reversed(items))
                    self._sender = None

    def _next(self) -> list[Q]:
        """Return the items to send now; without any, the thread of the next item becomes the sender."""
        with self._lock:
            items = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
            if not items:
                self._sender = None
            return items


class GroupCommit(Generic[Q, A]):
    """Commits the simultaneous changes of several threads to one project in one transaction.

    `commit` gets the changes and returns as many results, in the same order; it makes all changes or none. If it raises
    one of `REFUSALS` for several changes, each is committed separately, so that a refused change fails only for its
    caller. `Unavailable` is raised to all callers instead, because another try would fail, too. `project_of` returns
    the id of a change's project: two projects may be on two shards, so each has its own transactions.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Q]], Sequence[A]],
        *,
        project_of: Callable[[Q], int],
        most: int = QUESTIONS_PER_ROUND,
        wait_s: float = WAIT_S,
    ) -> None:
        self._commit = commit
        self._project_of = project_of
        self._most = most
        self._wait_s = wait_s
        self._lock = threading.Lock()
        # A project's entry exists while threads use it.
        self._by_project: WeakValueDictionary[int, Coalescer[Q, A | _Refused]] = WeakValueDictionary()

    def __call__(self, change: Q) -> A:
        lasting_changes.note()  # here, because another thread may commit the change
        result = self._together(self._project_of(change))(change)
        if isinstance(result, _Refused):
            raise result.error
        return result

    def _together(self, project_id: int) -> Coalescer[Q, A | _Refused]:
        with self._lock:
            together = self._by_project.get(project_id)
            if together is None:
                together = Coalescer(self._commit_all, most=self._most, wait_s=self._wait_s)
                self._by_project[project_id] = together
            return together

    def _commit_all(self, changes: Sequence[Q]) -> Sequence[A | _Refused]:
        try:
            return self._commit(changes)
        except Unavailable:
            raise
        except REFUSALS:
            if len(changes) == 1:
                raise
        return [self._commit_single(change) for change in changes]

    def _commit_single(self, change: Q) -> A | _Refused:
        try:
            (result,) = self._commit([change])
        except REFUSALS as error:
            return _Refused(error)
        return result


@dataclass(frozen=True, slots=True)
class _Refused:
    error: Exception


def _held_lock() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


@dataclass(slots=True, eq=False)
class _Ticket(Generic[Q, A]):
    """A caller's question. `woken` is locked until the question is answered or its caller becomes the leader.

    A lock is cheaper than a `threading.Event`, which has a lock and a condition.
    """

    question: Q
    answered: bool = False
    error: Exception | None = None
    woken: threading.Lock = field(default_factory=_held_lock)
    answer: A = field(init=False)
