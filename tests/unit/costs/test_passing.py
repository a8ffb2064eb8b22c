"""Continuing and streaming the answers of a program's models is linear in each function, in each vendor's format."""

from __future__ import annotations

from typing import Any

import pytest

from app.providers.passing.anthropic import Messages
from app.providers.passing.google import GenerateContent
from app.providers.passing.openai import ChatCompletions, Responses
from app.providers.passing.wire import PassingWire, Results
from tests.support.cores import Core, Make
from tests.support.growth import Work
from tests.unit.costs.conftest import cost_tests

pytestmark = pytest.mark.slow


def completion(size: int) -> dict[str, Any]:
    calls = [{"id": f"c{n}", "function": {"name": "f", "arguments": "{}"}} for n in range(size)]
    message = {"role": "assistant", "tool_calls": calls} | {f"key{n}": 1 for n in range(size)}
    return {"id": "x" * size, "choices": [{"index": 0, "message": message}] * 2}


def many_choices(size: int) -> dict[str, Any]:
    return {"choices": [{"index": n, "message": {"content": "a"}} for n in range(size)]}


def response(size: int) -> dict[str, Any]:
    part = {"type": "output_text", "text": "a"}
    calls = [{"type": "function_call", "id": f"f{n}", "call_id": f"c{n}", "arguments": "{}"} for n in range(size)]
    return {"output": [{"type": "message", "id": "x" * size, "content": [part] * size}, *calls]}


def blocks(size: int) -> dict[str, Any]:
    calls = [{"type": "tool_use", "id": f"c{n}", "name": "f", "input": {}} for n in range(size)]
    return {"content": [*calls, *[{"type": "text", "text": "a"}] * size]} | {f"stop_{n}": "a" for n in range(size)}


def parts(size: int) -> dict[str, Any]:
    content = [{"functionCall": {"id": f"c{n}", "name": "f", "args": {}}} for n in range(size)]
    return {"candidates": [{"content": {"role": "model", "parts": content}}]}


def request(size: int) -> dict[str, Any]:
    """Return a request that each wire reads, with as many messages and tools."""
    messages = [{"role": "system", "content": [{"text": "a"}]}] * size
    function = {"name": "f", "parameters": {}}
    tools = [{"type": "function", "function": function, **function, "functionDeclarations": [function]}] * size
    custom = [{"name": "f", "input_schema": {}}] * size
    lists = {"messages": messages, "input": messages, "contents": messages, "tools": [*tools, *custom]}
    texts = [{"text": "a"}] * size
    return {**lists, "system": texts, "systemInstruction": {"parts": texts}, **{f"key{n}": n for n in range(size)}}


def passed(wire: PassingWire, answer: Any) -> Make:
    def make(size: int) -> Work:
        received, body = answer(size), request(size)

        def work() -> None:
            wire.continued(wire.whole(body), Results(received, ["a"] * size))
            wire.stream(received, {"stream": True, "stream_options": {"include_usage": True}})
            assert wire.instruction(body)
            list(wire.tools(body))
            wire.check(body)

        return work

    return make


WORKS: dict[str, Make] = {
    "chat completions": passed(ChatCompletions(), completion),
    "chat completions of many choices": lambda size: (
        lambda: ChatCompletions().stream(many_choices(size), {"stream": True})
    ),
    "responses": passed(Responses(), response),
    "messages": passed(Messages(), blocks),
    "generateContent": passed(GenerateContent(), parts),
}
CORE = Core(("providers/passing",), WORKS, size=40)
NOT_GROWING: dict[str, set[str]] = {
    "loop over a table of the class": {"providers/passing/wire:PassingWire.most_written"},
}

(
    test_twice_the_input_is_at_most_about_twice_the_work_of_each_function,
    test_each_function_that_loops_is_counted_or_has_a_reason,
    test_each_reason_is_about_a_function_that_loops,
) = cost_tests(CORE, NOT_GROWING)
