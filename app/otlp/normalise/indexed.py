"""Messages spread over numbered attributes: `gen_ai.prompt.0.role`, `gen_ai.completion.0.tool_calls.0.name` …"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.otlp.normalise.convention import CHAT, Convention, SpanView
from app.otlp.normalise.messages import Messages, read_messages, read_text

_MAX_INDEX = 100_000


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
    entries: dict[int, dict[str, Any]] = {}
    for key in attributes:
        if key.startswith(prefix):
            number, _, path = key[len(prefix) :].partition(".")
            if path and number.isascii() and number.isdigit() and int(number) < _MAX_INDEX:
                entries.setdefault(int(number), {})[path] = attributes[key]
    return [_nested(entries[number]) for number in sorted(entries)]


def _nested(flat: dict[str, Any]) -> dict[str, Any]:
    """`{"tool_calls.0.name": x}` as `{"tool_calls": [{"name": x}]}`."""
    nested: dict[str, Any] = {key: value for key, value in flat.items() if "." not in key}
    heads = dict.fromkeys(key.partition(".")[0] for key in flat if "." in key)
    for head in heads:
        items = gather(flat, f"{head}.")
        rest = {key[len(head) + 1 :]: value for key, value in flat.items() if key.startswith(f"{head}.")}
        nested.setdefault(head, items or _nested(rest))
    return nested
