"""Servers of OpenAI's format with their differences, as docs/reference/servers.md lists them."""

import json
import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.chat import Message, Tokens
from app.errors import Invalid
from app.providers.failures import refused
from app.services.language_models.credentials import check_base_url
from tests.fakes.models import KEY, WEATHER, request
from tests.fakes.upstream import Reply

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "servers.md"
VENDOR = "CUSTOM_OPENAI_COMPATIBLE"
ROME, BONN = '{"city": "Rome"}', '{"city": "Bonn"}'
BOTH = [("weather", {"city": "Rome"}), ("weather", {"city": "Bonn"})]


def chunk(finish=None, usage=None, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": usage}


def call(arguments, index=None, **fields):
    """A piece of a call of `weather`, with its name if it has an id or is a whole call."""
    function = {"arguments": arguments} | ({"name": "weather"} if "id" in fields else {})
    return fields | {"type": "function", "function": function} | ({} if index is None else {"index": index})


def usage(prompt, completion, **more):
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion} | more


@dataclass(frozen=True)
class Server:
    """The answer of a server in its form, as a stream and as a whole, and what is in it."""

    events: list
    whole: dict | None = None
    text: str = ""
    reasoning: str | None = None
    calls: list = field(default_factory=list)
    tokens: Tokens = Tokens(3, 4)
    finish: str = "stop"
    before: str = ""
    errors: dict = field(default_factory=dict)


LAST = {"choices": [], "usage": usage(3, 4)}
HALVES = [chunk(tool_calls=[call(ROME[:6], 0, id="a")]), chunk(tool_calls=[call(ROME[6:], 0)])]
SERVERS = {
    "Azure OpenAI": Server(
        [{"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}, chunk(content="Yes."),
         {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "content_filter_results": {}}]}, LAST],
        {"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop", "content_filter_results": {}}],
         "usage": usage(3, 4)},
        text="Yes.",
        errors={"Too many": {"error": {"code": "429", "message": "Too many"}}},
    ),
    "Amazon Bedrock": Server(
        [chunk(content="Yes."), chunk("stop"), LAST],
        {"choices": [{"message": {"content": "Yes.", "reasoning": "Hm."}, "finish_reason": "stop"}],
         "usage": usage(3, 4)},
        text="Yes.",
        errors={"Access denied": {"message": "Access denied"}},
    ),
    "Vertex AI": Server(
        [chunk(tool_calls=[call(ROME, 0, id="")]), chunk(tool_calls=[call(BONN, 0, id="")]),
         chunk("stop", {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 17})],
        calls=BOTH, tokens=Tokens(3, 14, reasoning=10), finish="tool_calls",
        errors={"Bad schema": [{"error": {"code": 400, "message": "Bad schema", "status": "INVALID_ARGUMENT"}}]},
    ),
    "OpenRouter": Server(
        [chunk(reasoning="Hm.", reasoning_details=[{"type": "reasoning.text", "text": "Hm."}]), chunk(content="Yes."),
         chunk("stop"), LAST],
        {"choices": [{"message": {"content": "Yes.", "reasoning": "Hm."}, "finish_reason": "stop", "error": None}],
         "usage": usage(3, 4, cost=0.1)},
        text="Yes.", reasoning="Hm.", before=": OPENROUTER PROCESSING\n\n",
        errors={"Provider returned error: hot": {"error": {"message": "Provider returned error", "code": 400,
                                                           "metadata": {"raw": "hot"}}}},
    ),
    "vLLM": Server(
        [chunk(role="assistant", content="", reasoning_content=None), chunk(reasoning_content="Hm."),
         *HALVES, chunk(tool_calls=[call(BONN, 1, id="b")]), chunk("tool_calls"), LAST],
        {"choices": [{"message": {"content": None, "reasoning_content": "Hm.",
                                  "tool_calls": [call(ROME, id="a"), call(BONN, id="b")]},
                      "finish_reason": "tool_calls", "stop_reason": None}], "usage": usage(3, 4)},
        reasoning="Hm.", calls=BOTH, finish="tool_calls",
        errors={"Too long": {"object": "error", "message": "Too long", "type": "BadRequestError", "code": 400}},
    ),
    "Ollama": Server(
        [chunk(tool_calls=[call(ROME, 0, id="a")]), chunk(tool_calls=[call(BONN, 0, id="b")]), chunk("stop"), LAST],
        {"choices": [{"message": {"content": "", "tool_calls": [call(ROME, id="a"), call(BONN, id="b")]},
                      "finish_reason": "tool_calls"}], "usage": usage(3, 4)},
        calls=BOTH, finish="tool_calls",
        errors={"model 'x' not found": {"error": {"message": "model 'x' not found", "type": "api_error"}}},
    ),
    "llama.cpp": Server(
        [*HALVES, chunk("tool_calls"), LAST | {"timings": {"predicted_n": 4}}],
        {"choices": [{"message": {"content": None, "tool_calls": [call({"city": "Rome"}, id="a")]},
                      "finish_reason": "tool_calls"}], "usage": usage(3, 4), "timings": {}},
        calls=BOTH[:1], finish="tool_calls",
        errors={"the request exceeds the context": {"error": {"code": 400, "message": "the request exceeds the context",
                                                             "type": "exceed_context_size_error"}}},
    ),
    "TGI": Server(
        [chunk(tool_calls=[call({"city": "Rome"}, 0, id="0")]), chunk("eos_token", usage(3, 4))],
        {"choices": [{"message": {"tool_calls": [call({"city": "Rome"}, id="0")]}, "finish_reason": "eos_token"}],
         "usage": usage(3, 4)},
        calls=BOTH[:1], finish="tool_calls",
        errors={"Input validation error": {"error": "Input validation error", "error_type": "validation"}},
    ),
    "LM Studio": Server(
        [chunk(content="Yes."), chunk("stop"), LAST],
        {"choices": [{"message": {"content": "Yes.", "tool_calls": []}, "finish_reason": "stop", "logprobs": None}],
         "usage": usage(3, 4), "stats": {}},
        text="Yes.",
        errors={"No model is loaded": {"error": "No model is loaded"}},
    ),
    "Groq": Server(
        [chunk(reasoning="Hm."), chunk(content="Yes."), chunk("stop") | {"x_groq": {"usage": usage(3, 4)}}],
        {"choices": [{"message": {"content": "Yes.", "reasoning": "Hm."}, "finish_reason": "stop"}],
         "usage": usage(3, 4), "x_groq": {"id": "r"}},
        text="Yes.", reasoning="Hm.",
        errors={"Tool call validation failed": {"error": {"message": "Tool call validation failed",
                                                          "code": "tool_use_failed", "failed_generation": "x"}}},
    ),
    "Mistral": Server(
        [chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]), chunk(content="Yes."),
         chunk("stop", usage(3, 4))],
        {"choices": [{"message": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                                              {"type": "text", "text": "Yes."}], "tool_calls": None},
                      "finish_reason": "stop"}], "usage": usage(3, 4)},
        text="Yes.", reasoning="Hm.",
        errors={"body.seed: Extra inputs": {"object": "error", "message": {"detail": [
            {"loc": ["body", "seed"], "msg": "Extra inputs"}]}}},
    ),
    "xAI": Server(
        [chunk(reasoning_content="Hm.", usage=usage(3, 0)), chunk(content="Yes."),
         chunk("stop", {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 99,
                        "completion_tokens_details": {"reasoning_tokens": 95}})],
        {"choices": [{"message": {"content": "Yes.", "reasoning_content": "Hm."}, "finish_reason": "stop"}],
         "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 99,
                   "completion_tokens_details": {"reasoning_tokens": 95}}},
        text="Yes.", reasoning="Hm.", tokens=Tokens(3, 96, reasoning=95),
        errors={"Bad role": {"code": "Client specified an invalid argument", "error": "Bad role"}},
    ),
}  # fmt: skip


def read(answer):
    return answer.text, [(call.name, call.arguments) for call in answer.tool_calls], answer.tokens, answer.finish_reason


ANSWERS = [(name, streamed) for name in SERVERS for streamed in (True, False) if streamed or SERVERS[name].whole]


@pytest.mark.parametrize(("name", "streamed"), ANSWERS)
def test_the_answer_of_a_server_is_read_completely(upstream, providers, name, streamed):
    server = SERVERS[name]
    events = "".join(f"data: {json.dumps(event)}\n\n" for event in server.events)
    body = f"{server.before}{events}data: [DONE]\n\n" if streamed else json.dumps(server.whole)
    upstream.script(Reply(raw=body.encode()))
    asked = request(upstream, VENDOR, tools=(WEATHER,))

    answer = providers.stream(asked, lambda event: None) if streamed else providers.complete(asked)

    assert read(answer) == (server.text, server.calls, server.tokens, server.finish)
    assert not streamed or answer.reasoning == server.reasoning


@pytest.mark.parametrize("name", SERVERS)
def test_the_error_of_a_server_is_in_its_words(name):
    for words, body in SERVERS[name].errors.items():
        failure = refused("X", None, datetime(2026, 1, 1, tzinfo=UTC), 400, {}, json.dumps(body).encode())
        assert str(failure) == f"X answered 400: {words}"


def test_the_page_has_a_row_for_each_server():
    rows = re.findall(r"^\| ([^|]+?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [row for row in rows if row not in ("Server", "---")] == list(SERVERS)


def test_a_version_of_azures_api_is_part_of_the_address(upstream, ask):
    asked = request(upstream, VENDOR, Message("user", "Hi"))
    azure = asked.credential.base_url + "/openai/deployments/mine?api-version=2024-10-21"
    asked = replace(asked, credential=replace(asked.credential, base_url=azure))

    assert ask(asked).text == "echo: Hi"
    sent = upstream.requests[-1]
    assert sent.path.endswith("/openai/deployments/mine/chat/completions?api-version=2024-10-21")
    assert (sent.headers["api-key"], "authorization" in sent.headers) == (KEY, False)


@pytest.mark.parametrize("query", ["?api-version=1&x=2", "?key=1", "?", "#x", "?api-version=a b", "?api-version="])
def test_no_other_query_is_accepted(query):
    check_base_url("https://example.com/openai/deployments/mine?api-version=2024-10-21")
    with pytest.raises(Invalid, match="baseUrl"):
        check_base_url(f"https://example.com/openai{query}")
