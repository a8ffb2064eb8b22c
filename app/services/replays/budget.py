"""Holds the replays of an experiment to its `maxCost`, although they are played side by side.

Before each call of a model a replay reserves the most that the call can cost. A call is let through while the cost so
far and all that is reserved are below the `maxCost`, so that the experiment costs at most one call more than that.
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

from app.db import Database
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
    """Lets through the calls of one replay; `stopped` is True once it refused one."""

    @property
    def stopped(self) -> bool: ...

    def call(self, most_usd: Callable[[], float]) -> AbstractContextManager[None]:
        """Hold a reservation of the most that a call can cost, in USD; `ProviderError` where none is to be made."""
        ...


@dataclass(frozen=True, slots=True)
class Unlimited:
    """The budget of replays without a limit."""

    stopped: bool = False

    def call(self, most_usd: Callable[[], float]) -> AbstractContextManager[None]:
        return nullcontext()


@dataclass(slots=True, kw_only=True)
class ExperimentBudget:
    """The part of a replay, which is in work, in an experiment's budget of `max_cost` USD.

    `columns` returns the columns of the replay with what its calls have used; `cancelled` tells a call that waits to
    give up. A replay's calls may come from several threads.
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
    # Of the threads of a replay only one asks at a time; a call that ends never waits for one that asks.
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
        """Look without the lock first, so that calls that wait don't hold up those that end."""
        with self.database.read() as connection:
            spending = self._spending(connection)
        if self.stopped or spending.spent >= self.max_cost:
            self._stop(f"The experiment's cost reached ${self.max_cost:g}.")
        return self._has_room(spending)

    def _stop(self, reason: str) -> NoReturn:
        self.stopped = True
        raise ProviderError(reason)

    def _begin(self, usd: float) -> bool:
        """Reserve the cost of a call; False when others have reserved what was left."""
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
        """Store what the calls have used so far and give back a reservation, both at once."""
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
