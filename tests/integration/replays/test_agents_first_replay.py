"""The first replay of an agent that was adopted from traces which lack what a replay needs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fakes.upstream import Upstream
from tests.integration.ingest.test_agents import chat, prompt_of, sent
from tests.integration.replays.recording import make_case, record, replayed
from tests.integration.replays.shop import ANSWER, LOOK_UP, ORDER, PAY_BACK, REFUND, REFUNDED, calls, kinds, set_tools
from tests.support.conversations import RecordedTurn
from tests.support.world import World

MADE = RecordedTurn(REFUNDED.user, REFUNDED.answer, (ORDER, REFUND))


def agent(world: World, **recorded: Any) -> int:
    """Adopt an agent that records no definitions of tools; return its prompt's id."""
    answer = sent(world, "bot", chat(**{"gen_ai.tool.definitions": None, **recorded}))
    assert answer.status_code == 200
    prompt_id: int = prompt_of(world, "bot")["id"]
    return prompt_id


def offered(upstream: Upstream) -> list[dict[str, Any]]:
    return [each["function"] for each in upstream.requests[0].body.get("tools", ())]


def test_tools_that_no_trace_defines_are_derived_from_the_recorded_calls(world: World, upstream: Upstream) -> None:
    case = make_case(world, record(world, agent(world), (MADE,)))
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), ANSWER)

    replay = replayed(world, case["id"])

    assert (replay["status"], replay["offeredFrom"], kinds(replay)) == ("passed", "calls", [])
    assert [(tool["name"], tool["parameters"]["properties"]) for tool in offered(upstream)] == [
        ("get_order", {"id": {"type": "string"}}),
        ("refund", {"id": {"type": "string"}}),
    ]
    assert all(tool["derived"] for tool in case["turns"][0]["offeredTools"])
    assert [gap["kind"] for gap in case["fidelity"]["missing"]] == ["tool_definitions"]


def test_tools_of_the_draft_or_of_a_version_are_offered_in_the_place_of_derived_ones(
    world: World, upstream: Upstream
) -> None:
    prompt_id = agent(world)
    derived = make_case(world, record(world, prompt_id, (MADE,)))
    set_tools(world, prompt_id, [{"name": "get_order", "description": "Reads an order."}])
    upstream.script(ANSWER)

    replay = replayed(world, derived["id"])

    assert (replay["offeredFrom"], kinds(replay)) == ("prompt", [("lost_tool", "refund", 0)])
    assert [tool["description"] for tool in offered(upstream)] == ["Reads an order."]
    world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": "Tools"})
    set_tools(world, prompt_id, [])
    assert make_case(world, record(world, prompt_id, (MADE,)))["turns"][0]["offeredTools"] is None


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [("claude-3-5-sonnet-20241022", "claude-sonnet-4-6"), ("gpt-4o-2024-08-06", "gpt-4o"), ("o1-mini", "gpt-4.1-mini")],
)
def test_a_retired_model_is_replaced_by_the_nearest_one_that_can_be_asked(
    world: World, recorded: str, asked: str
) -> None:
    agent(world, **{"gen_ai.request.model": recorded})

    prompt = prompt_of(world, "bot")

    assert prompt["languageModel"]["name"] == asked
    assert prompt["languageModelConfig"]["max_tokens"] == 300


def test_a_model_of_no_known_family_is_not_guessed_on_servers_of_ones_own(world: World) -> None:
    agent(world, **{"gen_ai.request.model": "our-own-model"})

    assert prompt_of(world, "bot")["languageModel"]["name"] == "echo"


def test_a_model_stays_although_a_parameter_can_not_be_stored_with_it(world: World) -> None:
    agent(world, **{"gen_ai.request.model": "claude-3-5-sonnet-20241022", "gen_ai.request.temperature": 1.9})

    prompt = prompt_of(world, "bot")

    assert prompt["languageModel"]["name"] == "claude-sonnet-4-6"
    assert json.dumps(prompt["languageModelConfig"]).count("1.9") == 0
