"""The usage of a question that a model is asked outside of runs and replays."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection

from app.chat import TOKEN_COUNTS, Tokens
from app.models import usage
from app.models.language_models import LanguageModel
from app.models.usage import Spent, UsageKey
from app.services.runs.outcome import cost_of


@dataclass(slots=True)
class QuestionUsage:
    """The `Meter` of one question; `cost_usd` is what it has cost so far."""

    tokens: Tokens = field(default_factory=Tokens)
    cost_usd: float = 0.0

    def add(self, model: LanguageModel, tokens: Tokens) -> None:
        cost = cost_of(model, tokens)
        self.tokens += tokens
        self.cost_usd += float(cost.prompt + cost.completion)

    def spent(self, *, runs: int, failed: bool) -> Spent:
        counts = {f"{name}_tokens": getattr(self.tokens, name) for name in TOKEN_COUNTS}
        return Spent(runs=runs, failed=int(failed), **counts, cost_usd=self.cost_usd)


@dataclass(frozen=True, slots=True)
class AskedFor:
    """What a question is asked for, as usage counts it under `source`.

    `row_id` chooses the slot of the day's usage: with several, transactions at the same time rarely change one row.
    """

    source: str
    project_id: int
    prompt_id: int
    row_id: int

    def count(self, connection: Connection, model: LanguageModel, spent: Spent, now: datetime) -> None:
        """Add what a question used to its day. Call it last in a transaction."""
        key = UsageKey(self.project_id, now.date().isoformat(), self.prompt_id, "", model.id, 0, self.source)
        usage.count_runs(connection, [(key, spent)], slot=self.row_id % usage.SLOTS)
