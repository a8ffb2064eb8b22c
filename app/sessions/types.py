"""A session as people read it: turns, and the steps in them that a replay can check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import sub
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import astuple

from app.chat import Tokens
from app.otlp.normalise.media import Media
from app.prices.types import NOTHING, Bill


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens of the spans that `spans_with_tokens` returns.

    Cache tokens are included in the input, reasoning tokens in the output.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        # Ingest adds up each model call: with `map` this needs three times as long.
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(*map(sub, astuple(self), astuple(other)))

    @property
    def tokens(self) -> Tokens:
        """The same counts as prices are applied to."""
        return Tokens(
            self.input_tokens,
            self.output_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
            self.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True)
class Step:
    """A checkable step: a tool call, or an answer that calls no tool.

    `arguments` and `result` are JSON values, or text if they were no JSON. `error` is the recorded error of the tool,
    None without a failure. A call of `source` messages has no span: `span_id` is that of the model call which requested
    it. `answered` is False if no message has its result. Calls of one `batch` were requested together; answers have
    none. A `hosted` call was run by the model's vendor.
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
    hosted: bool = False


@dataclass(frozen=True, slots=True)
class ShownSpan:
    """A span as the session page lists it; `attributes` are decoded and complete, as they came.

    `convention` names the normaliser that understood it, None where the span is shown as it came. `served_model` is the
    model to pay for, the one that answered; `bill` is what the call cost, nothing for a span of no model.
    """

    span_id: str
    parent_span_id: str | None
    name: str
    operation: str
    start_ns: int
    end_ns: int
    error: str | None
    attributes: Mapping[str, Any]
    convention: str | None = None
    provider: str | None = None
    model: str | None = None
    usage: Usage = Usage()
    reasoning: str | None = None
    text_with_calls: str | None = None
    served_model: str | None = None
    bill: Bill = NOTHING
    first_token_ms: float | None = None

    @property
    def duration_ms(self) -> float:
        return _ms(self.start_ns, self.end_ns)


@dataclass(frozen=True, slots=True)
class TimedStep:
    """A step with its span: for an answer that of the model call, for a tool call that of the tool if it has one."""

    step: Step
    span: ShownSpan | None

    @property
    def duration_ms(self) -> float | None:
        return self.span.duration_ms if self.span else None

    @property
    def first_token_ms(self) -> float | None:
        return self.span.first_token_ms if self.span else None

    @property
    def usage(self) -> Usage:
        return self.span.usage if self.span else Usage()

    @property
    def bill(self) -> Bill:
        return self.span.bill if self.span else NOTHING


GapKind = Literal[
    "image",
    "audio",
    "file",
    "unknown_part",
    "instruction",
    "history",
    "tool_definitions",
    "content_elsewhere",
    "cut",
]


class Gap(NamedTuple):
    """Something that the model saw and that a replay can't show it."""

    kind: GapKind
    message: str


EARLIER_MAX = 1_000
"""Messages from before a session that are kept."""


class EarlierMessage(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A message from before a session. One of a tool is its call, `name` with `arguments`, and its result as `text`."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    name: str = ""
    arguments: Any = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One trace of one prompt, or a part of a trace that is a whole conversation.

    `user` is None where no content was recorded. `offered_tools` is None when nothing was recorded,
    a list of names, or a list of definitions `{name, description?, parameters?}`. `files` are those of the user's
    message, `gaps` what else the recording lacks, and `instruction` is the recorded one of the system.

    Where the conversation was under way when its session began, the first turn has the `earlier` messages, and as its
    `question` the user's last words; its `user` is the user's first text.
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
    bill: Bill = NOTHING
    warnings: tuple[str, ...] = ()
    files: tuple[Media, ...] = ()
    gaps: tuple[Gap, ...] = ()
    instruction: str | None = None
    question: str | None = None
    earlier: tuple[EarlierMessage, ...] = ()
    spans: tuple[ShownSpan, ...] = field(default=(), repr=False)

    @property
    def duration_ms(self) -> float:
        return _ms(self.start_ns, self.end_ns)

    @property
    def own_words(self) -> str | None:
        """The user's text that begins the turn."""
        return self.user if self.question is None else self.question

    @property
    def timed_steps(self) -> list[TimedStep]:
        """The steps with their spans; a call without a span has None."""
        spans = {span.span_id: span for span in self.spans}
        return [
            TimedStep(step, spans.get(step.span_id) if step.kind == "answer" or step.source == "span" else None)
            for step in self.steps
        ]

    @property
    def first_token_ms(self) -> float | None:
        """The milliseconds from the turn's start to the first token of its first model call that recorded it."""
        timed = ((span.start_ns, span.first_token_ms) for span in self.spans if span.first_token_ms is not None)
        return next((round(_ms(self.start_ns, start_ns) + ms, 3) for start_ns, ms in timed), None)


def _ms(start_ns: int, end_ns: int) -> float:
    return round((end_ns - start_ns) / 1e6, 3)
