"""A session as people read it: turns, and the steps in them that a replay can check."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of the chat spans alone (an `invoke_agent` span repeats the sums of its children)."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens)


@dataclass(frozen=True, slots=True)
class Step:
    """A checkable step: a tool call, or an answer that calls no tool.

    `arguments` and `result` are JSON values, or text where they came as no JSON.
    `error` is what the failed tool recorded, None when it did not fail.
    A call of `source` messages has no span of its own: `span_id` is that of the model call which asked for it.
    `answered` is False where no message holds its result. Calls of one `batch` were asked for together; answers have
    none.
    """

    kind: Literal["tool_call", "answer"]
    span_id: str
    name: str = ""
    arguments: Any = None
    result: Any = None
    error: str | None = None
    text: str = ""
    source: Literal["span", "messages"] = "span"
    answered: bool = True
    batch: str = ""


@dataclass(frozen=True, slots=True)
class ShownSpan:
    """A span as the session page lists it; `attributes` are decoded and complete, as they came.

    `convention` names the normaliser that understood it, None where the span is shown as it came.
    """

    span_id: str
    parent_span_id: str | None
    name: str
    operation: str
    start_ns: int
    end_ns: int
    error: str | None
    attributes: dict[str, Any]
    convention: str | None = None
    provider: str | None = None
    model: str | None = None
    usage: Usage = Usage()
    reasoning: str | None = None
    text_beside_tools: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One trace of one prompt.

    `user` is None where no content was recorded. `offered_tools` is None when nothing was recorded,
    a list of names, or a list of definitions `{name, description?, parameters?}`.
    """

    trace_id: str
    start_ns: int
    end_ns: int
    user: str | None
    steps: tuple[Step, ...]
    placeholders: dict[str, str] | None = None
    offered_tools: tuple[str | dict[str, Any], ...] | None = None
    prompt_version: str | None = None
    conversation_id: str | None = None
    user_id: str | None = None
    usage: Usage = Usage()
    warnings: tuple[str, ...] = ()
    spans: tuple[ShownSpan, ...] = field(default=(), repr=False)
