"""Messages in numbered attributes, and the whole input and output where these have no words."""

from __future__ import annotations

from typing import Any

import pytest

from app.chat import ToolCall
from app.otlp.normalise import Normalised, NormalisedMessage, SpanView
from tests.support.normalized_spans import normal

LLM = {"openinference.span.kind": "LLM"}
OUTPUT = "llm.output_messages.0.message"


@pytest.mark.parametrize(
    "attributes",
    [
        {f"{OUTPUT}.content.0": "Hello"},
        {f"{OUTPUT}.contents.0": "Hello"},
        {f"{OUTPUT}.contents.0.message_content.text": "Hello", f"{OUTPUT}.contents.0.message_content.type": "text"},
        {f"{OUTPUT}.contents.0.text": "Hello"},
        {f"{OUTPUT}.role": "assistant", "output.value": "Hello"},
        {f"{OUTPUT}.content": "", "output.value": "Hello"},
        {"output.audio.transcript": "Hello"},
    ],
)
def test_the_answer_is_read_of_any_numbered_list_else_of_the_whole_output(attributes: dict[str, Any]) -> None:
    messages = normal(LLM | {f"{OUTPUT}.role": "assistant"} | attributes).output_messages

    assert messages == (NormalisedMessage("assistant", "Hello"),)


def test_texts_are_in_the_order_of_their_numbers() -> None:
    numbered = {f"{OUTPUT}.content.{number}": str(number) for number in (10, 2, 0)}

    assert normal(LLM | numbered).output_messages == (NormalisedMessage("assistant", "0210"),)


def test_numbered_prompts_may_be_plain_texts() -> None:
    plain = normal({"gen_ai.prompt.0": "Hi", "gen_ai.completion.0": "Hello"})

    assert plain.input_messages == (NormalisedMessage("user", "Hi"),)
    assert plain.output_messages == (NormalisedMessage("assistant", "Hello"),)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ({0: "It", 1: " ", 2: "rains", 4: "\n\n", 11: "."}, "It rains\n\n."),
        (
            {0: "https://files.example/a.png", 1: "https://files.example/b.png"},
            "https://files.example/a.png\nhttps://files.example/b.png",
        ),
        ({3: "Rain."}, "Rain."),
    ],
)
def test_the_completions_of_replicate_are_the_pieces_of_one(pieces: dict[int, str], text: str) -> None:
    recorded = {f"gen_ai.completion.{number}.content": piece for number, piece in pieces.items()}
    span = {"gen_ai.prompt.0.user": "Hi"} | recorded

    outputs = normal(span, scope="opentelemetry.instrumentation.replicate").output_messages
    assert outputs == (NormalisedMessage("assistant", text),)


def test_the_completions_of_other_clients_are_messages() -> None:
    two = {"gen_ai.completion.0.content": "Rain.", "gen_ai.completion.1.content": "It rains."}
    assert [message.text for message in normal(two).output_messages or ()] == ["Rain.", "It rains."]


@pytest.mark.parametrize(
    "attributes",
    [
        LLM | {"output.value": "too many requests"},
        {"gen_ai.operation.name": "chat", "gen_ai.completion": "too many requests"},
        {"langfuse.observation.type": "generation", "langfuse.observation.output": '"too many requests"'},
        {"mastra.span.type": "model_inference", "mastra.model_inference.output": "too many requests"},
    ],
)
def test_the_plain_output_of_a_failed_call_is_its_error(attributes: dict[str, Any]) -> None:
    def outputs(*, failed: bool) -> Any:
        return Normalised(SpanView("chat", "test", attributes, failed=failed)).output_messages

    assert outputs(failed=True) is None
    assert outputs(failed=False) == (NormalisedMessage("assistant", "too many requests"),)


def test_an_output_may_lack_message_in_its_names() -> None:
    numbered = {"llm.output_messages.0.role": "assistant", "llm.output_messages.0.content": "Hello"}

    assert normal(LLM | numbered).output_messages == (NormalisedMessage("assistant", "Hello"),)


CALLED = (NormalisedMessage("assistant", None, (ToolCall("c", "look", {"a": 1}),)),)


@pytest.mark.parametrize(
    "attributes",
    [
        {"tool.0.call.id": "c", "tool.0.name": "look", "tool.0.arguments": '{"a": 1}'},
        {"tool.call.id": "c", "tool.name": "look", "tool.arguments": '{"a": 1}', "type": "tool_use"},
        {"tool_call_type": "function_call", "tool_id": "f", "tool_call_id": "c", "tool_name": "look"}
        | {"tool_arguments": '{"a": 1}'},
    ],
)
def test_calls_of_completions_are_read_below_tool(attributes: dict[str, Any]) -> None:
    recorded = {f"gen_ai.completion.0.{name}": value for name, value in attributes.items()}

    assert (
        normal({"gen_ai.operation.name": "chat"} | recorded | {"gen_ai.completion.0.role": "assistant"}).output_messages
        == CALLED
    )


@pytest.mark.parametrize(
    "attributes",
    [
        {"tool_call_type": "function_call_output", "tool_call_id": "c", "output": '{"sky": "rain"}'},
        {"role": "user", "function_response.name": "look", "function_response.id": "c"}
        | {"function_response.result": '{"sky": "rain"}'},
    ],
)
def test_results_of_prompts_are_read_by_the_names_of_their_vendor(attributes: dict[str, Any]) -> None:
    recorded = {f"gen_ai.prompt.0.{name}": value for name, value in attributes.items()}

    messages = (
        normal(
            {"gen_ai.operation.name": "chat", "gen_ai.prompt.1.role": "user", "gen_ai.completion.0.role": ""} | recorded
        ).input_messages
        or ()
    )

    assert [(found.call_id, found.result) for message in messages for found in message.responses] == [
        ("c", {"sky": "rain"})
    ]


@pytest.mark.parametrize(("scope", "text"), [("tracy", "7"), ("other", '"7"')])
def test_only_tracy_records_the_json_of_each_content(scope: str, text: str) -> None:
    recorded = {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": '"7"'}

    assert normal(recorded, scope=scope).output_messages == (NormalisedMessage("assistant", text),)


def test_the_content_null_of_tracy_is_no_text() -> None:
    recorded = {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "null"}

    assert [message.text for message in normal(recorded, scope="tracy").output_messages or ()] == [None]


@pytest.mark.parametrize("prefix", ["gen_ai.tool", "gen_ai.request.tools"])
def test_tools_are_offered_in_numbered_attributes(prefix: str) -> None:
    recorded = {
        f"{prefix}.0.name": "look",
        f"{prefix}.0.parameters": '{"type": "object"}',
        "gen_ai.prompt.0.role": "user",
    }

    assert normal(recorded | {"gen_ai.tool.name": "look"}).definitions == [
        {"name": "look", "parameters": {"type": "object"}}
    ]


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.request.functions.0.name": "look", "gen_ai.request.functions.1.name": "find"},
        {"gen_ai.request.tools.0.function.name": "look", "gen_ai.request.tools.1.function.name": "find"},
        {"gen_ai.tool.0.function.0.name": "look", "gen_ai.tool.0.function.1.name": "find"},
    ],
)
def test_offered_tools_are_functions_with_one_number_or_two(attributes: dict[str, Any]) -> None:
    offered = normal({"gen_ai.prompt.0.content": "Hello?"} | attributes).definitions or []

    assert [tool["name"] for tool in offered] == ["look", "find"]


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"gen_ai.prompt.system.content": "Be brief."}, "Be brief."),
        (
            {"gen_ai.prompt.system.0.content": "Be brief.", "gen_ai.prompt.system.1.content": "Be kind."},
            "Be brief.\nBe kind.",
        ),
    ],
)
def test_an_instruction_is_read_with_numbered_messages(attributes: dict[str, Any], text: str) -> None:
    asked = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Hello?"}

    messages = normal(asked | attributes).input_messages

    assert messages == (NormalisedMessage("system", text), NormalisedMessage("user", "Hello?"))
    assert normal(attributes).input_messages is None


def test_an_output_that_is_declared_as_json_may_be_what_python_prints() -> None:
    tool = {"openinference.span.kind": "TOOL", "tool.name": "look", "output.value": "{'sky': None}"}

    assert normal(tool | {"output.mime_type": "application/json"}).tool.result == {"sky": None}
    assert normal(tool | {"output.mime_type": "text/plain"}).tool.result == "{'sky': None}"
