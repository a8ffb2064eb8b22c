"""Limits the replays of an experiment to its `maxCost`, although they run concurrently.

Before each call of a model a replay reserves the most that the call can cost. A call may begin while the cost so far
and all reservations are below `maxCost`, so the experiment exceeds it by at most one call.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn, Protocol

from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import ProviderError
from app.models import budgets
from app.models.budgets import Spending
from app.services.replays.claims import REPLAY_WORK
from app.timestamps import Now
from app.work.heartbeat import Patience
from app.work.table import Claim

PAUSE_S = 0.1
LONGEST_PAUSE_S = 1.0


class Budget(Protocol):
    """Admits the calls of one replay; `stopped` is True once it has refused one."""

    @property
    def stopped(self) -> bool: ...

    def call(self, most_usd: Callable[[], float]) -> AbstractContextManager[None]:
        """Reserve the most that a call can cost, in USD, during the block; `ProviderError` if it may not begin."""
        ...


@dataclass(frozen=True, slots=True)
class Unlimited:
    """The budget of replays without a limit."""

    stopped: bool = False

    def call(self, most_usd: Callable[[], float]) -> AbstractContextManager[None]:
        return nullcontext()


def is_spent(database: Database, *, experiment_id: int, replay_id: int, max_cost: float) -> bool:
    """Return whether an experiment has cost its limit.

    A program's calls reserve nothing, so that calls which begin at the same time may all pass the limit.
    """
    with database.read() as connection:
        return budgets.spending_of(connection, experiment_id=experiment_id, replay_id=replay_id).spent >= max_cost


def cost_reached(max_cost: float) -> str:
    """Return the reason of an experiment that ended because of its cost limit."""
    return f"The experiment's cost reached ${max_cost:g}."


@dataclass(slots=True, kw_only=True)
class ExperimentBudget:
    """The share of a running replay in an experiment's budget of `max_cost` USD.

    `columns` returns the replay's columns with the usage of its calls. A waiting call gives up once `cancelled` returns
    True. A replay's calls may come from several threads.
    """

    database: Database
    now: Now
    experiment_id: int
    claim: Claim
    max_cost: float
    columns: Callable[[], dict[str, Any]]
    cancelled: Callable[[], bool]
    patience: Patience
    sleep: Callable[[float], None] = time.sleep
    stopped: bool = field(default=False, init=False)
    _reserved: list[float] = field(default_factory=list, init=False)
    # Only one thread of a replay reserves at a time. A call that ends never waits for this lock.
    _asking: threading.Lock = field(default_factory=threading.Lock, init=False)
    _writing: threading.Lock = field(default_factory=threading.Lock, init=False)

    @contextmanager
    def call(self, most_usd: Callable[[], float]) -> Iterator[None]:
        usd = most_usd()
        with self._asking:
            self._wait(usd)
        try:
            yield
        finally:
            self._end(usd)

    def _wait(self, usd: float) -> None:
        pause_s = PAUSE_S
        while not (self._may_begin() and self._begin(usd)):
            if self.cancelled():
                self._stop("The replay was cancelled.")
            self.sleep(random.uniform(pause_s / 2, pause_s))  # noqa: S311 - jitter, no secret
            pause_s = min(LONGEST_PAUSE_S, pause_s * 1.5)

    def _may_begin(self) -> bool:
        """Check for room without the lock first, so that waiting calls don't block ending ones."""
        with self.database.read() as connection:
            spending = self._spending(connection)
        if self.stopped or spending.spent >= self.max_cost:
            self._stop(cost_reached(self.max_cost))
        return self._has_room(spending)

    def _stop(self, reason: str) -> NoReturn:
        self.stopped = True
        raise ProviderError(reason)

    def _begin(self, usd: float) -> bool:
        """Reserve the cost of a call; False if other calls have reserved the rest."""
        with self._writing:
            reserved = [*self._reserved, usd]
            begun = self.database.retrying(partial(self._begun, usd=sum(reserved)))
            self._reserved = reserved if begun else self._reserved
            return begun

    def _begun(self, connection: Connection, usd: float) -> bool:
        budgets.lock_budget(connection, experiment_id=self.experiment_id)
        if not self._has_room(self._spending(connection)):
            return False
        budgets.put_reservation(connection, **self._of, usd=usd)
        return True

    def _end(self, usd: float) -> None:
        """Store the usage of the calls so far and release a reservation, in one transaction."""
        with self._writing:
            self._reserved.remove(usd)
            self.patience(self.database.retrying, partial(self._ended, usd=sum(self._reserved)))

    def _ended(self, connection: Connection, usd: float) -> None:
        tokens = {self.claim.row_id: self.claim.token}
        REPLAY_WORK.touch(connection, tokens, now=self.now(), values=self.columns())
        budgets.put_reservation(connection, **self._of, usd=usd)

    def _has_room(self, spending: Spending) -> bool:
        return spending.spent + spending.reserved + sum(self._reserved) < self.max_cost

    def _spending(self, connection: Connection) -> Spending:
        return budgets.spending_of(connection, **self._of)

    @property
    def _of(self) -> dict[str, int]:
        return {"experiment_id": self.experiment_id, "replay_id": self.claim.row_id}
