"""GenAI content in span events: one event per message, or one with all of the operation's details."""

from __future__ import annotations

from typing import Any

from app.otlp.normalise.convention import TOOL, Convention, Event, SpanView, ToolUse
from app.otlp.normalise.messages import Messages, read_messages, read_text, role_of_event
from app.otlp.normalise.toolio import result_in_block
from app.otlp.text import json_container, json_or_text

_DETAILS = ("gen_ai.client.inference.operation.details", "gen_ai.client.inference.operation_details")
_BODY = ("gen_ai.event.content", "body", "event_body", "event.body")


class GenAIEvents(Convention):
    name = "gen_ai.events"

    def input_messages(self, span: SpanView) -> Messages | None:
        return _detailed(span, "gen_ai.input.messages", "user") or _told(span, outputs=False)

    def output_messages(self, span: SpanView) -> Messages | None:
        return _detailed(span, "gen_ai.output.messages", "assistant") or _told(span, outputs=True)

    def tool(self, span: SpanView) -> ToolUse | None:
        if span.first("gen_ai.operation.name") != TOOL:
            return None
        asked = _content(span, ("gen_ai.tool.message",), ("content",))
        given = _content(span, ("gen_ai.choice",), ("message", "content"))
        if asked is None and given is None:
            return _detailed_tool(span)
        return ToolUse(None, None, json_or_text(asked), result_in_block(given))


def _detailed(span: SpanView, key: str, role: str) -> Messages | None:
    for name, attributes in span.events:
        if name in _DETAILS and (messages := read_messages(attributes.get(key), role)):
            return messages
    return None


def _detailed_tool(span: SpanView) -> ToolUse | None:
    """Strands puts a tool's call and response in the parts of details events, in one or in one each."""
    call: dict[str, Any] = {}
    response: dict[str, Any] = {}
    for name, attributes in span.events:
        if name in _DETAILS:
            call = call or _part(attributes.get("gen_ai.input.messages"), "tool_call")
            response = response or _part(attributes.get("gen_ai.output.messages"), "tool_call_response")
    result = response.get("response", response.get("result"))
    return ToolUse(None, None, json_or_text(call.get("arguments")), result_in_block(result))


def _part(messages: Any, kind: str) -> dict[str, Any]:
    for message in json_container(messages) or ():
        for part in (message.get("parts") if isinstance(message, dict) else None) or ():
            if isinstance(part, dict) and part.get("type") == kind:
                return part
    return {}


def _told(span: SpanView, *, outputs: bool) -> Messages | None:
    messages = [message for event in span.events for message in _messages_of(event, outputs=outputs)]
    return tuple(messages) or None


def _messages_of(event: Event, *, outputs: bool) -> Messages:
    name, attributes = event
    if name in ("gen_ai.content.prompt", "gen_ai.content.completion"):
        if outputs != name.endswith("completion"):
            return ()
        value = attributes.get("gen_ai.completion" if outputs else "gen_ai.prompt")
        return read_text(value, "assistant" if outputs else "user") or ()
    role = role_of_event(name)
    if role is None or outputs != (name == "gen_ai.choice"):
        return ()
    return read_messages([_body(attributes, role)], role) or ()


def _body(attributes: dict[str, Any], role: str) -> dict[str, Any]:
    """An event's message: its attributes, each unpacked from JSON, or the body that some write as one attribute."""
    for key in _BODY:
        body = json_container(attributes.get(key))
        if isinstance(body, dict):
            return {"role": role} | body
    body = dict(attributes)
    for key in ("content", "message", "tool_calls"):
        if (found := json_container(body.get(key))) is not None:
            body[key] = found
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
