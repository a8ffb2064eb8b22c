"""The tools that a replayed turn offers."""

from typing import Any

import pytest

from app.chat import ToolDefinition
from app.replay.cases import case_from_turns
from app.replay.engine import replay
from app.replay.offered_tools import Offer, offered_tools
from app.sessions.types import Step, Turn
from tests.unit.replay.fakes import FakeDraft, call, ports, says, scripted, turn

A, B, C = (ToolDefinition(name) for name in "abc")


def offer(draft: FakeDraft, recorded: Any, *steps: Any, version: str | None = None) -> Offer:
    return offered_tools(turn("?", *steps, offered_tools=recorded, prompt_version=version), draft)


def test_a_tool_that_was_removed_is_gone_and_one_that_was_added_is_offered() -> None:
    draft = FakeDraft([A, C], versions={None: frozenset("ab")})

    assert offer(draft, ("a", "b")) == Offer((A, C), ("b",))


def test_a_recorded_definition_does_not_replace_a_tool_that_the_draft_lost() -> None:
    draft = FakeDraft([A], versions={None: frozenset("ab")})

    assert offer(draft, ({"name": "a"}, {"name": "b", "parameters": {"type": "object"}})) == Offer((A,), ("b",))


def test_a_draft_without_tools_has_lost_those_of_its_versions() -> None:
    draft = FakeDraft(versions={None: frozenset("a")})

    assert offer(draft, ({"name": "a"},)) == Offer((), ("a",))


def test_what_the_agent_left_out_of_its_version_s_tools_stays_out() -> None:
    draft = FakeDraft([A, B, C], versions={"v1": frozenset("ab"), None: frozenset("abc")})

    assert offer(draft, ("a",), version="v1") == Offer((A, C))
    assert offer(draft, ()) == Offer(())
    assert offer(draft, None) == Offer((A, B, C))


def test_a_tool_that_was_called_was_offered_whatever_the_list_has() -> None:
    draft = FakeDraft([A, B], versions={None: frozenset("ab")})

    assert offer(draft, ("a",), call("b")) == Offer((A, B))


@pytest.mark.parametrize("wrapped", [False, True])
def test_where_the_agent_owns_its_tools_the_recorded_definitions_are_offered(wrapped: bool) -> None:
    details = {"description": "Finds.", "parameters": {"type": "object"}}
    recorded = {"name": "find", "function": details} if wrapped else {"name": "find", **details}

    found = offer(FakeDraft(), (recorded, "named"))

    assert found == Offer((ToolDefinition("find", "Finds.", {"type": "object"}),), ("named",))


def test_a_tool_that_the_vendor_ran_is_shown_and_neither_required_nor_offered() -> None:
    steps = (
        Step("tool_call", "s1", "web_search", {"query": "opening hours"}, ["9 to 5"], hosted=True),
        Step("answer", "s1", text="Open from 9 to 5."),
    )
    offered = ({"name": "web_search", "parameters": {"type": "object"}}, {"name": "get_order", "parameters": {}})
    case = case_from_turns([Turn("t", 0, 1, "When?", steps, offered_tools=offered)], "STRICT")

    result = replay(case, ports(scripted(says("Open from 9 to 5."))))

    assert [tool.name for tool in offered_tools(case.turns[0], FakeDraft()).tools] == ["get_order"]
    assert [step.result for step in result.turns[0].steps] == ["ignored", "passed"]
    assert (result.status, result.violations) == ("passed", ())
