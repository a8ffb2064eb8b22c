"""Normalises spans of every convention. Where several know a fact, the first in the order below counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, TypeVar

from app.otlp.normalise.convention import CHAT, TOOL, Convention, Event, SpanView, ToolUse
from app.otlp.normalise.genai import BareTool, GenAI, GenAIEvents, NamedTool
from app.otlp.normalise.messages import Message, Messages
from app.otlp.normalise.numbered import Indexed, OpenInference, OpenLLMetry, Whole
from app.otlp.normalise.vendors import PLATFORMS, CodeFunction, GoogleADK, LogfireAgents, PydanticAI, VercelAI

CONVENTIONS: tuple[Convention, ...] = (
    GoogleADK(),
    GenAI(),
    VercelAI(),
    OpenInference(),
    OpenLLMetry(),
    LogfireAgents(),
    PydanticAI(),
    CodeFunction(),
    *PLATFORMS,
    Indexed(),
    Whole(),
    BareTool(),
    NamedTool(),
    GenAIEvents(),
)
_MARKERS = frozenset[str]().union(*(convention.markers for convention in CONVENTIONS))
MODEL_CALLS = frozenset({CHAT, "generate_content", "text_completion"})

# What reading a shape raises that a convention was not written for.
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

T = TypeVar("T")


@lru_cache(maxsize=1024)
def _matching(markers: frozenset[str]) -> tuple[Convention, ...]:
    return tuple(one for one in CONVENTIONS if not one.markers or not one.markers.isdisjoint(markers))


def _read(convention: Convention, read: Callable[[Convention], T | None]) -> T | None:
    try:
        return read(convention)
    except _UNREADABLE:
        return None


class Normalised:
    """A span in normal form; each fact is that of the first convention that knows it, read on access.

    What a convention can't read it does not know: whatever somebody sends, it keeps no batch from being stored, and no
    session from being shown.
    """

    def __init__(self, span: SpanView) -> None:
        self.span = span
        self._conventions = _matching(_MARKERS.intersection(span.attributes))
        self.operation = self._first(lambda convention: convention.operation(span)) or ""
        self.is_chat = self.operation in MODEL_CALLS
        self.is_tool = self.operation == TOOL

    def _first(self, read: Callable[[Convention], T | None]) -> T | None:
        for convention in self._conventions:
            answer = _read(convention, read)
            if answer is not None:
                return answer
        return None

    @property
    def convention(self) -> str | None:
        """The name of the convention that says what the span is; None for a span of no model or tool."""
        return self._first(lambda convention: convention.name if convention.operation(self.span) else None)

    @property
    def model(self) -> str | None:
        return self._first(lambda convention: convention.model(self.span))

    @property
    def provider(self) -> str | None:
        return self._first(lambda convention: convention.provider(self.span))

    @cached_property
    def tokens(self) -> tuple[int, int]:
        """Input and output tokens."""
        input_tokens = self._first(lambda convention: convention.input_tokens(self.span)) or 0
        output_tokens = self._first(lambda convention: convention.output_tokens(self.span)) or 0
        return input_tokens, output_tokens

    @cached_property
    def input_messages(self) -> Messages | None:
        """The largest part of a span, read once: calls within the span ask for it again."""
        return self._first(lambda convention: convention.input_messages(self.span))

    @property
    def output_messages(self) -> Messages | None:
        return self._first(lambda convention: convention.output_messages(self.span))

    @property
    def definitions(self) -> list[Any] | None:
        return self._first(lambda convention: convention.definitions(self.span))

    @property
    def tool(self) -> ToolUse:
        """Name, id, arguments and result, each from the first convention that has it."""
        read = (_read(convention, lambda convention: convention.tool(self.span)) for convention in self._conventions)
        uses = [use for use in read if use]
        return ToolUse(
            next((use.name for use in uses if use.name), None),
            next((use.call_id for use in uses if use.call_id), None),
            next((use.arguments for use in uses if use.arguments is not None), None),
            next((use.result for use in uses if use.result is not None), None),
        )


__all__ = ["CONVENTIONS", "MODEL_CALLS", "Event", "Message", "Messages", "Normalised", "SpanView", "ToolUse"]
