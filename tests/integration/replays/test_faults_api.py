"""Faults on purpose over the API: of one replay, and as variants of a test case."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.judging import judged
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import run, verdict
from tests.integration.replays.recording import calibrate, finished, replayed, results, tool
from tests.integration.replays.shop import (
    ANSWER,
    LOOK_UP,
    PAY_BACK,
    REFUNDED,
    SEEN,
    TOOLS,
    calls,
    change,
    kinds,
    shop,
    shop_case,
)
from tests.support.backends import SQLITE_CONTAINER
from tests.support.world import World

SORRY = Reply(text="The refund was refused. A colleague will look at it.")
JUDGED, JUDGED_WRONG = judged("passed", 2), judged("failed", 2)
REFUSED = {"tool": "refund", "call": 0, "kind": "refused", "message": "limit reached"}
VARIANT = {"name": "refund refused", "faults": [REFUSED]}


def test_a_draft_that_reports_the_fault_passes_and_lists_show_it(world: World, upstream: Upstream) -> None:
    case = shop_case(world, (REFUNDED, SEEN))
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), SORRY, JUDGED)

    replay = replayed(world, case["id"], faults=[REFUSED])

    assert (replay["status"], results(replay)) == ("passed", [["passed", "passed", "passed"], ["not_run", "not_run"]])
    assert (replay["faults"], replay["variant"]) == ([REFUSED], None)
    assert replay["progress"] == {"done": 3, "total": 3}
    assert replay["turns"][0]["steps"][1]["actual"]["answeredBy"] == "fault"
    assert upstream.requests[2].body["messages"][-1]["content"] == '{"error": "limit reached"}'
    (entry,) = world.get(f"/api/v1/prompts/{case['promptId']}/replays").json["replays"]
    assert entry["faults"] == [REFUSED]


def test_a_draft_that_claims_success_fails(world: World, upstream: Upstream) -> None:
    case = shop_case(world)
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), ANSWER, JUDGED_WRONG)

    replay = replayed(world, case["id"], faults=[REFUSED])

    assert (replay["status"], results(replay)) == ("failed", [["passed", "passed", "failed"]])
    question = upstream.requests[3].body["messages"][1]["content"]
    assert "refund refused the call" in question
    assert "limit reached" in question


def test_without_a_judge_the_recorded_answer_needs_review(world: World, upstream: Upstream) -> None:
    case = shop_case(world)
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), ANSWER)

    replay = replayed(world, case["id"], faults=[REFUSED], judge="never")

    assert (replay["status"], results(replay)) == ("needs_review", [["passed", "passed", "needs_review"]])


def test_a_repeated_write_fails_unless_the_tool_is_idempotent(world: World, upstream: Upstream) -> None:
    tools = [*TOOLS[:2], {**tool("refund", "id"), "annotations": {"idempotentHint": True}}]
    for prompt_id, expected in ((shop(world), [("repeated_write", "refund", 0)]), (shop(world, tools), [])):
        case = shop_case(world, prompt_id=prompt_id)
        upstream.script(calls(LOOK_UP), calls(PAY_BACK), calls(PAY_BACK), SORRY, JUDGED)

        replay = replayed(world, case["id"], faults=[REFUSED | {"kind": "timeout"}])

        assert (kinds(replay), replay["status"]) == (expected, "failed" if expected else "passed")


def test_variants_are_played_with_their_test_case_and_do_not_change_its_trend(world: World, upstream: Upstream) -> None:
    case = shop_case(world)
    changed = change(world, case, variants=[VARIANT])
    assert changed["variants"] == [VARIANT]
    upstream.choose = by_fault

    started = world.post(f"/api/v1/prompts/{case['promptId']}/replays", json={}).json["replays"]
    named = replayed(world, case["id"], variant="refund refused")

    found = [finished(world, each["id"]) for each in started]
    assert [(each["variant"], each["status"]) for each in found] == [(None, "passed"), ("refund refused", "passed")]
    assert named["faults"] == [REFUSED]
    page = world.get(f"/api/v1/prompts/{case['promptId']}/replays").json["replays"]
    assert {each["testCaseName"] for each in page} == {case["name"]}


def test_an_experiment_plays_variants_as_test_cases_and_uses_their_results_again(
    world: World, upstream: Upstream
) -> None:
    case = shop_case(world)
    change(world, case, variants=[VARIANT])
    world.patch(f"/api/v1/prompts/{case['promptId']}", json={"value": "Help customers of the shop. Be kind."})
    upstream.choose = by_fault

    first = run(world, case["promptId"], minJudgeCaught=0)
    again = run(world, case["promptId"], minJudgeCaught=0)

    name = case["name"]
    assert verdict(first) == ("finished", "passed"), first["reason"]
    assert [(each["name"], each["variant"], each["testCaseId"]) for each in first["testCases"]] == [
        (name, None, case["id"]),
        (f"{name} · refund refused", "refund refused", case["id"]),
    ]
    assert [each["candidate"]["runs"] for each in first["testCases"]] == [4, 4]
    assert (again["reused"], again["progress"]["total"]) == (16, 16)
    forecast = world.post(f"/api/v1/prompts/{case['promptId']}/experiments/forecast", json={"detect": 0.5}).json
    assert (forecast["testCases"], forecast["replays"]["min"], forecast["reused"]) == (2, 16, 16)


def test_a_violation_of_a_variant_fails_the_experiment_and_names_it(world: World, upstream: Upstream) -> None:
    case = shop_case(world)
    change(world, case, variants=[VARIANT])
    world.patch(f"/api/v1/prompts/{case['promptId']}", json={"value": "Try again."})
    upstream.choose = lambda body: by_fault(body, stubborn="Try again." in body["messages"][0]["content"])

    found = run(world, case["promptId"], minJudgeCaught=0)

    assert verdict(found) == ("finished", "failed")
    assert {(each["kind"], each["variant"]) for each in found["violations"]} == {("repeated_write", "refund refused")}


def test_what_came_after_a_fault_is_never_accepted_as_expected(world: World, upstream: Upstream) -> None:
    case = shop_case(world)
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), ANSWER, JUDGED_WRONG)
    replay = replayed(world, case["id"], faults=[REFUSED])

    refused = world.post(f"/api/v1/replays/{replay['id']}/steps/2/accept")

    assert (refused.status_code, refused.json["error"][:3]) == (400, "n: ")
    assert world.get(f"/api/v1/replays/{replay['id']}/batch/accept").json == {"steps": []}


def test_calibrations_play_only_the_recording(world: World, upstream: Upstream) -> None:
    case = shop_case(world)
    change(world, case, variants=[VARIANT])
    upstream.choose = by_fault

    calibrate(world, case["id"], repeats=2)

    page = world.get(f"/api/v1/prompts/{case['promptId']}/replays").json["replays"]
    assert [each["faults"] for each in page] == [[], []]


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    ("fault", "path"),
    [
        ({"tool": "nothing"}, "faults.0.tool: "),
        ({"call": 1}, "faults.0.call: there are 1, counted from 0"),
        ({"call": -1}, "faults.0.call: "),
        ({"call": None}, "faults.0.call: "),
        ({"call": "0"}, "faults.0.call: "),
        ({"kind": "explosion"}, "faults.0.kind: "),
        ({"kind": "empty"}, "faults.0.message: "),
        ({"message": "x" * 10_001}, "faults.0.message: "),
        ({"turn": 0}, "faults.0.turn: "),
    ],
)
def test_a_fault_that_can_not_be_played_is_refused_with_its_path(world: World, fault: Any, path: str) -> None:
    case = shop_case(world)
    wrong = REFUSED | fault

    refused = world.post(f"/api/v1/test-cases/{case['id']}/replays", json={"faults": [wrong]})
    as_variant = world.patch(
        f"/api/v1/test-cases/{case['id']}", json={"variants": [{"name": "wrong", "faults": [wrong]}]}
    )

    assert (refused.status_code, refused.json["error"][: len(path)]) == (400, path)
    assert (as_variant.status_code, as_variant.json["error"][:11]) == (400, "variants.0.")
    assert path.split(": ")[0] in as_variant.json["error"]


@SQLITE_CONTAINER
def test_limits_of_faults_and_variants(world: World) -> None:
    case = shop_case(world)
    twice = [VARIANT, VARIANT]

    def problem(**body: Any) -> str:
        path = f"/api/v1/test-cases/{case['id']}"
        replay = "faults" in body or "variant" in body
        sent = world.post(f"{path}/replays", json=body) if replay else world.patch(path, json=body)
        assert sent.status_code in (400, 404), sent.text
        found: str = sent.json["error"]
        return found

    assert problem(variants=twice) == "variants.1.name: another variant has this name"
    assert problem(variants=[{"name": "", "faults": [REFUSED]}]).startswith("variants.0.name: ")
    assert problem(variants=[{"name": "none", "faults": []}]).startswith("variants.0.faults: ")
    many = [{"name": str(number), "faults": [REFUSED]} for number in range(21)]
    assert problem(variants=many) == "variants: Must have at most 20 entries."
    assert problem(faults=[REFUSED] * 21) == "faults: Must have at most 20 entries."
    assert problem(faults=[REFUSED] * 2) == "faults.1.call: another fault is for this call"
    assert problem(faults=[REFUSED], variant="x") == "faults: Send variant or faults, not both."
    assert problem(variant="x") == "variant: The test case has no variant 'x'."


@SQLITE_CONTAINER
def test_variants_are_in_files_of_version_3_and_survive_a_round_trip(world: World) -> None:
    case = shop_case(world)
    assert world.get(f"/api/v1/test-cases/{case['id']}/export").json["format"] == "reprise.test-case/2"
    change(world, case, variants=[VARIANT], tools={"refund": {"idempotent": True}})

    exported = world.get(f"/api/v1/test-cases/{case['id']}/export").json
    imported = world.post(f"/api/v1/prompts/{case['promptId']}/test-cases/import", json=exported | {"name": "again"})

    assert (exported["format"], exported["testCase"]["variants"]) == ("reprise.test-case/3", [VARIANT])
    assert imported.json["variants"] == [VARIANT]
    assert imported.json["tools"]["refund"]["idempotent"] is True
    assert change(world, case, variants=[])["variants"] == []


def by_fault(body: dict[str, Any], *, stubborn: bool = False) -> Reply:
    """Answer as the shop's agent: it reports a refund that was refused, unless it is `stubborn`; a judge accepts it."""
    messages = body["messages"]
    if messages[0]["content"].startswith("You judge"):
        return JUDGED
    tools = [message for message in messages if message["role"] == "tool"]
    if len(tools) < 2:
        return calls((LOOK_UP, PAY_BACK)[len(tools)])
    if "limit reached" not in tools[-1]["content"]:
        return ANSWER if len(tools) == 2 else SORRY
    return calls(PAY_BACK) if stubborn and len(tools) == 2 else SORRY
