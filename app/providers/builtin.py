"""Two deterministic models that need no network, for trying the product and for tests."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import sha256
from typing import Any

from app.chat import Answer, Message, OnEvent, StreamEvent, Tokens, ToolCall, ToolDefinition
from app.errors import Invalid
from app.providers.bounds import ELEMENTS_MAX
from app.providers.decoding import ANSWER_MAX
from app.providers.types import ModelRequest
from app.values.budget import OverBudget, WorkBudget
from app.values.json import count_marks

_WORD = re.compile(r"\S+\s*|\s+")
_BRACKETS = 2  # characters of an empty object or list


class BuiltinModels:
    """`echo` answers with the question; `demo-agent` calls each tool once, then answers with their results."""

    def complete(self, request: ModelRequest) -> Answer:
        model = _MODELS.get(request.model.name)
        if model is None:
            raise Invalid(f"There is no builtin model {request.model.name!r}; there are: {', '.join(_MODELS)}.")
        answer = _cut(model(request), request.config.max_tokens)
        arguments = (json.dumps(call.arguments) for call in answer.tool_calls)
        prompt, completion = (message.text for message in request.messages), (answer.text, *arguments)
        return replace(answer, tokens=Tokens(_count_words(prompt), _count_words(completion)))

    def stream(self, request: ModelRequest, on_event: OnEvent) -> Answer:
        answer = self.complete(request)
        for word in _WORD.findall(answer.text):
            on_event(StreamEvent("token", word))
        for call in answer.tool_calls:
            on_event(StreamEvent("tool_call", tool_call=call))
        return answer


def _echo(request: ModelRequest) -> Answer:
    return Answer(_question(request.messages))


def _demo_agent(request: ModelRequest) -> Answer:
    turn = _turn(request.messages)
    question = _question(request.messages)
    called = {call.name for message in turn for call in message.tool_calls}
    uncalled = next((tool for tool in request.config.tools if tool.name not in called), None)
    if uncalled is not None:
        return Answer("", (_call(uncalled, question, len(called)),), finish_reason="tool_calls")
    results = [message.text for message in turn if message.role == "tool"]
    return Answer("\n".join(results) if results else question)


_MODELS: dict[str, Callable[[ModelRequest], Answer]] = {"echo": _echo, "demo-agent": _demo_agent}
NAMES = tuple(_MODELS)


def _question(messages: tuple[Message, ...]) -> str:
    return next((message.text for message in reversed(messages) if message.role == "user"), "")


def _turn(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages after the user's last one."""
    last = max((index for index, message in enumerate(messages) if message.role == "user"), default=-1)
    return messages[last + 1 :]


def _call(tool: ToolDefinition, question: str, ordinal: int) -> ToolCall:
    try:
        arguments = _Samples(question).of(tool.parameters or {"type": "object"})
    except OverBudget:
        raise Invalid(f"The tool {tool.name!r} asks for arguments that are too large for an answer.") from None
    digest = sha256(json.dumps([ordinal, tool.name, arguments], sort_keys=True).encode()).hexdigest()
    return ToolCall(f"call_{digest[:24]}", tool.name, arguments)


class _Samples:
    """Makes values that JSON Schemas of common shapes accept; texts are the question.

    A schema of a hundred characters can ask for billions of items, and each may be a long question: the characters of
    the JSON, and its values, are counted before there are any. `OverBudget` is raised for more than an answer may have.
    """

    def __init__(self, question: str) -> None:
        self._question = question
        self._characters, self._values = WorkBudget(ANSWER_MAX), WorkBudget(ELEMENTS_MAX)

    def of(self, schema: Any) -> Any:
        if not isinstance(schema, dict):
            return self._scalar(self._question)
        for keyword in ("const", "default"):
            if keyword in schema:
                return self._scalar(schema[keyword])
        if schema.get("enum"):
            return self._scalar(schema["enum"][0])
        kind = schema.get("type", "object" if "properties" in schema else "string")
        kind = kind[0] if isinstance(kind, list) and kind else kind
        match kind:
            case "object":
                return self._object(schema)
            case "array":
                return self._items(schema.get("items", {}), int(schema.get("minItems", 0)))
            case "integer" | "number":
                return self._scalar(min(max(1, schema.get("minimum", 1)), schema.get("maximum", math.inf)))
            case "boolean":
                return self._scalar(True)
            case "null":
                return self._scalar(None)
            case _:
                return self._scalar(self._question)

    def _scalar(self, value: Any) -> Any:
        text = value if isinstance(value, str) else json.dumps(value)
        self._values.spend(1 if isinstance(value, str) else 1 + count_marks(text))
        self._characters.spend(1 + len(text))
        return value

    def _object(self, schema: dict[str, Any]) -> dict[str, Any]:
        self._values.spend(1)
        self._characters.spend(_BRACKETS)
        properties = schema.get("properties", {})
        return {self._scalar(name): self.of(properties.get(name, {})) for name in schema.get("required", [])}

    def _items(self, schema: Any, count: int) -> list[Any]:
        """Return equal items; each counts as many characters and values as the first one."""
        self._values.spend(1)
        self._characters.spend(_BRACKETS)
        budgets = (self._characters, self._values)
        before = [budget.spent for budget in budgets]
        item = self.of(schema)
        for budget, spent in zip(budgets, before, strict=True):
            budget.spend((budget.spent - spent) * max(0, count - 1))
        return [item] * count


def _cut(answer: Answer, max_tokens: int | None) -> Answer:
    words = _WORD.findall(answer.text)
    if max_tokens is None or len(words) <= max_tokens:
        return answer
    return replace(answer, text="".join(words[:max_tokens]), finish_reason="length")


def _count_words(texts: Iterable[str]) -> int:
    """Count tokens, which are words for builtin models, so that the counts can be checked by eye."""
    return sum(len(text.split()) for text in texts)
