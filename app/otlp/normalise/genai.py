"""The OpenTelemetry GenAI conventions: content in attributes or in events, and their older attribute names."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

from app.otlp.names import RESPONSE_ID
from app.otlp.normalise.convention import TOOL, Convention, Event, SpanView, ToolUse
from app.otlp.normalise.event_words import tool_words
from app.otlp.normalise.flat import read_lines, read_prompt
from app.otlp.normalise.messages import Memo, Messages, read_messages, read_text
from app.otlp.normalise.operations import OPERATIONS, operation_named
from app.otlp.normalise.roles import role_of_event
from app.otlp.normalise.spread import gather, nested
from app.otlp.normalise.toolio import (
    is_marked_as_error,
    plain_arguments,
    recorded_arguments,
    recorded_result,
    result_in_block,
)
from app.values.json import json_container, json_or_text

# The conventions' own name first, then what libraries used before there was one.
_ARGUMENTS = (
    *("gen_ai.tool.call.arguments", "gen_ai.tool.arguments", "gen_ai.tool.input"),
    *("gen_ai.tool.args", "gen_ai.tool.call.input"),
)
_RESULTS = (
    *("gen_ai.tool.call.result", "gen_ai.tool.result", "gen_ai.tool.output", "gen_ai.tool.message"),
    "gen_ai.tool.call.output",
)
_DEFINITIONS = ("gen_ai.tool.definitions", "gen_ai.agent.tools", "gen_ai.request.tool.definitions")
# What a span has besides the name of a tool, if it runs the tool.
_TOOL_INPUTS = ("tool.args", "tool.arguments", "tool.input", "tool_args")
_TOOL_OUTPUTS = ("tool.result", "tool.output")
OPENINFERENCE = "openinference.span.kind"
_TOOL_SPAN = "execute_tool "
_ITEMS_AS_TEXT = "@traceloop/instrumentation-openai"
_LINES_AS_TEXT = "openlit"


class GenAI(Convention):
    name = "gen_ai"
    markers = frozenset(
        {
            "gen_ai.operation.name",
            "gen_ai.provider.name",
            "gen_ai.system",
            "gen_ai.tool.name",
            "gen_ai.request.model",
            "gen_ai.response.model",
            "gen_ai.input.messages",
            "gen_ai.output.messages",
            "gen_ai.usage.input_tokens",
            *_DEFINITIONS,
        }
    )
    model_keys = ("gen_ai.request.model", "gen_ai.response.model")
    provider_keys = ("gen_ai.provider.name", "gen_ai.system")
    input_token_keys = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
    output_token_keys = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
    input_keys = ("gen_ai.input.messages",)
    output_keys = ("gen_ai.output.messages",)
    plain_text = True

    def input_messages(self, span: SpanView) -> Messages | None:
        messages = super().input_messages(span)
        # OpenLLMetry for JavaScript writes the items that a response is asked for as one JSON text of the user.
        if messages and len(messages) == 1 and span.scope == _ITEMS_AS_TEXT and _is_of_responses(span):
            return _in_text(messages[0].text, span.memo) or messages
        return messages

    def operation(self, span: SpanView) -> str | None:
        named = span.attributes.get("gen_ai.operation.name")
        if not isinstance(named, str) or not named:
            return None
        return named if named in OPERATIONS else operation_named(named)

    def tool(self, span: SpanView) -> ToolUse | None:
        # OpenLLMetry copies what its wrappers of functions record to the conventions' names.
        wrapped = "traceloop.entity.input" in span.attributes
        arguments, result = span.first(*_ARGUMENTS), span.first(*_RESULTS)
        if OPENINFERENCE in span.attributes:
            # It copies the tool's schema to the conventions' name for the arguments; its own names have both.
            arguments = None if "input.value" in span.attributes else arguments
            result = None if "output.value" in span.attributes else result
        return ToolUse(
            span.text("gen_ai.tool.name"),
            span.text("gen_ai.tool.call.id"),
            recorded_arguments(arguments) if wrapped else plain_arguments(arguments),
            recorded_result(result) if wrapped else result_in_block(result),
            is_marked_as_error(result),
        )

    def definitions(self, span: SpanView) -> list[Any] | None:
        container = json_container(span.first(*_DEFINITIONS))
        return container if isinstance(container, list) else None


def _is_of_responses(span: SpanView) -> bool:
    return (span.text(RESPONSE_ID) or "").startswith("resp_")


def _in_text(text: str | None, memo: Memo | None) -> Messages | None:
    messages = read_messages(text, memo=memo) if text and text.startswith("[{") else None
    return messages if any(message.text or message.calls or message.responses for message in messages or ()) else None


class NamedTool(Convention):
    """A span with only a tool's name: it ended before its attributes were set (Google's ADK, when it fails)."""

    name = "gen_ai.named_tool"

    def operation(self, span: SpanView) -> str | None:
        return TOOL if span.name.startswith(_TOOL_SPAN) else None

    def tool(self, span: SpanView) -> ToolUse | None:
        return ToolUse(span.name.removeprefix(_TOOL_SPAN)) if span.name.startswith(_TOOL_SPAN) else None


class BareTool(Convention):
    """A span that names a tool but no operation is a tool's execution (older libraries name none).

    Koog writes its arguments and result under OpenInference's names, Netra and any-agent under shorter ones.
    """

    name = "gen_ai.bare_tool"
    markers = frozenset({"gen_ai.tool.name", "tool.name", "tool.call_id", *_TOOL_INPUTS, *_TOOL_OUTPUTS})
    _runs = frozenset({"gen_ai.tool.name", "tool.call_id", *_TOOL_INPUTS, *_TOOL_OUTPUTS})

    def operation(self, span: SpanView) -> str | None:
        name = self._named(span)
        # The name of a tool may also be that of one that is registered or listed.
        runs = name and (span.name.endswith(name) or not self._runs.isdisjoint(span.attributes))
        return TOOL if runs else None

    def tool(self, span: SpanView) -> ToolUse | None:
        if not (name := self._named(span)) or _is_of_openinference(span):
            return None
        arguments = span.first("input.value", *_TOOL_INPUTS)
        result = span.first("output.value", *_TOOL_OUTPUTS, "gen_ai.output")
        if "gen_ai.operation.name" not in span.attributes:  # else they may have more around the tool's own
            arguments = span.first("input") if arguments is None else arguments
            result = span.first("output") if result is None else result
        if arguments is None and result is None:
            arguments, result = tool_words(span)
        return ToolUse(
            name,
            span.text("tool.call_id"),
            recorded_arguments(arguments),
            recorded_result(result),
            is_marked_as_error(result),
        )

    def _named(self, span: SpanView) -> str | None:
        return span.text("gen_ai.tool.name", "tool.name")


def _is_of_openinference(span: SpanView) -> bool:
    """Return whether OpenInference's own convention reads the tool."""
    return OPENINFERENCE in span.attributes and "gen_ai.tool.name" not in span.attributes


DETAILS = ("gen_ai.client.inference.operation.details", "gen_ai.client.inference.operation_details")
EXCEPTION = "gen_ai.client.operation.exception"
"""The log record that replaces the span event `exception`."""
DECISION = "gen_ai.tool.call.decision"
"""The span event of a person's decision about a tool call."""
CONTENTS = ("gen_ai.content.prompt", "gen_ai.content.completion")
_CHOICE = "gen_ai.choice"
_ANSWERS = frozenset({_CHOICE, *CONTENTS})
_TOOL_EVENTS = ("gen_ai.tool.input", "gen_ai.tool.output")
"""Portkey's: each attribute is one argument, or one field of the result."""
_RESULTS_LIST = "tool_call_outputs"
_BODY = ("gen_ai.event.content", "body", "event_body", "event.body")


class NumberedTools(Convention):
    """LiteLLM: numbered definitions of tools, and messages without numbers.

    Source: https://github.com/BerriAI/litellm
    """

    name = "gen_ai.numbered_tools"
    markers = frozenset({"gen_ai.tool.0.name"})

    def definitions(self, span: SpanView) -> list[Any] | None:
        return gather(span.attributes, "gen_ai.tool.") or None


class GenAIEvents(Convention):
    """Content in span events: one event per message, or one with all of the operation's details."""

    name = "gen_ai.events"

    def input_messages(self, span: SpanView) -> Messages | None:
        return _detailed(span, "gen_ai.input.messages", "user") or _messages_in_events(span, outputs=False)

    def output_messages(self, span: SpanView) -> Messages | None:
        return _detailed(span, "gen_ai.output.messages", "assistant") or _messages_in_events(span, outputs=True)

    def tool(self, span: SpanView) -> ToolUse | None:
        if span.first("gen_ai.operation.name") != TOOL and "gen_ai.tool.name" not in span.attributes:
            return None
        arguments = _content(span, ("gen_ai.tool.message",), ("content",))
        result = _content(span, (_CHOICE,), ("message", "content"))
        if arguments is None and result is None:
            arguments, result = (_whole(span, event) for event in _TOOL_EVENTS)
        if arguments is None and result is None:
            return _detailed_tool(span)
        return ToolUse(None, None, json_or_text(arguments), result_in_block(result))


def _whole(span: SpanView, event: str) -> Any:
    """Return the attributes of the event of this name as one object; None without the event."""
    return next((dict(attributes) for name, attributes in span.events if name == event), None)


def _detailed(span: SpanView, key: str, role: str) -> Messages | None:
    for name, attributes in span.events:
        if name in DETAILS and (messages := read_text(attributes.get(key), role)):
            return messages
    return None


def _detailed_tool(span: SpanView) -> ToolUse | None:
    """Return the call and the response that a tool's span has as messages, in attributes or in details events."""
    arguments = result = None
    for attributes in (span.attributes, *(values for name, values in span.events if name in DETAILS)):
        if arguments is None:
            arguments = _in_message(attributes.get("gen_ai.input.messages"), "tool_call", ("arguments",))
        if result is None:
            result = _in_message(attributes.get("gen_ai.output.messages"), "tool_call_response", ("response", "result"))
    return ToolUse(None, None, json_or_text(arguments), result_in_block(result))


def _in_message(messages: Any, kind: str, names: tuple[str, ...]) -> Any:
    """Return what the first part of this kind has under one of the names, or the content of the tool's own message."""
    container = json_container(messages)
    for message in container if isinstance(container, list) else ():
        if not isinstance(message, dict):
            continue
        for part in message.get("parts") or ():
            if isinstance(part, dict) and part.get("type") == kind:
                return next((part[name] for name in names if name in part), None)
        if message.get("role") == "tool" and message.get("content") is not None:
            return message["content"]
    return None


def _messages_in_events(span: SpanView, *, outputs: bool) -> Messages | None:
    for _, attributes in reversed(span.events):
        if (spread := _spread_messages(attributes, outputs=outputs)) is not None:
            return spread
    read = read_lines if span.scope.startswith(_LINES_AS_TEXT) else read_prompt
    answers_at = _answers_at(span)
    messages = (
        _messages_of(event, read, outputs=outputs, is_answer=index >= answers_at)
        for index, event in enumerate(span.events)
    )
    return tuple(chain.from_iterable(messages)) or None


def _answers_at(span: SpanView) -> int:
    """Return the index from which on the messages in events are answers, although no event is a choice.

    Libraries without choices, such as Azure's for Foundry, write the model's answer as its messages, after the
    messages that it was given.
    """
    names = [name for name, _ in span.events]
    at = len(names)
    if span.failed or not _ANSWERS.isdisjoint(names):
        return at
    for index in reversed(range(len(names))):
        role = role_of_event(names[index])
        if role not in ("assistant", None):
            return at
        at = index if role else at
    return len(names)  # the model was given nothing: its words are the history


def _spread_messages(attributes: dict[str, Any], *, outputs: bool) -> Messages | None:
    """Return the messages that mcp-agent spreads over an event: each request has all that precede it.

    Source: https://github.com/lastmile-ai/mcp-agent
    """
    if outputs:
        spread = "choices.0.message.role" in attributes
        return read_messages([nested(attributes, "choices.0.message.")], "assistant") if spread else None
    return read_messages(gather(attributes, "messages.")) if "messages.0.role" in attributes else None


def _messages_of(event: Event, read: Callable[[Any], Messages | None], *, outputs: bool, is_answer: bool) -> Messages:
    name, attributes = event
    if name in CONTENTS:
        if outputs != name.endswith("completion"):
            return ()
        # In a log record the body is the message, with calls that do not fit into the attribute.
        value = attributes.get("body") or attributes.get("gen_ai.completion" if outputs else "gen_ai.prompt")
        return (read_text(value, "assistant") if outputs else read(value)) or ()
    role = role_of_event(name)
    if role is None or outputs != (is_answer or name == _CHOICE):
        return ()
    body = _body(attributes, role)
    listed = body.get(_RESULTS_LIST)
    # Azure writes the results of all tools into one event.
    results = (
        [_result_message(result) for result in listed if isinstance(result, dict)] if isinstance(listed, list) else []
    )
    return read_messages(results or [body], role) or ()


def _result_message(result: dict[str, Any]) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": result.get("id"), "content": result.get("output")}


def _body(attributes: dict[str, Any], role: str) -> dict[str, Any]:
    """Return an event's message: its attributes, each read as JSON, or the one that has all of the body."""
    for key in _BODY:
        body = json_container(attributes.get(key))
        if isinstance(body, dict):
            return {"role": role} | body
    body = dict(attributes)
    for key in ("content", "message", "tool_calls"):
        if (container := json_container(body.get(key))) is not None:
            body[key] = container
    if "message" in body and not isinstance(body["message"], dict):
        body["content"] = body.pop("message")
    return {"role": role} | body


def _content(span: SpanView, events: tuple[str, ...], keys: tuple[str, ...]) -> Any:
    for name, attributes in span.events:
        if name in events:
            for key in keys:
                if attributes.get(key) is not None:
                    return attributes[key]
    return None
