"""Sessions without a model call, a tool call, an agent or words are only listed when a request asks for all."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from tests.support.exports import export, span
from tests.support.world import World

HEALTH = {"http.request.method": "GET", "url.path": "/health"}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-mini"}
ACTIVE: dict[str, dict[str, Any]] = {
    "a model call": CHAT,
    "a tool call": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"},
    "an agent without words": {"gen_ai.operation.name": "invoke_agent"},
    "a pipeline with words": {"openinference.span.kind": "CHAIN", "input.value": "weather in Oslo?"},
}


def send(world: World, prompt_id: int, recorded: dict[str, Any], trace_id: str = "") -> None:
    sent = span(
        recorded | {"service.prompt.id": prompt_id},
        traceId=trace_id or secrets.token_hex(16),
        spanId=secrets.token_hex(8),
    )
    assert world.send(export(sent)).status_code == 200


def listed(world: World, prompt_id: int, query: str = "") -> tuple[int, int, int, int]:
    """The number of sessions in each list that has them."""
    page = world.get(f"/api/v1/sessions?promptId={prompt_id}&count=true{query}").json
    longest = world.get(f"/api/v1/sessions?promptId={prompt_id}&sort=duration{query}").json["sessions"]
    log = world.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel{query}").json["entries"]
    return len(page["sessions"]), page["count"]["sessions"], len(longest), len(log)


@pytest.mark.parametrize("kind", ACTIVE)
def test_only_sessions_with_a_step_or_words_are_listed(world: World, kind: str) -> None:
    prompt_id = world.prompt()
    send(world, prompt_id, HEALTH)
    send(world, prompt_id, ACTIVE[kind])

    assert listed(world, prompt_id) == (1, 1, 1, 1)
    assert listed(world, prompt_id, "&include=all") == (2, 2, 2, 2)


def test_a_session_is_listed_when_a_later_batch_has_its_model_call(world: World) -> None:
    prompt_id, trace_id = world.prompt(), secrets.token_hex(16)
    send(world, prompt_id, {"session.id": "s1"}, trace_id)
    before = listed(world, prompt_id)

    send(world, prompt_id, CHAT, trace_id)

    assert (before, listed(world, prompt_id)) == ((0, 0, 0, 0), (1, 1, 1, 1))


def test_a_session_is_no_longer_listed_when_its_model_call_has_moved_to_another_session(world: World) -> None:
    prompt_id, moving = world.prompt(), secrets.token_hex(16)
    send(world, prompt_id, HEALTH | {"thread_id": "s1"})
    send(world, prompt_id, CHAT | {"thread_id": "s1"}, moving)

    send(world, prompt_id, {"gen_ai.conversation.id": "s2"}, moving)

    (entry,) = world.get(f"/api/v1/sessions?promptId={prompt_id}").json["sessions"]
    assert entry["conversationId"] == "s2"
    assert listed(world, prompt_id, "&include=all") == (2, 2, 2, 2)


def test_a_session_that_is_not_listed_counts_in_no_figures_and_can_be_opened(world: World) -> None:
    prompt_id = world.prompt()
    send(world, prompt_id, HEALTH)
    send(world, prompt_id, CHAT)
    world.container.services.insight_counter.count(world.project_id)

    group = world.get(f"/api/v1/prompts/{prompt_id}/insight?from=2018-12-01&to=2018-12-31").json
    sessions = world.get(f"/api/v1/sessions?promptId={prompt_id}&include=all").json["sessions"]

    assert sum(row["sessions"]["sessions"] for row in group["groups"]) == 1
    assert {world.get(f"/api/v1/sessions/{row['id']}").status_code for row in sessions} == {200}


def test_include_accepts_only_all(world: World) -> None:
    prompt_id = world.prompt()
    for path in ("/api/v1/sessions?include=some", f"/api/v1/prompts/{prompt_id}/logs?include=some"):
        answer = world.get(path)
        assert answer.status_code == 400
        assert "include" in answer.text
