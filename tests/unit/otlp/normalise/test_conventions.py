"""Each convention by itself: its spans in normal form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat import ToolCall
from app.otlp.normalise import Event, NormalisedMessage, ToolUse
from app.otlp.normalise.spread import gather
from app.otlp.normalise.tokens import TokenCounts
from tests.support.normalized_spans import normal

PARIS = ToolCall("c1", "get_weather", {"city": "Paris"})
ASKED = (NormalisedMessage("user", "Hi"),)
ANSWERED = (NormalisedMessage("assistant", "Hello"),)
CALLED = (NormalisedMessage("assistant", None, (PARIS,)),)
OPENAI_CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}
DEFINITION = {"name": "get_weather", "description": "d", "parameters": {"type": "object"}}

CHATS: dict[str, tuple[dict[str, Any], str]] = {
    "gen_ai, older names": (
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.system": "openai",
            "gen_ai.request.model": "gpt",
            "gen_ai.usage.prompt_tokens": 3,
            "gen_ai.usage.completion_tokens": "2",
            "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}],
            "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"Hello"}]}]',
        },
        "gen_ai",
    ),
    "semantic kernel": (
        {
            "gen_ai.operation.name": "chat.completions",
            "gen_ai.system": "openai",
            "gen_ai.request.model": "gpt",
            "gen_ai.usage.input_tokens": 3,
            "gen_ai.usage.output_tokens": 2,
            "gen_ai.prompt": "Hi",
            "gen_ai.completion": '[{"role":"assistant","content":"Hello"}]',
        },
        "gen_ai",
    ),
    "Vercel AI SDK 6": (
        {
            "ai.operationId": "ai.streamText.doStream",
            "ai.model.id": "gpt",
            "ai.model.provider": "openai",
            "ai.prompt.messages": '[{"role":"user","content":[{"type":"text","text":"Hi"}]}]',
            "ai.response.text": "Hello",
            "ai.usage.inputTokens": 3,
            "ai.usage.outputTokens": 2,
        },
        "vercel_ai",
    ),
    "Vercel AI SDK 3": (
        {
            "operation.name": "ai.generateText.doGenerate fn",
            "ai.operationId": "ai.generateText.doGenerate",
            "ai.model.id": "gpt",
            "ai.model.provider": "openai",
            "ai.prompt.format": "messages",
            "ai.prompt.messages": '[{"role":"user","content":"Hi"}]',
            "ai.result.text": "Hello",
            "ai.usage.promptTokens": 3,
            "ai.usage.completionTokens": 2,
        },
        "vercel_ai",
    ),
    "OpenInference": (
        {
            "openinference.span.kind": "LLM",
            "llm.model_name": "gpt",
            "llm.provider": "openai",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.contents.0.message_content.type": "text",
            "llm.input_messages.0.message.contents.0.message_content.text": "Hi",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "Hello",
            "llm.token_count.prompt": 3,
            "llm.token_count.completion": 2,
        },
        "openinference",
    ),
    "OpenInference without messages": (
        {
            "openinference.span.kind": "LLM",
            "llm.model_name": "gpt",
            "llm.system": "openai",
            "input.value": '{"messages":[{"role":"user","content":"Hi"}]}',
            "output.value": "Hello",
            "llm.token_count.prompt": 3,
            "llm.token_count.completion": 2,
        },
        "openinference",
    ),
    "OpenLLMetry, indexed": (
        {
            "llm.request.type": "chat",
            "gen_ai.system": "openai",
            "gen_ai.request.model": "gpt",
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": '[{"type":"text","text":"Hi"}]',
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "Hello",
            "gen_ai.usage.prompt_tokens": 3,
            "gen_ai.usage.completion_tokens": 2,
        },
        "openllmetry",
    ),
    "indexed, no kind of request": (
        {
            "gen_ai.system": "openai",
            "gen_ai.request.model": "gpt",
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "Hi",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "Hello",
            "gen_ai.usage.input_tokens": 3,
            "gen_ai.usage.output_tokens": 2,
        },
        "gen_ai.indexed",
    ),
    "pydantic-ai 0.x": (
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.system": "openai",
            "gen_ai.request.model": "gpt",
            "events": json.dumps(
                [
                    {"event.name": "gen_ai.user.message", "role": "user", "content": "Hi", "gen_ai.message.index": 0},
                    {
                        "event.name": "gen_ai.choice",
                        "index": 0,
                        "message": {"role": "assistant", "content": "Hello"},
                    },
                ]
            ),
            "gen_ai.usage.input_tokens": 3,
            "gen_ai.usage.output_tokens": 2,
        },
        "gen_ai",
    ),
    "Logfire's own OpenAI instrumentation": (
        {
            "request_data": '{"model":"gpt","messages":[{"role":"user","content":"Hi"}]}',
            "response_data": '{"message":{"role":"assistant","content":"Hello"},"usage":{}}',
            "gen_ai.system": "openai",
            "gen_ai.request.model": "gpt",
            "gen_ai.usage.input_tokens": 3,
            "gen_ai.usage.output_tokens": 2,
        },
        "pydantic_ai",
    ),
    "Langfuse": (
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.model.name": "gpt",
            "langfuse.observation.input": '[{"role":"user","content":"Hi"}]',
            "langfuse.observation.output": '{"role":"assistant","content":"Hello"}',
            "langfuse.observation.usage_details": '{"input":3,"output":2}',
            "gen_ai.system": "openai",
        },
        "langfuse",
    ),
    "LangSmith": (
        {
            "langsmith.span.kind": "llm",
            "gen_ai.system": "openai",
            "gen_ai.request.model": "gpt",
            "gen_ai.prompt": '{"messages":[[{"type":"human","content":"Hi"}]]}',
            "gen_ai.completion": '{"generations":[[{"text":"Hello","message":{"type":"ai","content":"Hello"}}]]}',
            "gen_ai.usage.input_tokens": 3,
            "gen_ai.usage.output_tokens": 2,
        },
        "langsmith",
    ),
    "MLflow": (
        {
            "mlflow.spanType": '"CHAT_MODEL"',
            "mlflow.spanInputs": '{"model":"gpt","messages":[{"role":"user","content":"Hi"}]}',
            "mlflow.spanOutputs": '{"choices":[{"message":{"role":"assistant","content":"Hello"}}]}',
            "mlflow.chat.tokenUsage": '{"input_tokens":3,"output_tokens":2}',
            "gen_ai.request.model": "gpt",
            "gen_ai.system": "openai",
        },
        "mlflow",
    ),
}


@pytest.mark.parametrize("chat", CHATS)
def test_a_model_call_is_read(chat: str) -> None:
    attributes, convention = CHATS[chat]

    span = normal(attributes)

    assert span.is_chat
    assert span.convention == convention
    assert span.input_messages == ASKED
    assert span.output_messages == ANSWERED
    assert (span.provider, span.model) == ("openai", "gpt")
    assert span.tokens == TokenCounts(prompt=3, completion=2, cache_read=0, cache_write=0, reasoning=0)


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "gen_ai.output.messages": [
                {
                    "role": "assistant",
                    "parts": [{"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Paris"}}],
                }
            ]
        },
        {
            "ai.operationId": "ai.generateText.doGenerate",
            "ai.response.toolCalls": json.dumps(
                [
                    {
                        "toolCallType": "function",
                        "toolCallId": "c1",
                        "toolName": "get_weather",
                        "args": '{"city":"Paris"}',
                    }
                ]
            ),
        },
        {
            "openinference.span.kind": "LLM",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "get_weather",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"city":"Paris"}',
        },
        {
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.tool_calls.0.id": "c1",
            "gen_ai.completion.0.tool_calls.0.name": "get_weather",
            "gen_ai.completion.0.tool_calls.0.arguments": '{"city":"Paris"}',
        },
    ],
)
def test_the_calls_of_an_answer_are_read(attributes: dict[str, Any]) -> None:
    assert normal(attributes).output_messages == CALLED


TOOLS: dict[str, tuple[dict[str, Any], str, str | None]] = {
    "gen_ai": (
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.id": "c1",
            "gen_ai.tool.call.arguments": '{"city":"Paris"}',
            "gen_ai.tool.call.result": '{"celsius":18}',
        },
        "execute_tool get_weather",
        "c1",
    ),
    "pydantic-ai 0.x": (
        {
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.id": "c1",
            "tool_arguments": '{"city":"Paris"}',
            "tool_response": '{"celsius":18}',
        },
        "running tool",
        "c1",
    ),
    "Vercel AI SDK 6": (
        {
            "ai.operationId": "ai.toolCall",
            "ai.toolCall.name": "get_weather",
            "ai.toolCall.id": "c1",
            "ai.toolCall.args": '{"city":"Paris"}',
            "ai.toolCall.result": '{"celsius":18}',
        },
        "ai.toolCall",
        "c1",
    ),
    "OpenLLMetry JS": (
        {
            "traceloop.span.kind": "tool",
            "traceloop.entity.name": "get_weather",
            "traceloop.entity.input": '{"args":[],"kwargs":{"city":"Paris"}}',
            "traceloop.entity.output": '{"celsius":18}',
        },
        "get_weather.tool",
        None,
    ),
    "OpenLLMetry Python, a tool that returns JSON text": (
        {
            "traceloop.span.kind": "tool",
            "traceloop.entity.name": "get_weather",
            "traceloop.entity.input": '{"args":[{"city":"Paris"}],"kwargs":{}}',
            "traceloop.entity.output": json.dumps('{"celsius":18}'),
        },
        "get_weather.tool",
        None,
    ),
    "OpenLLMetry LangChain": (
        {
            "traceloop.span.kind": "tool",
            "traceloop.entity.name": "get_weather",
            "traceloop.entity.input": json.dumps(
                {"input_str": "{'city': 'Paris'}", "tags": [], "metadata": {}, "inputs": {"city": "Paris"}}
            ),
            "traceloop.entity.output": json.dumps(
                {"output": {"content": '{"celsius":18}', "type": "tool", "tool_call_id": "c1"}, "kwargs": {}}
            ),
        },
        "get_weather.tool",
        None,
    ),
    "OpenInference agents": (
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "get_weather",
            "tool.parameters": '{"type":"object"}',
            "input.value": '{"city":"Paris"}',
            "output.value": '{"celsius": 18}',
        },
        "get_weather",
        None,
    ),
    "OpenInference with OPENINFERENCE_ENABLE_GENAI_SEMCONV": (
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "get_weather",
            "tool.parameters": '{"type":"object","properties":{"city":{"type":"string"}}}',
            "input.value": '{"city":"Paris"}',
            "output.value": '{"celsius": 18}',
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.arguments": '{"type":"object","properties":{"city":{"type":"string"}}}',
            "gen_ai.tool.call.result": '{"celsius": 18}',
        },
        "get_weather",
        None,
    ),
    "another library's tool that a processor marks for OpenInference": (
        {
            "openinference.span.kind": "TOOL",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.arguments": '{"city":"Paris"}',
            "gen_ai.tool.call.result": '{"celsius": 18}',
        },
        "get_weather",
        None,
    ),
    "OpenInference LangChain": (
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "get_weather",
            "input.value": "{'city': 'Paris'}",
            "output.value": '{"type":"tool","content":"{\\"celsius\\": 18}","tool_call_id":"c1"}',
        },
        "get_weather",
        "c1",
    ),
    "OpenInference LangChain, newer": (
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "get_weather",
            "input.value": "{'city': 'Paris'}",
            "output.value": json.dumps(
                {"type": "tool", "data": {"content": '{"celsius":18}', "type": "tool", "tool_call_id": "c1"}}
            ),
        },
        "get_weather",
        "c1",
    ),
    "smolagents": (
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "get_weather",
            "input.value": '{"args":[],"sanitize_inputs_outputs":true,"kwargs":{"city":"Paris"}}',
            "output.value": '{"celsius":18}',
        },
        "SimpleTool",
        None,
    ),
    "Google ADK": (
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            "gcp.vertex.agent.tool_call_args": '{"city":"Paris"}',
            "gcp.vertex.agent.tool_response": '{"celsius":18}',
        },
        "execute_tool get_weather",
        None,
    ),
    "Langfuse": (
        {
            "langfuse.observation.type": "tool",
            "langfuse.observation.input": '{"city":"Paris"}',
            "langfuse.observation.output": '{"celsius":18}',
        },
        "get_weather",
        None,
    ),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_is_read(tool: str) -> None:
    attributes, name, call_id = TOOLS[tool]

    span = normal(attributes, name)

    assert span.is_tool
    assert span.tool == ToolUse("get_weather", call_id, {"city": "Paris"}, {"celsius": 18})


def test_a_tool_without_content_has_a_warning() -> None:
    span = normal({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"})

    assert span.tool == ToolUse("t", None, None, None)


def test_arguments_and_results_that_are_no_json_stay_text() -> None:
    span = normal(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "t",
            "gen_ai.tool.call.arguments": "city=Paris",
            "gen_ai.tool.call.result": '{"celsius": warm}',
        }
    )

    assert (span.tool.arguments, span.tool.result) == ("city=Paris", '{"celsius": warm}')


@pytest.mark.parametrize(
    "text",
    [
        "{[1]}",
        '{{"city": "Paris"}}',
        "{{}: 1}",
        "{'city'}",
        "{'city': b'Paris'}",
        "{'city': " + "-" * 10_000 + "1}",
        "{'text': '" + "x" * 1_000_000 + "'}",
    ],
)
def test_text_in_braces_that_is_no_dict_of_bounded_size_stays_text(text: str) -> None:
    """A prompt's template that was not filled in has double braces."""
    span = normal(
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.arguments": text}
    )

    assert span.tool.arguments == text


def test_json_nested_beyond_reason_stays_text() -> None:
    deep = "[" * 500 + "]" * 500
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.result": deep}

    assert normal(attributes).tool.result == deep


EVENTS: dict[str, list[Event]] = {
    "one event per message": [
        ("gen_ai.user.message", {"gen_ai.system": "x", "content": "Hi"}),
        ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": '{"role":"assistant","content":"Hello"}'}),
    ],
    "body in one attribute": [
        ("gen_ai.user.message", {"gen_ai.event.content": '{"content":"Hi"}'}),
        ("gen_ai.choice", {"gen_ai.event.content": '{"index":0,"message":{"content":"Hello"}}'}),
    ],
    "Strands": [
        ("gen_ai.user.message", {"content": '[{"text": "Hi"}]'}),
        ("gen_ai.choice", {"finish_reason": "end_turn", "message": '[{"text": "Hello"}]'}),
    ],
    "operation details": [
        (
            "gen_ai.client.inference.operation.details",
            {
                "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]',
                "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"Hello"}]}]',
            },
        )
    ],
    "content events": [
        ("gen_ai.content.prompt", {"gen_ai.prompt": '[{"role":"user","content":"Hi"}]'}),
        ("gen_ai.content.completion", {"gen_ai.completion": '[{"role":"assistant","content":"Hello"}]'}),
    ],
}


@pytest.mark.parametrize("shape", EVENTS)
def test_messages_in_span_events_are_read(shape: str) -> None:
    span = normal({"gen_ai.operation.name": "chat"}, events=[("other", {}), *EVENTS[shape]])

    assert span.input_messages == ASKED
    assert span.output_messages == ANSWERED


@pytest.mark.parametrize(
    "events",
    [
        [
            ("gen_ai.tool.message", {"role": "tool", "content": '{"city": "Paris"}', "id": "c1"}),
            ("gen_ai.choice", {"message": '[{"text": "{\\"celsius\\": 18}"}]', "id": "c1"}),
        ],
        [
            (
                "gen_ai.client.inference.operation.details",
                {
                    "gen_ai.input.messages": json.dumps(
                        [
                            {
                                "role": "tool",
                                "parts": [{"type": "tool_call", "name": "t", "arguments": {"city": "Paris"}}],
                            }
                        ]
                    ),
                    "gen_ai.output.messages": json.dumps(
                        [
                            {
                                "role": "tool",
                                "parts": [
                                    {"type": "tool_call_response", "id": "c1", "response": [{"json": {"celsius": 18}}]}
                                ],
                            }
                        ]
                    ),
                },
            )
        ],
    ],
)
def test_a_tools_content_in_span_events_is_read(events: list[Event]) -> None:
    span = normal({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}, events=events)

    assert span.tool.arguments == {"city": "Paris"}
    assert span.tool.result == {"celsius": 18}


@pytest.mark.parametrize(
    ("attributes", "name", "operation"),
    [
        ({"ai.operationId": "ai.generateText"}, "ai.generateText", "invoke_agent"),
        ({"ai.operationId": "ai.streamObject.doStream"}, "ai.streamObject.doStream", "chat"),
        ({"ai.operationId": "ai.embedMany.doEmbed"}, "ai.embedMany.doEmbed", "embeddings"),
        ({"openinference.span.kind": "CHAIN"}, "x", "chain"),
        ({"openinference.span.kind": "AGENT"}, "x", "invoke_agent"),
        ({"traceloop.span.kind": "workflow"}, "x", "invoke_workflow"),
        ({"llm.request.type": "embedding"}, "x", "embeddings"),
        ({"gen_ai.operation.name": "invoke_agent", "openinference.span.kind": "LLM"}, "x", "invoke_agent"),
        ({"gen_ai.operation.name": "something_new"}, "x", "something_new"),
        ({"gen_ai.operation.name": ""}, "x", ""),
        ({"http.route": "/chat"}, "POST /chat", ""),
        ({}, "x", ""),
    ],
)
def test_other_operations_are_kept_and_are_no_model_call(attributes: dict[str, Any], name: str, operation: str) -> None:
    span = normal(attributes, name)

    assert span.operation == operation
    assert span.is_chat == (operation == "chat")
    assert not span.is_tool


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.tool.definitions": json.dumps([DEFINITION])},
        {"gen_ai.tool.definitions": [DEFINITION], "gen_ai.operation.name": "chat"},
        {"ai.operationId": "ai.generateText.doGenerate", "ai.prompt.tools": [json.dumps(DEFINITION)]},
        {"openinference.span.kind": "LLM", "llm.tools.0.tool.json_schema": json.dumps(DEFINITION)},
        {
            "llm.request.type": "chat",
            "llm.request.functions.0.name": "get_weather",
            "llm.request.functions.0.description": "d",
            "llm.request.functions.0.parameters": '{"type": "object"}',
        },
    ],
)
def test_offered_tools_are_read(attributes: dict[str, Any]) -> None:
    assert normal(attributes).definitions == [DEFINITION]


def test_messages_of_tools_without_a_definition_offer_no_tool() -> None:
    said = [{"role": "tool", "tool_call_id": "c1"}, {"role": "tool", "content": DEFINITION | {"type": "function"}}]
    asked = {"langfuse.observation.type": "generation", "langfuse.observation.input": json.dumps(said)}

    assert normal(asked).definitions == [DEFINITION | {"type": "function"}]


@pytest.mark.parametrize("deep", ["a." * 3000, "0." * 3000, "a.0." * 3000])
def test_a_key_of_thousands_of_steps_hides_no_message(deep: str) -> None:
    attributes = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Hi", f"gen_ai.prompt.0.{deep}x": "x"}

    assert normal(attributes).input_messages == (NormalisedMessage("user", "Hi"),)


def test_attributes_of_many_names_are_looked_at_once_each() -> None:
    class Counted(str):
        compared = 0

        def startswith(self, *args: Any) -> bool:
            Counted.compared += 1
            return super().startswith(*args)

    many = {Counted(f"llm.tools.0.name{number}.x"): number for number in range(500)}

    assert len(gather(many, "llm.tools.")[0]) == 500
    assert Counted.compared <= 2 * len(many)


def test_numbered_attributes_are_put_in_the_order_of_their_numbers() -> None:
    attributes = {}
    for number in (10, 2, 0):
        attributes[f"gen_ai.prompt.{number}.role"] = "user"
        attributes[f"gen_ai.prompt.{number}.content"] = str(number)

    assert [message.text for message in normal(attributes).input_messages or ()] == ["0", "2", "10"]


@pytest.mark.parametrize("number", ["x", "9999999999999", "1" * 5000, "", "-1", "\u0661"])
def test_numbers_that_are_none_are_passed_over(number: str) -> None:
    assert normal({f"gen_ai.prompt.{number}.role": "user", "gen_ai.prompt.0.role": "user"}).input_messages == (
        NormalisedMessage("user"),
    )
