"""Conversations that other tools exported are sessions with all that was said and called, and replay as such."""

from __future__ import annotations

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


def test_a_trace_that_langfuse_wrote_with_its_observations_names_their_session_and_user(world: World) -> None:
    prompt_id = prompt(world)
    import_file(world, prompt_id, "langfuse", DATA / "langfuse.trace.json")

    (session,) = sessions(world, prompt_id)
    assert said(session) == [
        ("Where is my order A-1?", [("find", {"order": "A-1"}, "on its way"), "It is on its way."])
    ]
    assert (session["conversationId"], session["userId"]) == ("direct-1", "bob")


@pytest.mark.parametrize(("name", "tool_name"), [*FILES.items(), (OPENAI.name, "openai-chat")])
def test_importing_twice_adds_nothing_and_another_prompt_gets_sessions_of_its_own(
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
    upstream.script(*replies())

    assert results(replayed(world, case["id"])) == [["passed"] * 2, ["passed"] * 3]


def replies() -> list[Reply]:
    """What a model says that does all as it was recorded."""
    said_again: list[Reply] = []
    for _, steps in CONVERSATION:
        calls: list[Any] = [step[:2] for step in steps if not isinstance(step, str)]
        said_again += [Reply(tool_calls=calls), Reply(text=steps[-1])]
    return said_again


def test_original_times_are_kept(world: World) -> None:
    prompt_id = prompt(world)
    import_file(world, prompt_id, "langsmith", DATA / "langsmith.runs.jsonl")

    (session,) = sessions(world, prompt_id)
    assert session["turns"][0]["startedAt"].startswith("2026-11-22T11:42:38.585")
