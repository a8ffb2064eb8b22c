"""Haystack's own spans: of pipelines with their components, and of agents with their steps."""

from __future__ import annotations

from typing import Any

from app.otlp.normalise.convention import AGENT, CHAT, COUNT_MAX, TOOL, Convention, SpanView, ToolUse
from app.otlp.normalise.messages import Messages, NormalisedMessage
from app.otlp.normalise.toolio import result_in_block
from app.otlp.values import integer
from app.values.json import json_container, json_or_text

_NAMES = {"haystack.agent.run": AGENT, "haystack.agent.step.llm": CHAT, "haystack.agent.step.tool": TOOL}
_REPLIES = '{"replies"'


class Haystack(Convention):
    """Haystack: agents' steps by their names, and components of pipelines, of which models give replies.

    Source: https://docs.haystack.deepset.ai/docs/tracing
    """

    name = "haystack"
    input_keys = ("haystack.agent.step.llm.input", "haystack.component.input")
    output_keys = ("haystack.agent.step.llm.output", "haystack.component.output")
    markers = frozenset({"haystack.tool.name", "haystack.agent.max_steps", *input_keys, *output_keys})

    def operation(self, span: SpanView) -> str | None:
        named = _NAMES.get(span.name)
        return CHAT if named is None and (span.text(*self.output_keys) or "").startswith(_REPLIES) else named

    def model(self, span: SpanView) -> str | None:
        model = self._facts(span).get("model")
        return model if isinstance(model, str) and model else None

    def input_messages(self, span: SpanView) -> Messages | None:
        match json_container(span.first(*self.input_keys)):
            case {"prompt": str(prompt)}:
                return (NormalisedMessage("user", prompt),)
        return super().input_messages(span)

    def input_tokens(self, span: SpanView) -> int | None:
        return self._tokens(span, "prompt_tokens")

    def output_tokens(self, span: SpanView) -> int | None:
        return self._tokens(span, "completion_tokens")

    def tool(self, span: SpanView) -> ToolUse | None:
        if self.operation(span) != TOOL:
            return None
        arguments, result = (span.first(f"haystack.agent.step.tool.{side}") for side in ("input", "output"))
        return ToolUse(span.text("haystack.tool.name"), None, json_or_text(arguments), result_in_block(result))

    def definitions(self, span: SpanView) -> list[Any] | None:
        request = json_container(span.first("haystack.agent.tools", *self.input_keys))
        tools = request.get("tools") if isinstance(request, dict) else request
        listed = tools if isinstance(tools, list) else ()
        return [tool.get("data", tool) for tool in listed if isinstance(tool, dict)] or None

    def _tokens(self, span: SpanView, name: str) -> int | None:
        usage = self._facts(span).get("usage")
        count = integer(usage.get(name)) if isinstance(usage, dict) else None
        return count if count is not None and 0 <= count <= COUNT_MAX else None

    def _facts(self, span: SpanView) -> dict[str, Any]:
        """Return the facts of a reply's model: they are in the reply, or next to replies that are texts."""
        match json_container(span.first(*self.output_keys)):
            case {"replies": [{"meta": dict(facts)}, *_]} | {"meta": [dict(facts), *_]}:
                return facts
        return {}
