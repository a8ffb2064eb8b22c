"""A request that accepts long sessions makes test cases of some, and leaves the others for a later one."""

from __future__ import annotations

import pytest

from app.services.ingest.turns import conversation_key
from app.services.suites import accepting
from tests.integration.suites.sending import send, turn
from tests.support.world import World


def test_a_request_makes_test_cases_of_few_long_sessions_and_repeating_it_of_all(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accepting, "TURNS_AND_CALLS_MAX", 6)
    prompt_id = world.prompt()
    for name in "abc":
        send(world, prompt_id, name, [turn("Where is it?", "search"), turn("And now?", "search")])
    ids = [conversation_key(prompt_id, name).hex() for name in "abc"]
    body = {"name": "release", "picks": [{"sessionId": id_} for id_ in ["f" * 32, *ids]]}
    path = f"/api/v1/prompts/{prompt_id}/suite-acceptances"

    left_out = []
    for _ in range(4):
        answer = world.post(path, json=body).json
        left_out.append([entry["sessionId"] for entry in answer["leftOut"] if entry["why"] == "later"])

    assert left_out == [ids[1:], ids[2:], [], []]
    assert [case["sessionId"] for case in answer["suite"]["testCases"]] == ids
