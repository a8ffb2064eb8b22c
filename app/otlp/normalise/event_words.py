"""Words and tokens that libraries without a convention of events record in a span's events.

The last part of an attribute's name shows what its value is, as in `tool.args`, and the end of an event's name on which
side of a call it was: `data.input`, `ai.completion`. Sources:

- https://github.com/monocle2ai/monocle
- https://github.com/rhesis-ai/rhesis
- https://github.com/ax-llm/ax
- https://github.com/zavora-ai/adk-rust
"""

from __future__ import annotations

from typing import Any

from app.otlp.normalise.convention import Event, SpanView
from app.otlp.normalise.roles import is_role
from app.values.json import json_container

_INPUT_EVENTS = ("input", "prompt")
_OUTPUT_EVENTS = ("output", "completion")
_WORDS = ("input", "prompt", "output", "completion", "response", "content", "text")
_ARGUMENTS = ("args", "arguments", "input")
_RESULTS = ("result", "output", "response")
_COUNTS = (
    ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "input_tokens", "prompt_tokens"),
    ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "output_tokens", "completion_tokens"),
)
_GENAI = "gen_ai."
"""Begins the names of events that have words by the conventions."""
_EXCEPTION = "exception"


def words_in_events(span: SpanView, *, outputs: bool) -> Any:
    """Return the messages, or the text, of the last event on one side of a model call; None without any."""
    ends = _OUTPUT_EVENTS if outputs else _INPUT_EVENTS
    for name, attributes in reversed(span.events):
        if name.endswith(ends) and not name.startswith(_GENAI):
            value = _named(attributes, _WORDS)
            role = next((attributes[key] for key in attributes if key.endswith(".role")), None)
            return _with_roles(value) if role is None else [{"role": role, "content": value}]
    return None


def has_words(span: SpanView) -> bool:
    """Return whether an event has words of one side of a call."""
    return any(name.endswith((*_INPUT_EVENTS, *_OUTPUT_EVENTS)) for name, _ in span.events)


def tool_words(span: SpanView) -> tuple[Any, Any]:
    """Return the arguments and the result that the events of a tool's span have, each None without any."""
    return _first(span.events, _ARGUMENTS), _first(span.events, _RESULTS)


def counted_in_events(span: SpanView) -> SpanView | None:
    """Return the event with the tokens of a model call, as a span with these attributes; None without any."""
    for _, attributes in span.events:
        counted = SpanView(span.name, span.scope, attributes)
        prompt, completion = (counted.count(*names) for names in _COUNTS)
        if prompt is not None or completion is not None:
            common = {"gen_ai.usage.input_tokens": prompt or 0, "gen_ai.usage.output_tokens": completion or 0}
            return SpanView(span.name, span.scope, attributes | common)
    return None


def _first(events: list[Event], ends: tuple[str, ...]) -> Any:
    values = (_named(attributes, ends) for name, attributes in events if name != _EXCEPTION)
    return next((value for value in values if value is not None), None)


def _named(attributes: dict[str, Any], ends: tuple[str, ...]) -> Any:
    """Return the first value that is not empty and has a name which ends with one of these words; None without any."""
    named = (attributes[key] for key in attributes if key.rpartition(".")[2] in ends)
    return next((value for value in named if value not in (None, "", [])), None)


def _with_roles(value: Any) -> Any:
    """Return the messages of JSON texts in which the role names the content; any other value unchanged."""
    texts = value if isinstance(value, list) else [value]
    messages = [_message(container) for container in map(json_container, texts)]
    return messages if all(messages) else value


def _message(container: Any) -> dict[str, Any] | None:
    """Return the message of `{role: content}`, or of a result without a role; None for anything else."""
    if not isinstance(container, dict) or len(container) != 1:
        return None
    [(role, content)] = container.items()
    if not is_role(role.removesuffix("s")):
        return None
    calls = [json_container(item) or item for item in content] if isinstance(content, list) else content
    return {"role": "assistant" if role == "tools" else role, "content": calls}
