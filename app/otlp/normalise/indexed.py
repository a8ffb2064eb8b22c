"""Messages spread over numbered attributes: `gen_ai.prompt.0.role`, `gen_ai.completion.0.tool_calls.0.name` …"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.otlp.normalise.convention import CHAT, Convention, SpanView
from app.otlp.normalise.messages import Messages, read_messages, read_text

_INDEX_DIGITS = 5
# What lies deeper in a key stays one name: no convention goes half as deep.
_LEVELS = 16


class Indexed(Convention):
    name = "gen_ai.indexed"
    markers = frozenset(
        f"{prefix}.{rest}"
        for prefix in ("gen_ai.prompt", "gen_ai.completion", "llm.prompts", "llm.completions")
        for rest in ("0.role", "0.content", "0.finish_reason", "0.tool_calls.0.name", "0.user", "0.function_call.name")
    )

    def operation(self, span: SpanView) -> str | None:
        return CHAT

    def input_messages(self, span: SpanView) -> Messages | None:
        return _messages(span, ("gen_ai.prompt.", "llm.prompts."), "user")

    def output_messages(self, span: SpanView) -> Messages | None:
        return _messages(span, ("gen_ai.completion.", "llm.completions."), "assistant")


class Whole(Convention):
    """The oldest form: all messages, or a plain text, in `gen_ai.prompt` and `gen_ai.completion`."""

    name = "gen_ai.prompt"
    markers = frozenset({"gen_ai.prompt", "gen_ai.completion"})

    def input_messages(self, span: SpanView) -> Messages | None:
        return read_text(span.first("gen_ai.prompt"), "user")

    def output_messages(self, span: SpanView) -> Messages | None:
        return read_text(span.first("gen_ai.completion"), "assistant")


def _messages(span: SpanView, prefixes: tuple[str, ...], role: str) -> Messages | None:
    for prefix in prefixes:
        if entries := gather(span.attributes, prefix):
            return read_messages(entries, role)
    return None


def gather(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The numbered attributes below `prefix` as objects in the order of their numbers, lists within alike."""
    root = _Branch()
    for key in attributes:
        if key.startswith(prefix):
            *path, name = key[len(prefix) :].split(".", _LEVELS)
            branch = root
            for step in path:
                branch = branch.within.setdefault(step, _Branch())
            branch.values[name] = attributes[key]
    return _entries(root)


@dataclass(slots=True)
class _Branch:
    """What keys with a common beginning say: `values` where they end after one more name, others `within` it."""

    values: dict[str, Any] = field(default_factory=dict)
    within: dict[str, _Branch] = field(default_factory=dict)


def _entries(branch: _Branch) -> list[dict[str, Any]]:
    numbered = {int(name): inner for name, inner in branch.within.items() if _is_index(name)}
    return [_nested(numbered[number]) for number in sorted(numbered)]


def _is_index(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) <= _INDEX_DIGITS


def _nested(branch: _Branch) -> dict[str, Any]:
    """`tool_calls.0.name` as `{"tool_calls": [{"name": x}]}`."""
    nested = dict(branch.values)
    for name, within in branch.within.items():
        nested.setdefault(name, _entries(within) or _nested(within))
    return nested
