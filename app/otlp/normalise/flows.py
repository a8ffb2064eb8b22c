"""Programs made of components that are not the model's calls: Langflow's flows and NeMo Guardrails.

Sources: https://github.com/langflow-ai/langflow and https://github.com/NVIDIA/NeMo-Guardrails
"""

from __future__ import annotations

from typing import Any

from app.otlp.normalise.convention import AGENT, CHAT, Convention, SpanView
from app.otlp.normalise.messages import Messages, NormalisedMessage
from app.values.json import json_container

_FLOW, _COMPONENT = "langflow.trace_type", "trace_name"
_CHAT_INPUT, _CHAT_OUTPUT = "Chat Input", "Chat Output"


class Langflow(Convention):
    """Langflow: a span for each component, named after its kind, with its id in parentheses.

    The chat's input has the question. The flow's span has the answer, which is that of the chat's output.
    """

    name = "langflow"
    markers = frozenset({_FLOW, _COMPONENT})

    def operation(self, span: SpanView) -> str | None:
        return AGENT if _FLOW in span.attributes or _is_question(span) else None

    def input_messages(self, span: SpanView) -> Messages | None:
        return _message("user", _value(span, "inputs", "input_value")) if _is_question(span) else None

    def output_messages(self, span: SpanView) -> Messages | None:
        outputs = json_container(span.first("outputs")) if _FLOW in span.attributes else None
        if not isinstance(outputs, dict):
            return None
        shown = [value for name, value in outputs.items() if name.startswith(_CHAT_OUTPUT) and isinstance(value, dict)]
        return _message("assistant", shown[-1].get("message")) if shown else None


def _is_question(span: SpanView) -> bool:
    return "trace_type" in span.attributes and (span.text(_COMPONENT) or "").startswith(_CHAT_INPUT)


def _value(span: SpanView, side: str, name: str) -> Any:
    values = json_container(span.first(side))
    return values.get(name) if isinstance(values, dict) else None


_GUARDED = "guardrails"
_ASKED = ("guardrails.utterance.user.finished", "guardrails.user_message")
_ANSWERED = ("guardrails.utterance.bot.started", "guardrails.utterance.bot.finished")


class Guardrails(Convention):
    """NeMo Guardrails: events of a request's span have the question, and the answer after all rails.

    A call of a model has its task as operation. Most calls are of rails: their words are no answers, and not read.
    """

    name = "nemo_guardrails"
    markers = frozenset({"span.kind"})

    def operation(self, span: SpanView) -> str | None:
        if span.attributes.get("gen_ai.operation.name") == _GUARDED:
            return AGENT
        return CHAT if "llm.cache.hit" in span.attributes else None

    def input_messages(self, span: SpanView) -> Messages | None:
        return _message("user", _content(span, _ASKED))

    def output_messages(self, span: SpanView) -> Messages | None:
        return _message("assistant", _content(span, _ANSWERED))


def _content(span: SpanView, names: tuple[str, ...]) -> Any:
    contents = (attributes.get("content") for name, attributes in span.events if name in names)
    return next(filter(None, contents), None)


def _message(role: str, text: Any) -> Messages | None:
    return (NormalisedMessage(role, text),) if isinstance(text, str) and text else None
