"""One question to another process for all the threads that have the same kind of question at the same time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from app.errors import Unavailable

Q = TypeVar("Q")
A = TypeVar("A")

MOST = 128
# As long as one waits for a connection of the database's pool.
WAIT_S = 10.0


class Coalescer(Generic[Q, A]):
    """Group commit for questions: who comes while one is under way joins the next, together with all the others.

    `ask` takes the questions and gives as many answers, in their order; what it raises, each of the askers gets. An
    answer is never older than its question: nobody joins a question that was sent before. Alone, a caller asks at
    once. At most `most` questions go together; who stands in line longer than `wait_s` gets `Unavailable`.
    """

    def __init__(self, ask: Callable[[Sequence[Q]], Sequence[A]], *, most: int = MOST, wait_s: float = WAIT_S) -> None:
        self._ask = ask
        self._most = most
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._waiting: deque[_Ticket[Q, A]] = deque()
        self._leader: _Ticket[Q, A] | None = None

    def __call__(self, question: Q) -> A:
        ticket: _Ticket[Q, A] = _Ticket(question)
        try:
            if not self._is_first(ticket) and not ticket.called.acquire(timeout=self._wait_s):
                self._give_up(ticket)
            if not ticket.answered:
                self._lead(ticket)
        except BaseException:
            self._leave(ticket)
            raise
        return ticket.result()

    def _is_first(self, ticket: _Ticket[Q, A]) -> bool:
        """Whether nobody is asking, so that the ticket's caller is to; else it stands in line now."""
        with self._lock:
            if self._leader is None:
                self._leader = ticket
                return True
            self._waiting.append(ticket)
            return False

    def _leave(self, ticket: _Ticket[Q, A]) -> None:
        """Go without an answer: whose thread is ended in the line, or when called to ask, must not stop the others."""
        with self._lock:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
            self._hand_on(ticket)

    def _hand_on(self, ticket: _Ticket[Q, A]) -> None:
        """Leave the next question, if the ticket's caller was to ask, to the first who came meanwhile."""
        if self._leader is ticket:
            self._leader = self._waiting.popleft() if self._waiting else None
            if self._leader:
                self._leader.called.release()

    def _give_up(self, ticket: _Ticket[Q, A]) -> None:
        """Who is asked for already waits on: the answer may be something that is now the caller's."""
        with self._lock:
            if ticket in self._waiting:
                raise Unavailable("What others ask the same thing for takes too long; try again.")
        ticket.called.acquire()

    def _lead(self, own: _Ticket[Q, A]) -> None:
        """Ask for oneself and for those who wait."""
        together = [own]
        try:
            with self._lock:
                while self._waiting and len(together) < self._most:
                    together.append(self._waiting.popleft())
            answers = self._ask([ticket.question for ticket in together])
            for ticket, answer in zip(together, answers, strict=True):
                ticket.answer = answer
        except BaseException as error:  # noqa: BLE001 - nobody loses it: each asker raises it
            for ticket in together:
                # What ends the leader's thread (its time limit, say) is no concern of the others'.
                mine = ticket is own or isinstance(error, Exception)
                ticket.error = error if mine else Unavailable("The question was given up; try again.")
        finally:
            with self._lock:
                self._hand_on(own)
            for ticket in together:
                ticket.answered = True
                ticket.called.release()


class _Ticket(Generic[Q, A]):
    """A caller's question; `called` opens when it is answered, or when its caller is to ask."""

    __slots__ = ("answer", "answered", "called", "error", "question")
    answer: A

    def __init__(self, question: Q) -> None:
        self.question = question
        self.answered = False
        self.error: BaseException | None = None
        self.called = threading.Lock()
        self.called.acquire()

    def result(self) -> A:
        if self.error is not None:
            raise self.error
        return self.answer
