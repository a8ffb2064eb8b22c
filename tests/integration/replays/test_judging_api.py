"""An answer's verdict comes from its text, a rule, a judge or a person."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.fakes.judging import is_question, judged
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import THANKS, make_case, prompt, record, replayed, results
from tests.integration.replays.shop import (
    ANSWER,
    JUDGED,
    JUDGED_WRONG,
    LOOK_UP,
    PAY_BACK,
    SEEN,
    TOOLS,
    calls,
    change,
    shop,
    shop_case,
)
from tests.support.world import World, new_world

AI = [{"turn": 0, "step": 0, "check": {"answer": "ai", "value": "It is polite."}}]
FREE = Reply(text="My pleasure.")


def step_of(replay: dict[str, Any], n: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = replay["turns"][0]["steps"][n]
    return found


def thanks(world: World, **body: Any) -> dict[str, Any]:
    return shop_case(world, (THANKS,), **body)


@pytest.mark.parametrize(
    ("text", "result", "decided_by", "facts"),
    [
        ("order a-1  costs 20.", "passed", "text", None),
        ("A-1? That makes 20.00.", "needs_review", None, {"kept": ["20"], "lost": [], "invented": []}),
        ("A-1 costs 25.", "needs_review", None, {"kept": [], "lost": ["20"], "invented": ["25"]}),
    ],
)
def test_an_answer_in_other_words_is_left_to_a_person_with_its_values(
    world: World, upstream: Upstream, text: str, result: str, decided_by: str, facts: Any
) -> None:
    case = shop_case(world, (SEEN,), judge="never")
    upstream.script(calls(LOOK_UP), Reply(text=text))

    step = step_of(replayed(world, case["id"]), 1)

    assert (step["result"], step["decidedBy"]) == (result, decided_by)
    assert step["facts"] == facts
    assert step["evidence"] == (facts and facts | {"form": []})
    assert len(upstream.requests) == 2


def test_auto_asks_the_prompts_model_about_a_text_without_values(world: World, upstream: Upstream) -> None:
    case = thanks(world)
    upstream.script(FREE, JUDGED)

    replay = replayed(world, case["id"])

    assert (case["judge"], replay["status"], step_of(replay)["decidedBy"]) == ("auto", "passed", "judge")
    assert [request.body["model"] for request in upstream.requests] == ["gpt-4o-mini"] * 2
    assert 0 < replay["judgeTokens"]["total"] < replay["tokens"]["total"]


def test_never_leaves_other_words_to_a_person(world: World, upstream: Upstream) -> None:
    case = thanks(world, judge="never")
    upstream.script(FREE)

    step = step_of(replayed(world, case["id"]))

    assert (step["result"], step["decidedBy"], len(upstream.requests)) == ("needs_review", None, 1)


def test_a_refusal_in_the_place_of_a_promise_needs_review_without_a_judge(world: World, upstream: Upstream) -> None:
    case = shop_case(world, judge="never")
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), Reply(text="Unfortunately order A-1 could not be refunded."))

    replay = replayed(world, case["id"])

    assert (replay["status"], step_of(replay, 2)["decidedBy"]) == ("needs_review", None)


def test_a_judge_settles_other_words(world: World, upstream: Upstream) -> None:
    case = shop_case(world)
    upstream.script(
        calls(LOOK_UP), calls(PAY_BACK), Reply(text="Order A-1 could not be refunded."), judged("failed", 2)
    )

    replay = replayed(world, case["id"])

    assert (replay["status"], step_of(replay, 2)["decidedBy"], len(upstream.requests)) == ("failed", "judge", 4)
    assert [found["why"] for found in step_of(replay, 2)["findings"]] == ["It does not."]


def test_a_judge_is_asked_at_most_once_about_a_step(world: World, upstream: Upstream) -> None:
    case = thanks(world, steps=AI)
    upstream.script(Reply(text="You are not welcome!"), JUDGED_WRONG)

    assert step_of(replayed(world, case["id"]))["result"] == "failed"
    assert len(upstream.requests) == 2


@pytest.mark.parametrize(
    "reply",
    [Reply(status=400, message="No."), Reply(text="I think so."), judged("yes")],
    ids=["fails", "prose", "another verdict"],
)
def test_a_judge_that_gives_no_verdict_leaves_the_step_to_a_person(
    world: World, upstream: Upstream, reply: Reply
) -> None:
    upstream.script(FREE, reply)

    replay = replayed(world, thanks(world)["id"])

    assert (replay["status"], results(replay)) == ("needs_review", [["needs_review"]])
    assert len(upstream.requests) >= 2


def test_a_builtin_model_can_not_be_named_as_judge(world: World) -> None:
    case = thanks(world)

    refused = world.post(f"/api/v1/test-cases/{case['id']}/replays", json={"judgeModelName": "echo"})

    assert refused.status_code == 400
    assert refused.json["error"].startswith("judgeModelName: ")
    assert world.count("replays") == 0


def builtin_case(world: World, **body: Any) -> dict[str, Any]:
    return make_case(world, record(world, prompt(world, "echo", languageModelConfig={}), [THANKS]), **body)


@pytest.mark.parametrize("body", [{"steps": AI}, {"judge": "always"}], ids=["ai check", "always"])
def test_a_test_that_needs_a_judge_is_refused_where_there_is_none(world: World, body: dict[str, Any]) -> None:
    case = builtin_case(world, **body)

    refused = world.post(f"/api/v1/test-cases/{case['id']}/replays")

    assert refused.status_code == 400
    assert refused.json["error"].startswith("judge: ")
    assert "credential" in refused.json["error"]
    assert "judgeModelName" in refused.json["error"]
    assert world.count("replays") == 0


def test_a_named_judge_serves_a_prompt_with_a_model_that_can_not_judge(world: World, upstream: Upstream) -> None:
    case = builtin_case(world, steps=AI)
    upstream.script(JUDGED)

    assert replayed(world, case["id"], judgeModelName="gpt-4o-mini")["status"] == "passed"
    assert len(upstream.requests) == 1


def test_auto_does_without_a_judge_where_there_is_none(world: World) -> None:
    replay = replayed(world, builtin_case(world)["id"])

    assert (replay["status"], step_of(replay)["decidedBy"]) == ("needs_review", None)


def agreement(world: World, prompt_id: int) -> tuple[int, int]:
    told = world.get(f"/api/v1/prompts/{prompt_id}/judge-agreement")
    assert told.status_code == 200
    return told.json["judged"], told.json["agreed"]


def test_a_person_overrules_a_judge_and_the_agreement_counts_it(world: World, upstream: Upstream) -> None:
    case = thanks(world)
    prompt_id = case["promptId"]
    upstream.script(FREE, JUDGED, Reply(text="Any time."), JUDGED_WRONG)
    first, second = replayed(world, case["id"]), replayed(world, case["id"])
    assert agreement(world, prompt_id) == (0, 0)

    def decide(replay: dict[str, Any], verdict: str) -> dict[str, Any]:
        decided = world.patch(f"/api/v1/replays/{replay['id']}/steps/0", json={"verdict": verdict})
        assert decided.status_code == 200
        shown: dict[str, Any] = decided.json
        return shown

    overruled = decide(first, "failed")
    assert (overruled["status"], step_of(overruled)["decidedBy"], step_of(overruled)["judged"]) == (
        "failed",
        "person",
        "passed",
    )
    assert agreement(world, prompt_id) == (1, 0)
    decide(second, "failed")
    assert agreement(world, prompt_id) == (2, 1)
    assert decide(first, "passed")["status"] == "passed"
    assert agreement(world, prompt_id) == (2, 2)


def test_a_step_that_no_judge_decided_counts_for_no_agreement(world: World, upstream: Upstream) -> None:
    case = thanks(world, steps=[{"turn": 0, "step": 0, "check": {"answer": "manual"}}])
    upstream.script(FREE)
    replay = replayed(world, case["id"])
    world.patch(f"/api/v1/replays/{replay['id']}/steps/0", json={"verdict": "passed"})

    assert agreement(world, case["promptId"]) == (0, 0)


def test_two_persons_at_once_are_counted_once_for_each_step(world: World, upstream: Upstream) -> None:
    case = shop_case(world, (THANKS, THANKS), history="recorded")
    # The turns are played side by side, so that the judge may be asked of one before the other is answered.
    upstream.choose = lambda body: JUDGED if is_question(body) else FREE
    replay = replayed(world, case["id"])
    judged = sum(step["decidedBy"] == "judge" for turn in replay["turns"] for step in turn["steps"])

    def decide(n: int) -> int:
        verdict = {"verdict": "failed"}
        return world.patch(f"/api/v1/replays/{replay['id']}/steps/{n % 2}", json=verdict).status_code

    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(decide, range(8)))

    decided = world.get(f"/api/v1/replays/{replay['id']}").json
    assert (set(statuses), results(decided)) == ({200}, [["failed"], ["failed"]])
    assert agreement(world, case["promptId"]) == (judged, 0)


def test_the_agreement_of_a_foreign_prompt_is_404(world: World) -> None:
    foreign = new_world(world.container)

    assert foreign.get(f"/api/v1/prompts/{shop(world)}/judge-agreement").status_code == 404


def test_one_replay_shows_what_decided_each_of_its_steps(world: World, upstream: Upstream) -> None:
    case = shop_case(world, steps=[{"turn": 0, "step": 0, "check": {"enabled": False}}])
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), ANSWER)

    decided = [(step["result"], step["decidedBy"]) for step in replayed(world, case["id"])["turns"][0]["steps"]]

    assert decided == [("ignored", None), ("passed", "check"), ("passed", "text")]


def test_an_argument_may_be_left_to_a_judge(world: World, upstream: Upstream) -> None:
    case = shop_case(world, prompt_id=shop(world, TOOLS))
    polite = {"match": "ai", "value": "It names an order."}
    change(world, case, tools={"refund": {"arguments": {"/id": polite}}})
    upstream.script(calls(LOOK_UP), calls(("refund", {"id": "order A-1"})), ANSWER, judged("passed", 1))

    replay = replayed(world, case["id"])

    assert (replay["status"], step_of(replay, 1)["decidedBy"]) == ("passed", "judge")
    assert "It names an order." in str(upstream.requests[3].body)
