"""Normalises spans of every convention. If several have a fact, the first in the order below counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from app.chat import ToolCall
from app.errors import MALFORMED_DATA
from app.otlp.names import RESPONSE_ID, id_of
from app.otlp.normalise.convention import AGENTS, CHAT, FETCH, PIPELINES, TOOL, Convention, Event, SpanView, ToolUse
from app.otlp.normalise.event_words import counted_in_events
from app.otlp.normalise.fields import FIELDS_BEGIN
from app.otlp.normalise.finish import recorded_reason
from app.otlp.normalise.flows import Guardrails, Langflow
from app.otlp.normalise.frameworks import (
    AzureAgents,
    BareChat,
    ClaudeCode,
    FutureAGI,
    GeminiCLI,
    Mastra,
    OtherWords,
    PlainWords,
    Sentry,
    SpanKind,
    SpringAI,
)
from app.otlp.normalise.genai import BareTool, GenAI, GenAIEvents, NamedTool, NumberedTools
from app.otlp.normalise.haystack import Haystack
from app.otlp.normalise.honeyhive import HoneyHive
from app.otlp.normalise.livekit import LiveKit
from app.otlp.normalise.messages import Messages, NormalisedMessage, QuestionMemo, first_user_text, own_words_at
from app.otlp.normalise.modalities import ModalityTokens, modality_tokens
from app.otlp.normalise.numbered import DSPY, Indexed, OpenInference, OpenLLMetry, Whole
from app.otlp.normalise.operations import OPERATIONS
from app.otlp.normalise.own_names import OWN_NAMES, in_common_names
from app.otlp.normalise.platforms import PLATFORMS
from app.otlp.normalise.readers import Read, Readers, known_names
from app.otlp.normalise.responses import ToolResponse
from app.otlp.normalise.roles import INSTRUCTING
from app.otlp.normalise.tokens import TokenCounts, counts_of
from app.otlp.normalise.toolio import out_of_call, out_of_response
from app.otlp.normalise.vendors import CodeFunction, GoogleADK, LogfireAgents, PydanticAI, VercelAI
from app.values.lazy import Lazy

CONVENTIONS: tuple[Convention, ...] = (
    GoogleADK(),
    SpringAI(),
    GeminiCLI(),
    AzureAgents(),
    Guardrails(),
    GenAI(),
    Sentry(),
    ClaudeCode(),
    VercelAI(),
    OpenInference(),
    OpenLLMetry(),
    LogfireAgents(),
    PydanticAI(),
    CodeFunction(),
    Mastra(),
    Haystack(),
    Langflow(),
    LiveKit(),
    *PLATFORMS,
    HoneyHive(),
    SpanKind(),
    Indexed(),
    FutureAGI(),
    Whole(),
    BareTool(),
    BareChat(),
    NamedTool(),
    NumberedTools(),
    GenAIEvents(),
    OtherWords(),
    PlainWords(),
    OWN_NAMES,
)
_KNOWN = known_names(CONVENTIONS)
# The last two are of live sessions, in which both sides speak: the conventions have changed the name.
MODEL_CALLS = frozenset(
    {CHAT, FETCH, "generate_content", "text_completion", "generate_live_content", "realtime_inference"}
)


@lru_cache(maxsize=1024)
def _readers(names: frozenset[str]) -> Readers:
    return Readers(CONVENTIONS, names)


def _fact(name: str) -> Any:
    return Lazy(lambda normalised: normalised._first(name))


class Normalised:
    """A span in normal form. Each fact is from the first convention that has it, and is read on access.

    A convention that can't read a span has no facts: no span, whatever its content, prevents a batch from being stored
    or a session from being shown.
    """

    model: str | None = _fact("model")
    provider: str | None = _fact("provider")
    convention: str | None = None
    """The name of the convention that defines the span's kind; None for spans that are no model or tool."""
    operation: str = ""

    def __init__(self, span: SpanView) -> None:
        self.span = span
        self._read_operation()
        if (not self.operation or (self.convention == "gen_ai" and self.operation not in OPERATIONS)) and (
            renamed := in_common_names(span)
        ):
            self.span = renamed
            self._read_operation()
        self.names_user = self._readers.names_user
        self.is_chat = self.operation in MODEL_CALLS
        self.is_tool = self.operation == TOOL
        self.is_agent = self.operation in AGENTS
        self.is_pipeline = self.operation in PIPELINES

    def _read_operation(self) -> None:
        self._readers = _readers(_KNOWN.intersection(self.span.attributes))
        for read, convention in self._readers["operation"]:
            if operation := _answer(read, self.span):
                self.operation, self.convention = operation, convention
                break

    def _first(self, fact: str) -> Any:
        span = self.span
        for read, _ in self._readers[fact]:
            try:  # as `_answer` does, without a call for each fact of each span
                value = read(span)
            except MALFORMED_DATA:
                continue
            if value is not None:
                return value
        return None

    def _messages(self, fact: str, span: SpanView) -> Iterator[Messages]:
        """Yield the messages of each convention that has any."""
        for read, _ in self._readers[fact]:
            if messages := _answer(read, span):
                yield messages

    @Lazy
    def tokens(self) -> TokenCounts:
        """The tokens of the call, 0 where none are recorded; those in the span's events if its attributes have none."""
        prompt, completion = self._first("input_tokens") or 0, self._first("output_tokens") or 0
        if self.is_chat and not (prompt or completion) and (counted := counted_in_events(self.span)):
            counts = (counted.count(f"gen_ai.usage.{side}_tokens") or 0 for side in ("input", "output"))
            return counts_of(counted, *counts)
        if not self._readers.names_parts:
            return TokenCounts(prompt, completion)
        return counts_of(self.span, prompt, completion)

    @property
    def modalities(self) -> tuple[ModalityTokens, ...] | None:
        """The tokens of sound and images, None where they were not counted."""
        return modality_tokens(self.span) if self._readers.names_modalities else None

    @property
    def definitions(self) -> list[Any] | None:
        definitions: list[Any] | None = self._first("definitions")
        return definitions

    @property
    def served_model(self) -> str | None:
        """The model that answered; the requested model if no other is recorded."""
        return self.span.text(*self._readers.served_keys) or self.model

    @Lazy
    def response_id(self) -> str | None:
        """The id that the vendor gave the response."""
        return id_of(self.span.text(RESPONSE_ID)) or None

    @property
    def recorded_id(self) -> str | None:
        """The id of a model's response, or of a tool's call, as it was sent, if an attribute has it."""
        return self.span.text(RESPONSE_ID) if self.is_chat else self.span.text(*self._readers.call_id_keys)

    @Lazy
    def input_messages(self) -> Messages | None:
        """The largest part of a span. It is read once, because calls within the span need it again."""
        return self._in_own_words(_with_content(self._messages("input_messages", self.span)))

    def question(self) -> str | None:
        """Return the user's own words: the first text, or the last one if an exchange with the model precedes it.

        Of a list in JSON only what this needs is read, and nothing is kept.
        """
        seen = self.span
        span = SpanView(seen.name, seen.scope, seen.attributes, lambda: seen.events, QuestionMemo(), seen.failed)
        messages = self._in_own_words(_with_content(self._messages("input_messages", span))) or ()
        at = own_words_at(messages)
        return messages[at].text if at else first_user_text(messages)

    @property
    def output_messages(self) -> Messages | None:
        """The output; calls that the model ended with may be recorded by another convention than its words."""
        recorded = self._messages("output_messages", self.span)
        messages = self._in_own_words(_with_content(recorded))
        if not messages or not self.is_chat or any(message.calls for message in messages):
            return messages
        asks = messages[-1].asks or recorded_reason(self.span.attributes)
        if asks is False:
            return messages
        # Conventions before the one that has the words have no content.
        calls = next(filter(None, map(_calls, recorded)), ())
        if not calls and not asks:
            return messages
        return (*messages[:-1], replace(messages[-1], calls=calls, asks=bool(asks)))

    def _in_own_words(self, messages: Messages | None) -> Messages | None:
        """Return the messages, of which texts are read as DSPy's fields only in calls of its programs.

        Elsewhere a user could type fields, or have the model repeat them: they would hide words and forge calls.
        """
        if not messages or all(message.of_fields is None for message in messages) or self._writes_fields:
            return messages
        return tuple(message.without_fields for message in messages)

    @Lazy
    def _writes_fields(self) -> bool:
        """Whether DSPy's instrumentation made the span, or the instruction has its fields."""
        if self.span.scope == DSPY or FIELDS_BEGIN in (self.span.text("gen_ai.system_instructions") or ""):
            return True
        messages = _with_content(self._messages("input_messages", self.span)) or ()
        return any(message.role in INSTRUCTING and FIELDS_BEGIN in (message.text or "") for message in messages)

    @property
    def tool_name(self) -> str | None:
        """The name of the tool. Arguments and result are not read if an attribute has the name."""
        return self.span.text("gen_ai.tool.name") or self.tool.name

    @property
    def tool(self) -> ToolUse:
        """Name, id, arguments and result, each from the first convention that has it."""
        uses = [use for read, _ in self._readers["tool"] if (use := _answer(read, self.span))]
        name = next((use.name for use in uses if use.name), None)
        return ToolUse(
            name,
            next((use.call_id for use in uses if use.call_id), None),
            out_of_call(next((use.arguments for use in uses if use.arguments is not None), None), name),
            out_of_response(next((use.result for use in uses if use.result is not None), None), name),
            any(use.failed for use in uses),
        )


def _answer(read: Read, span: SpanView) -> Any:
    """Return the answer of a convention's method; None if it can't read the span."""
    try:
        return read(span)
    except MALFORMED_DATA:
        return None


def _with_content(recorded: Iterator[Messages]) -> Messages | None:
    """Return the messages of the first convention in which any of them has content, else those of the first."""
    empty: Messages | None = None
    for messages in recorded:
        if any(message.has_content for message in messages):
            return messages
        empty = empty or messages
    return empty


def _calls(messages: Messages) -> tuple[ToolCall, ...]:
    return tuple(call for message in messages for call in message.calls)


__all__ = [
    "CONVENTIONS",
    "MODEL_CALLS",
    "Event",
    "Messages",
    "Normalised",
    "NormalisedMessage",
    "SpanView",
    "ToolResponse",
    "ToolUse",
]
