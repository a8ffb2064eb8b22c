"""The ports of a replay: the model, the draft, the judge, and callbacks to watch and cancel it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from app.chat import Answer, Message, Tokens, ToolDefinition
from app.replay.types import TurnResult


class ModelPort(Protocol):
    """A language model."""

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        """Return the model's next message. Raises `ProviderError` after the provider's own retries."""


@dataclass(frozen=True, slots=True)
class RenderedDraft:
    """The draft's instruction; `ignored` are the keys of placeholders that were not applied."""

    instruction: str
    ignored: tuple[str, ...] = ()


class DraftPort(Protocol):
    """The draft as it was when the replay began."""

    @property
    def tools(self) -> Sequence[ToolDefinition]:
        """The tools that the draft defines."""

    def render(self, placeholders: Mapping[str, str]) -> RenderedDraft:
        """Return the instruction; `placeholders` maps keys to names of values."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's verdict and its reasons; `needs_review` when it came to none."""

    verdict: Literal["passed", "failed", "needs_review"]
    reasoning: str
    tokens: Tokens = Tokens()


class JudgePort(Protocol):
    """Decides `ai` checks."""

    def judge(self, assertion: str, expected: str, actual: str, question: str) -> Judgement:
        """Decide if `actual` satisfies the assertion. A `ProviderError` makes the step `needs_review`."""


@dataclass(frozen=True, slots=True)
class Ports:
    """All that one replay can reach.

    `progress(done, total, turn)` counts recorded steps of the turns that are replayed; it is called after every
    answer of the model (turn None) and with every finished turn. `cancelled()` is called before every call of the
    model.
    """

    model: ModelPort
    draft: DraftPort
    judge: JudgePort
    progress: Callable[[int, int, TurnResult | None], None] = lambda done, total, turn: None
    cancelled: Callable[[], bool] = lambda: False
