"""All that a replay can reach: the model, the draft, the judge, and whoever watches or cancels it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from app.chat import Answer, Message, Tokens, ToolDefinition
from app.replay.types import TurnResult


class ModelPort(Protocol):
    """A language model."""

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        """The model's next message. Raises `ProviderError` after the provider's own retries."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The draft's instruction; `ignored` are the placeholder keys sent that were not applied."""

    instruction: str
    ignored: tuple[str, ...] = ()


class DraftPort(Protocol):
    """The draft as it was when the replay began."""

    @property
    def tools(self) -> Sequence[ToolDefinition]:
        """The tools that the draft defines."""

    def render(self, placeholders: Mapping[str, str]) -> Rendered:
        """The instruction, with placeholder keys mapped to value names."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's verdict and why; `needs_review` when it could not come to one."""

    verdict: Literal["passed", "failed", "needs_review"]
    reasoning: str
    tokens: Tokens = Tokens()


class JudgePort(Protocol):
    """Decides `ai` checks."""

    def judge(self, assertion: str, expected: str, actual: str, question: str) -> Judgement:
        """Whether `actual` holds. A `ProviderError` makes the step `needs_review`."""


def unwatched(done: int, total: int, turn: TurnResult | None) -> None:
    """The progress callback of those who do not watch."""


def never() -> bool:
    """The answer to `cancelled` where nobody can cancel."""
    return False


@dataclass(frozen=True, slots=True)
class Ports:
    """What the engine is given.

    `progress(done, total, turn)` counts recorded steps of the turns that are replayed; it is called after
    every answer of the model (turn None) and with every finished turn. `cancelled()` is asked before every
    call of the model.
    """

    model: ModelPort
    draft: DraftPort
    judge: JudgePort
    progress: Callable[[int, int, TurnResult | None], None] = unwatched
    cancelled: Callable[[], bool] = never
