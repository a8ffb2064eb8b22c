"""A program's tools that are no plain functions: none of them acts in a replay unseen."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import THANKS, finished
from tests.integration.replays.test_programs_api import CHAT, Program, begin, case_of
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.world import World

RESPONSES, MESSAGES = "/api/replay/openai/v1/responses", "/api/replay/anthropic/v1/messages"
GEMINI = "/api/replay/gemini/v1beta/models/gemini-3-flash:generateContent"
USER = {"role": "user", "content": THANKS.user}
URL = "https://mcp.example/"
MCP = {"type": "mcp", "server_label": "shop", "server_url": URL, "require_approval": "never"}
ACTING: dict[str, tuple[str, dict[str, Any]]] = {
    "an MCP server of OpenAI's": (RESPONSES, {"input": [USER], "tools": [MCP]}),
    "a shell": (RESPONSES, {"input": [USER], "tools": [{"type": "shell"}]}),
    "a computer": (RESPONSES, {"input": [USER], "tools": [{"type": "computer_use_preview"}]}),
    "an MCP server of a chat": (CHAT, {"messages": [USER], "tools": [MCP]}),
    "an MCP server of Anthropic's": (MESSAGES, {"messages": [USER], "mcp_servers": [{"type": "url", "url": URL}]}),
    "a toolset of Anthropic's": (MESSAGES, {"messages": [USER], "tools": [{"type": "mcp_toolset"}]}),
    "an MCP server of Google's": (GEMINI, {"contents": [{"parts": []}], "tools": [{"mcpServers": [{"name": "shop"}]}]}),
    "calls in a second answer": (CHAT, {"messages": [USER], "n": 2, "tools": [{"type": "function"}]}),
}
CUSTOM: dict[str, Any] = {"type": "custom_tool_call", "id": "c", "call_id": "c", "name": "refund", "input": "order 7"}
WORDS = {"type": "output_text", "text": THANKS.answer, "annotations": []}
MESSAGE = {"type": "message", "id": "m", "role": "assistant", "content": [WORDS]}
CALLS: dict[str, dict[str, Any]] = {
    "refund": CUSTOM,
    "mcp": {"type": "mcp_call", "id": "c", "name": "refund", "server_label": "shop", "arguments": '{"order": 7}'},
    "shell": {"type": "shell_call", "id": "c", "call_id": "c", "action": {"commands": ["refund 7"]}},
}


def response(*output: dict[str, Any]) -> Reply:
    return Reply(raw=json.dumps({"id": "r", "status": "completed", "output": output}).encode())


def ask(program: Program, **more: Any) -> Any:
    return program.call(RESPONSES, {"model": "gpt-4o-mini", "input": [USER], **more})


def ended(world: World, replay: str, text: str) -> dict[str, Any]:
    assert world.post(f"{replay}/turns/0/answer", json={"text": text}).status_code == 200
    return finished(world, int(replay.rpartition("/")[2]))


@pytest.mark.parametrize("name", ACTING)
def test_a_request_with_a_tool_that_would_act_is_not_passed_on(world: World, upstream: Upstream, name: str) -> None:
    path, body = ACTING[name]
    _replay, program = begin(world, case_of(world, THANKS)["id"])

    refused = program.call(path, {"model": "gpt-4o-mini", **body})

    assert refused.status_code == 400
    assert refused.json["error"].startswith(("tools: A replay can't answer", "n: Must be 1 where tools are offered"))
    assert upstream.requests == []


@pytest.mark.parametrize("kind", CALLS)
def test_a_call_that_is_no_function_call_is_a_step_of_the_turn(world: World, upstream: Upstream, kind: str) -> None:
    replay, program = begin(world, case_of(world, THANKS)["id"], tools="program")
    upstream.script(response(CALLS[kind], MESSAGE))
    assert ask(program).status_code == 200

    played = ended(world, replay, THANKS.answer)

    assert played["status"] == "failed"
    tool = "shell" if kind == "shell" else "refund"
    assert [(each["kind"], each["tool"]) for each in played["violations"]] == [("extra_write", tool)]


def test_a_call_that_a_server_of_the_user_has_run_is_a_step_of_the_turn(world: World, upstream: Upstream) -> None:
    replay, program = begin(world, case_of(world, THANKS)["id"], tools="program")
    ran = {"type": "mcp_tool_use", "id": "c", "name": "refund", "server_name": "shop", "input": {"order": 7}}
    content = [ran, {"type": "mcp_tool_result", "tool_use_id": "c", "content": []}, {"type": "text", "text": "Hm."}]
    upstream.script(Reply(raw=json.dumps({"id": "m", "stop_reason": "end_turn", "content": content}).encode()))
    asked = program.call(MESSAGES, {"model": "claude-haiku-4-5", "max_tokens": 9, "messages": [USER]})
    assert asked.status_code == 200, asked.text

    played = ended(world, replay, THANKS.answer)

    assert [(each["kind"], each["tool"]) for each in played["violations"]] == [("extra_write", "refund")]


@pytest.mark.parametrize("is_chat", [True, False], ids=["chat", "responses"])
def test_the_recording_answers_the_calls_of_a_custom_tool(world: World, upstream: Upstream, is_chat: bool) -> None:
    recorded = RecordedTurn(THANKS.user, THANKS.answer, (RecordedCall("refund", "order 7", "refunded"),))
    replay, program = begin(world, case_of(world, recorded)["id"])
    if is_chat:
        call = {"id": "c", "type": "custom", "custom": {"name": "refund", "input": "order 7"}}
        answer = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}
        upstream.script(Reply(raw=json.dumps(answer).encode()), Reply(text=THANKS.answer))
        asked = program.ask(THANKS.user, tools=[{"type": "custom", "custom": {"name": "refund"}}])
    else:
        upstream.script(response(CUSTOM), response(MESSAGE))
        asked = ask(program, tools=[{"type": "custom", "name": "refund"}])
    assert asked.status_code == 200, asked.text

    played = ended(world, replay, THANKS.answer)

    assert (played["status"], played["violations"]) == ("passed", [])
    given = upstream.requests[1].body["messages" if is_chat else "input"][-1]
    assert given == (
        {"role": "tool", "tool_call_id": "c", "content": "refunded"}
        if is_chat
        else {"type": "custom_tool_call_output", "call_id": "c", "output": "refunded"}
    )
