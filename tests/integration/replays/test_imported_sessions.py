"""Conversations that other tools exported are sessions with all words and calls, and replay as such."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import make_case, prompt, replayed, results, tool
from tests.support.imports import CONVERSATION, DATA, FILES, import_file, said, sessions
from tests.support.world import World

REFUND = {**tool("refund", "order"), "parameters": {"type": "object"}}
SHOP = {"languageModelConfig": {"tools": [tool("find", "order"), REFUND]}}
OPENAI = DATA / "openai-chat.jsonl"


@pytest.mark.parametrize(("name", "tool_name"), FILES.items())
def test_an_export_becomes_the_session_that_was_recorded(world: World, name: str, tool_name: str) -> None:
    prompt_id = prompt(world)
    run, reports = import_file(world, prompt_id, tool_name, DATA / name)

    (session,) = sessions(world, prompt_id)
    assert said(session) == CONVERSATION
    assert session["conversationId"] == "thread-7"
    assert [turn["warnings"] for turn in session["turns"]] == [[], []]
    assert {"find", "refund"} == {one["name"] for one in session["turns"][0]["offeredTools"]}
    assert (run.sessions, run.rejected, run.unread, reports) == (1, 0, 0, [])


def test_a_file_for_fine_tuning_becomes_a_session_for_each_line(world: World) -> None:
    prompt_id = prompt(world)
    run, _ = import_file(world, prompt_id, "openai-chat", OPENAI)

    found = {session["turns"][0]["user"]: said(session) for session in sessions(world, prompt_id)}
    assert found == {
        "Where is my order A-1?": CONVERSATION,
        "Where is A-2?": [("Where is A-2?", [("find", {"order": "A-2"}, "lost"), "It is lost."])],
        "Thanks!": [("Thanks!", ["You are welcome."])],
    }
    assert run.sessions == 3
    two_turns = next(session for session in sessions(world, prompt_id) if len(session["turns"]) == 2)
    assert [len(turn["offeredTools"]) for turn in two_turns["turns"]] == [2, 2]


def test_a_trace_that_langfuse_wrote_with_its_observations_names_their_session_and_user(world: World) -> None:
    prompt_id = prompt(world)
    import_file(world, prompt_id, "langfuse", DATA / "langfuse.trace.json")

    (session,) = sessions(world, prompt_id)
    assert said(session) == [
        ("Where is my order A-1?", [("find", {"order": "A-1"}, "on its way"), "It is on its way."])
    ]
    assert (session["conversationId"], session["userId"]) == ("direct-1", "bob")


@pytest.mark.parametrize(("name", "tool_name"), [*FILES.items(), (OPENAI.name, "openai-chat")])
def test_importing_twice_adds_nothing_and_another_prompt_gets_separate_sessions(
    world: World, name: str, tool_name: str
) -> None:
    prompt_id, other = prompt(world), prompt(world)
    for _ in range(2):
        import_file(world, prompt_id, tool_name, DATA / name)
    first, count = sessions(world, prompt_id), world.count("spans")

    import_file(world, other, tool_name, DATA / name)
    assert len(sessions(world, other)) == len(first)
    assert world.count("spans") == count * 2
    assert sessions(world, prompt_id) == first


@pytest.mark.parametrize(("name", "tool_name"), [*FILES.items(), (OPENAI.name, "openai-chat")])
def test_a_test_case_of_an_imported_session_replays(
    world: World, upstream: Upstream, name: str, tool_name: str
) -> None:
    prompt_id = prompt(world, **SHOP)
    import_file(world, prompt_id, tool_name, DATA / name)
    session = next(one for one in sessions(world, prompt_id) if len(one["turns"]) == 2)
    case = make_case(world, session["id"])
    upstream.script(*replies(case))

    assert results(replayed(world, case["id"])) == [["passed"] * 2, ["passed"] * 3]


def replies(case: dict[str, Any]) -> list[Reply]:
    """Return the answers of a model that does all as it was recorded, with calls of one message in the same order."""
    said_again: list[Reply] = []
    for turn in case["turns"]:
        *calls, answer = turn["steps"]
        made = [(call["name"], call["arguments"]) for call in calls]
        said_again += [Reply(tool_calls=made), Reply(text=answer["text"])]
    return said_again


def test_original_times_are_kept(world: World) -> None:
    prompt_id = prompt(world)
    import_file(world, prompt_id, "langsmith", DATA / "langsmith.runs.jsonl")

    (session,) = sessions(world, prompt_id)
    assert session["turns"][0]["startedAt"].startswith("2026-11-22T11:42:38.585")


FAILED = {
    "langsmith": {
        "id": "r",
        "run_type": "tool",
        "name": "find",
        "inputs": {"order": "A-9"},
        "error": "ValueError('gone')",
    },
    "langfuse": {
        **{"traceId": "t", "id": "o", "type": "TOOL", "name": "find", "input": {"order": "A-9"}},
        **{"level": "ERROR", "statusMessage": "ValueError('gone')"},
    },
    "phoenix": {
        **{"context": {"trace_id": "t", "span_id": "s"}, "name": "find", "span_kind": "TOOL", "status_code": "ERROR"},
        **{"status_message": "ValueError('gone')", "attributes": {"input.value": '{"order": "A-9"}'}},
    },
}


@pytest.mark.parametrize("tool_name", FAILED)
def test_a_tool_that_failed_is_a_call_with_its_error(world: World, tmp_path: Path, tool_name: str) -> None:
    prompt_id, file = prompt(world), tmp_path / "failed.jsonl"
    file.write_text(json.dumps(FAILED[tool_name]))
    import_file(world, prompt_id, tool_name, file)

    (session,) = sessions(world, prompt_id)
    (step,) = session["turns"][0]["steps"]
    assert (step["name"], step["arguments"], step["error"]) == ("find", {"order": "A-9"}, "ValueError('gone')")


@pytest.mark.parametrize(
    ("tool_name", "record"),
    [
        ("langfuse", {"traceId": "t", "id": "o", "type": "GENERATION", "input": "Hello?", "output": "Yes?"}),
        (
            "langsmith",
            {
                **{"id": "r", "run_type": "llm", "inputs": {"prompts": ["Hello?"]}},
                **{"outputs": {"generations": [[{"text": "Yes?", "type": "Generation"}]]}},
            },
        ),
        (
            "phoenix",
            {
                **{"context": {"trace_id": "t", "span_id": "s"}, "span_kind": "LLM"},
                **{"attributes": {"input.value": "Hello?", "output.value": "Yes?"}},
            },
        ),
        (
            "openai-chat",
            {
                "input": {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hello?"}]}]},
                "preferred_output": [{"role": "assistant", "content": "Yes?"}],
                "non_preferred_output": [{"role": "assistant", "content": "No."}],
            },
        ),
    ],
)
def test_plain_texts_and_preferences_are_a_question_and_an_answer(
    world: World, tmp_path: Path, tool_name: str, record: dict[str, Any]
) -> None:
    prompt_id, file = prompt(world), tmp_path / "plain.jsonl"
    file.write_text(json.dumps(record))
    import_file(world, prompt_id, tool_name, file)

    assert [said(session) for session in sessions(world, prompt_id)] == [[("Hello?", ["Yes?"])]]
