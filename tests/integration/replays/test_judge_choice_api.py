"""A request chooses whether a model has to, may or must not judge its replays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.services.replays import judge_choice
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import THANKS, finished, make_case, prompt, record, replayed
from tests.support.world import World

OTHER_WORDS = Reply(text="My pleasure.")


def case_of(world: World, model: str = "gpt-4o-mini", **body: Any) -> dict[str, Any]:
    return make_case(world, record(world, prompt(world, model, languageModelConfig={}), [THANKS]), **body)


def starts(case: dict[str, Any]) -> list[str]:
    """Return the paths that start replays of a test case, or of its prompt."""
    prompt_path = f"/api/v1/prompts/{case['promptId']}"
    return [
        f"/api/v1/test-cases/{case['id']}/replays",
        f"/api/v1/test-cases/{case['id']}/calibrations",
        f"{prompt_path}/replays",
        f"{prompt_path}/experiments",
    ]


def test_never_asks_no_model(world: World, upstream: Upstream) -> None:
    upstream.script(OTHER_WORDS)

    replay = replayed(world, case_of(world)["id"], judge="never")

    assert replay["judgeTokens"]["total"] == 0
    assert len(upstream.requests) == 1


def test_never_starts_replays_of_a_test_case_that_needs_a_judge(world: World) -> None:
    case = case_of(world, "echo", steps=[{"turn": 0, "step": 0, "check": {"answer": "ai", "value": "Polite."}}])

    assert replayed(world, case["id"], judge="never")["status"] == "needs_review"


@pytest.mark.parametrize("judge", ["auto", None])
def test_auto_asks_no_one_where_no_model_can_judge(world: World, judge: str | None) -> None:
    path = starts(case_of(world, "echo"))[0]

    started = world.post(path, json={} if judge is None else {"judge": judge})

    assert started.status_code == 202
    assert finished(world, started.json["id"])["judgeTokens"]["total"] == 0


def test_always_is_refused_where_no_model_can_judge(world: World) -> None:
    case = case_of(world, "echo")
    world.post(f"/api/v1/prompts/{case['promptId']}/versions", json={"message": "First"})

    for path in starts(case):
        refused = world.post(path, json={"judge": "always"})

        assert (path, refused.status_code) == (path, 400)
        assert refused.json["error"].startswith("judge: ")
        assert "judgeModelName" in refused.json["error"]
    assert (world.count("replays"), world.count("experiments")) == (0, 0)


def test_always_is_accepted_with_a_model_that_is_named(world: World, upstream: Upstream) -> None:
    started = world.post(starts(case_of(world, "echo"))[0], json={"judge": "always", "judgeModelName": "gpt-4o-mini"})

    assert started.status_code == 202


@pytest.mark.parametrize(
    ("body", "field"),
    [({"judge": "sometimes"}, "judge: "), ({"judge": "never", "judgeModelName": "gpt-4o-mini"}, "judgeModelName: ")],
)
def test_another_word_and_a_judge_that_is_never_asked_are_refused(
    world: World, body: dict[str, Any], field: str
) -> None:
    refused = world.post(starts(case_of(world))[0], json=body)

    assert (refused.status_code, refused.json["error"][: len(field)]) == (400, field)


def test_only_a_test_case_that_may_need_a_judge_is_parsed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    monkeypatch.setattr(judge_choice, "load_case", lambda case: parsed.append(case["turns"][0]["user"]))
    monkeypatch.setattr(judge_choice, "needs_judge", lambda _case: False)
    session_id = record(world, prompt(world, "echo", languageModelConfig={}), [replace(THANKS, user='Why "ai"?')])
    case = make_case(world, session_id)

    assert world.post(starts(case)[0], json={}).status_code == 202
    assert parsed == []


def test_test_cases_that_are_too_long_to_find_whether_they_need_a_judge_are_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = case_of(world, "echo", steps=[{"turn": 0, "step": 0, "check": {"answer": "ai", "value": "Polite."}}])
    monkeypatch.setattr(judge_choice, "PARSED_CHARACTERS", 100)

    refused = world.post(starts(case)[0], json={})

    assert refused.status_code == 400
    assert refused.json["error"].startswith("judge: The prompt's model has no credential, and the test cases are too")
    assert world.post(starts(case)[0], json={"judge": "never"}).status_code == 202
