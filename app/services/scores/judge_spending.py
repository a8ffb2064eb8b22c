"""What the judge of an online check costs: reserved before each call, corrected after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from app.chat import Tokens
from app.database.transactions import Database
from app.errors import ProviderError
from app.models import online_checks
from app.models.language_models import LanguageModel
from app.models.online_checks import OnlineCheck
from app.services.runs.outcome import cost_of


@dataclass(slots=True)
class JudgeSpending:
    """The budget of a check on a day (UTC), from which each call reserves the most that it can cost.

    The reserved amounts are in the database, so all workers share the budget. A worker that dies during a call leaves
    its reservation. `stopped` is true after a call for which the budget was too small.
    """

    database: Database
    check: OnlineCheck
    day: str
    stopped: bool = False
    _paid: float = 0.0

    def add(self, model: LanguageModel, tokens: Tokens) -> None:
        cost = cost_of(model, tokens)
        self._paid += float(cost.prompt + cost.completion)

    @contextmanager
    def call(self, most_usd: Callable[[], float]) -> Iterator[None]:
        most, paid_before = most_usd(), self._paid
        if not self.database.retrying(partial(online_checks.reserve, check=self.check, day=self.day, usd=most)):
            self.stopped = True
            raise ProviderError("The daily budget of this check is used up.")
        try:
            yield
        finally:
            usd = self._paid - paid_before - most
            self.database.retrying(partial(online_checks.add_reserved, check=self.check, day=self.day, usd=usd))
