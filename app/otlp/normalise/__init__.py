"""Spans of every convention in one form. The order below decides which convention's word counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from app.otlp.normalise.code_function import CodeFunction
from app.otlp.normalise.convention import CHAT, TOOL, Convention, Event, SpanView, ToolUse
from app.otlp.normalise.genai import BareTool, GenAI, NamedTool
from app.otlp.normalise.genai_events import GenAIEvents
from app.otlp.normalise.google_adk import GoogleADK
from app.otlp.normalise.indexed import Indexed, Whole
from app.otlp.normalise.logfire_agents import LogfireAgents
from app.otlp.normalise.messages import Message, Messages
from app.otlp.normalise.openinference import OpenInference
from app.otlp.normalise.openllmetry import OpenLLMetry
from app.otlp.normalise.platforms import PLATFORMS
from app.otlp.normalise.pydantic_ai import PydanticAI
from app.otlp.normalise.vercel import VercelAI

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
    return tuple(convention for convention in CONVENTIONS if convention.matches(markers))


def _asked(convention: Convention, ask: Callable[[Convention], T | None]) -> T | None:
    try:
        return ask(convention)
    except _UNREADABLE:
        return None


class Normalised:
    """A span in normal form; each fact is that of the first convention that knows it, read when asked for.

    What a convention can't read it does not know: whatever somebody sends, it keeps no batch from being stored, and no
    session from being shown.
    """

    __slots__ = ("_conventions", "_input_messages", "_tokens", "operation", "span")

    def __init__(self, span: SpanView) -> None:
        self.span = span
        self._input_messages: tuple[Messages | None] | None = None
        self._tokens: tuple[int, int] | None = None
        self._conventions = _matching(_MARKERS.intersection(span.attributes))
        self.operation = self._first(lambda convention: convention.operation(span)) or ""

    def _first(self, ask: Callable[[Convention], T | None]) -> T | None:
        for convention in self._conventions:
            answer = _asked(convention, ask)
            if answer is not None:
                return answer
        return None

    @property
    def convention(self) -> str | None:
        """The name of the convention that says what the span is; None for a span of no model or tool."""
        return self._first(lambda convention: convention.name if convention.operation(self.span) else None)

    @property
    def is_chat(self) -> bool:
        return self.operation in MODEL_CALLS

    @property
    def is_tool(self) -> bool:
        return self.operation == TOOL

    @property
    def model(self) -> str | None:
        return self._first(lambda convention: convention.model(self.span))

    @property
    def provider(self) -> str | None:
        return self._first(lambda convention: convention.provider(self.span))

    @property
    def tokens(self) -> tuple[int, int]:
        """Input and output tokens; read once, as they are asked for again for each call within the span."""
        if self._tokens is None:
            given = self._first(lambda convention: convention.input_tokens(self.span)) or 0
            returned = self._first(lambda convention: convention.output_tokens(self.span)) or 0
            self._tokens = (given, returned)
        return self._tokens

    @property
    def input_tokens(self) -> int:
        return self.tokens[0]

    @property
    def output_tokens(self) -> int:
        return self.tokens[1]

    @property
    def input_messages(self) -> Messages | None:
        """Read once: it is the largest part of a span, and asked for again for each call within the span."""
        if self._input_messages is None:
            self._input_messages = (self._first(lambda convention: convention.input_messages(self.span)),)
        return self._input_messages[0]

    @property
    def output_messages(self) -> Messages | None:
        return self._first(lambda convention: convention.output_messages(self.span))

    @property
    def definitions(self) -> list[Any] | None:
        return self._first(lambda convention: convention.definitions(self.span))

    @property
    def tool(self) -> ToolUse:
        """Name, id, arguments and result, each from the first convention that has it."""
        asked = (_asked(convention, lambda convention: convention.tool(self.span)) for convention in self._conventions)
        uses = [use for use in asked if use]
        return ToolUse(
            next((use.name for use in uses if use.name), None),
            next((use.call_id for use in uses if use.call_id), None),
            next((use.arguments for use in uses if use.arguments is not None), None),
            next((use.result for use in uses if use.result is not None), None),
        )


__all__ = ["CONVENTIONS", "MODEL_CALLS", "Event", "Message", "Messages", "Normalised", "SpanView", "ToolUse"]
