"""The state of the turn in work: the attributes of its spans, and whether it has recorded model calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import context
from opentelemetry.context import Context
from opentelemetry.trace import SpanContext

# A key of the context, not baggage, which would go out with the requests to the model's vendor.
_ATTRIBUTES = context.create_key("reprise.attributes")
# Tuples, not sets: the SDK accepts maps as values, which have no hash.
_MODEL_CALLS = ("chat", "generate_content", "text_completion")
_MODEL_KEYS = ("gen_ai.request.model", "llm.request.type", "llm.model_name")
_NO_MODEL_CALLS = ("execute_tool", "invoke_agent", "create_agent", "embeddings")

_silent_turns: set[int] = set()
"""Ids of the traces of turns that are open and have no model call yet."""


def attributes_within(within: Context | None) -> Mapping[str, Any]:
    """Return the attributes that spans of this context, or of the current one, have."""
    attributes = context.get_value(_ATTRIBUTES, within)
    return attributes if isinstance(attributes, dict) else {}


@contextmanager
def attributes_set(attributes: Mapping[str, Any]) -> Iterator[None]:
    """Set these attributes, where they are not None, on all spans that start within."""
    known = {key: value for key, value in attributes.items() if value is not None}
    token = context.attach(context.set_value(_ATTRIBUTES, {**attributes_within(None), **known}))
    try:
        yield
    finally:
        context.detach(token)


def is_model_call(attributes: Mapping[str, Any]) -> bool:
    """Return whether a span of these attributes is a model call, by whichever convention."""
    operation = attributes.get("gen_ai.operation.name")
    if operation in _MODEL_CALLS or attributes.get("openinference.span.kind") == "LLM":
        return True
    return operation not in _NO_MODEL_CALLS and any(key in attributes for key in _MODEL_KEYS)


def note_model_call(span: SpanContext | None) -> None:
    """Note that the turn of this span has a model call."""
    if span is not None:
        _silent_turns.discard(span.trace_id)


def open_turn(trace_id: int) -> None:
    _silent_turns.add(trace_id)


def close_turn(trace_id: int) -> bool:
    """Return whether no model call was recorded in the turn."""
    silent = trace_id in _silent_turns
    _silent_turns.discard(trace_id)
    return silent
