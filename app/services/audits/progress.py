"""The progress and the budget of an audit that a worker runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from app.audit.figures import ProbeOutcome
from app.chat import Tokens
from app.errors import ProviderError
from app.models.judge_audits import JudgeAuditRow
from app.models.language_models import LanguageModel
from app.services.runs.outcome import cost_of


@dataclass(slots=True)
class AuditProgress:
    """The verdicts and the cost of an audit so far, with those of earlier attempts; it is thread-safe."""

    row: JudgeAuditRow
    verdicts: dict[str, dict[str, Any]]
    failures: list[str] = field(default_factory=list)
    _reported_model: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _prompt_usd: Decimal = field(init=False)
    _completion_usd: Decimal = field(init=False)

    def __post_init__(self) -> None:
        self._prompt_usd = Decimal(self.row.prompt_cost_usd)
        self._completion_usd = Decimal(self.row.completion_cost_usd)

    def note_judge_model(self, reported_model: str) -> None:
        """Note the model that the vendor of the judge reports."""
        self._reported_model = reported_model

    def add(self, model: LanguageModel, tokens: Tokens) -> None:
        """Add the cost of a call at the model's price."""
        cost = cost_of(model, tokens)
        with self._lock:
            self._prompt_usd += cost.prompt
            self._completion_usd += cost.completion

    def put(self, index: int, outcome: ProbeOutcome) -> None:
        """Store the outcome of the probe with this place in the audit's list."""
        verdict = {"verdict": outcome.verdict, "reason": outcome.reason, "decidedBy": outcome.decided_by}
        with self._lock:
            self.verdicts[str(index)] = verdict

    @property
    def usd(self) -> float:
        return float(self._prompt_usd + self._completion_usd)

    def columns(self) -> dict[str, Any]:
        """Return the columns of the audit that a heartbeat writes, so that another worker continues from here."""
        reported = {"basis": {**self.row.basis, "snapshot": self._reported_model}} if self._reported_model else {}
        with self._lock:
            return {
                **reported,
                "verdicts": dict(self.verdicts),
                "done": len(self.verdicts),
                "prompt_cost_usd": float(self._prompt_usd),
                "completion_cost_usd": float(self._completion_usd),
            }


@dataclass(slots=True)
class CostLimit:
    """The `Budget` of an audit: with a limit, calls follow each other, and none begins once the limit is reached."""

    progress: AuditProgress
    stopped: bool = False
    _turn: threading.Lock = field(default_factory=threading.Lock)

    @property
    def reason(self) -> str:
        """The reason why no more calls begin, empty while they do."""
        return f"The audit's cost reached ${self.progress.row.max_cost:g}." if self.stopped else ""

    @contextmanager
    def call(self, most_usd: Callable[[], float]) -> Iterator[None]:
        most = self.progress.row.max_cost
        if most is None:
            yield
            return
        with self._turn:
            if self.progress.usd >= most:
                self.stopped = True
                raise ProviderError(self.reason)
            yield
