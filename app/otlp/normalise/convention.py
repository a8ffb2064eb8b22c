"""A convention of recording model calls in spans, and its view of a span."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from app.otlp.normalise.messages import Memo, Messages, read_messages, read_text
from app.otlp.values import integer

CHAT = "chat"
FETCH = "fetch_response"
"""Fetches a response that the vendor made in the background: of a call of the same response id, recorded earlier."""
TOOL = "execute_tool"
AGENT = "invoke_agent"
GENERATION = "model_generation"
"""Is around a model call, and has the words that the call lacks."""
AGENTS = frozenset({AGENT, "invoke_workflow", "handle_conversation_turn", GENERATION})
"""Operations around model calls: their messages count where no model call has any."""
PIPELINES = frozenset({"chain", "span", "task"})
"""Operations of a program: the messages of one without a parent count where no model call or agent has any."""
# More tokens than any model's call has. With this limit the sum over a session's spans fits 64 bits, as JSON and
# columns need.
COUNT_MAX = 10**12

Event = tuple[str, dict[str, Any]]
"""A span event: its name and attributes."""


class SpanView(Struct, gc=False):
    """A span as the conventions see it. Events are only parsed on access.

    `memo` keeps values that were read from the other spans of a session. `failed` spans have an error as their status.
    """

    name: str
    scope: str
    attributes: Mapping[str, Any]
    read_events: Callable[[], list[Event]] = list
    memo: Memo | None = None
    failed: bool = False
    _events: list[Event] | None = None

    @property
    def events(self) -> list[Event]:
        if self._events is None:
            self._events = self.read_events()
        return self._events

    def text(self, *keys: str) -> str | None:
        """Return the first of these attributes that is a text and not empty."""
        for key in keys:
            value = self.attributes.get(key)
            if isinstance(value, str) and value:
                return value
        return None

    def first(self, *keys: str) -> Any:
        """Return the first of these attributes that is there and not null."""
        for key in keys:
            value = self.attributes.get(key)
            if value is not None:
                return value
        return None

    def count(self, *keys: str) -> int | None:
        """Return the first of these attributes that is a whole number of at most `COUNT_MAX`, never below zero."""
        for key in keys:
            number = integer(self.attributes.get(key))
            if number is not None and number <= COUNT_MAX:
                return max(number, 0)
        return None


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool's execution. Arguments and result are JSON values or text; None where they were not recorded.

    With `failed` the result is marked as an error.
    """

    name: str | None = None
    call_id: str | None = None
    arguments: Any = None
    result: Any = None
    failed: bool = False


class Convention:
    """A convention. Each method returns None if the span has no such information in this convention.

    A span that follows the convention has at least one of the attributes `markers`; without markers every span is read.
    Of the attributes in `…_keys` the first that is present counts. With `plain_text`, content that is not JSON is a
    message.
    """

    name = ""
    markers: frozenset[str] = frozenset()
    model_keys: tuple[str, ...] = ()
    provider_keys: tuple[str, ...] = ()
    input_token_keys: tuple[str, ...] = ()
    output_token_keys: tuple[str, ...] = ()
    input_keys: tuple[str, ...] = ()
    output_keys: tuple[str, ...] = ()
    plain_text = False

    def operation(self, span: SpanView) -> str | None:
        return None

    def model(self, span: SpanView) -> str | None:
        return span.text(*self.model_keys)

    def provider(self, span: SpanView) -> str | None:
        return span.text(*self.provider_keys)

    def input_tokens(self, span: SpanView) -> int | None:
        return span.count(*self.input_token_keys)

    def output_tokens(self, span: SpanView) -> int | None:
        return span.count(*self.output_token_keys)

    def input_messages(self, span: SpanView) -> Messages | None:
        return self._read(span.first(*self.input_keys), "user", span.memo)

    def output_messages(self, span: SpanView) -> Messages | None:
        # The plain text of a failed call is its error.
        return self._read(span.first(*self.output_keys), "assistant", plain=not span.failed)

    def _read(self, value: Any, role: str, memo: Memo | None = None, *, plain: bool = True) -> Messages | None:
        return (read_text if plain and self.plain_text else read_messages)(value, role, memo)

    def tool(self, span: SpanView) -> ToolUse | None:
        return None

    def definitions(self, span: SpanView) -> list[Any] | None:
        """Return the offered tools, each a definition as recorded."""
        return None
