"""Corrected recordings: a session that went wrong becomes a test case of what should have happened."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import make_case, record, replayed, results
from tests.integration.replays.shop import ANSWER, LOOK_UP, ORDER, PAY_BACK, REFUND, calls, change, kinds, shop
from tests.support.backends import SQLITE_CONTAINER
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.world import World

TWICE = RecordedTurn("Refund order A-1, please.", "Order A-1 is refunded.", (ORDER, REFUND, REFUND))
COMPLAINT = RecordedTurn("Why twice?", "I am sorry.")
REMOVED = {"turn": 0, "step": 2, "remove": True}
WRITTEN = {"turn": 0, "step": 3, "text": "Order A-1 is refunded."}


@pytest.fixture
def session_id(world: World) -> str:
    return record(world, shop(world), [TWICE, COMPLAINT])


def rate(world: World, session_id: str, **score: Any) -> None:
    target = {"sessionId": session_id}
    body = {"scores": [{"name": "helpful", "value": 0.1, "target": target} | score]}
    scored = world.post("/api/v1/scores", json=body)
    assert scored.status_code == 200, scored.text


def enabled(case: dict[str, Any]) -> list[list[bool]]:
    return [[step["check"]["enabled"] for step in turn["steps"]] for turn in case["turns"]]


def test_a_session_with_a_low_score_becomes_a_corrected_test_case_that_only_the_mended_draft_passes(
    world: World, upstream: Upstream, session_id: str
) -> None:
    rate(world, session_id, comment="It refunded twice.")
    proposal = world.get(f"/api/v1/sessions/{session_id}/test-case-proposal").json
    assert proposal["doubts"] == [
        {"kind": "low_score", "turn": None, "step": None, "message": "The score helpful is 0.1: It refunded twice."}
    ]

    case = make_case(world, session_id, corrections=[REMOVED, WRITTEN])

    assert (case["basis"], case["includedTurns"], enabled(case)) == ("corrected", 1, [[True, True, True], [False]])
    assert case["turns"][0]["removed"] == [{"name": "refund", "arguments": {"id": "A-1"}}]
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), calls(PAY_BACK), ANSWER)
    wrong = replayed(world, case["id"])
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), ANSWER)
    mended = replayed(world, case["id"])
    assert (wrong["status"], kinds(wrong)) == ("failed", [("extra_write", "refund", 0)])
    assert "a person removed the call" in wrong["violations"][0]["message"]
    assert (mended["status"], results(mended)[0]) == ("passed", ["passed", "passed", "passed"])


def test_corrected_arguments_and_added_calls_are_demanded(world: World, upstream: Upstream) -> None:
    wrong_order = RecordedCall("refund", {"id": "A-2"}, {"ok": True})
    session_id = record(world, shop(world), [RecordedTurn("Refund A-1.", "Order A-2 is refunded.", (wrong_order,))])
    look_up = {"name": "get_order", "arguments": {"id": "A-1"}, "result": {"total": 20}}
    corrections = [
        {"turn": 0, "after": -1, "add": look_up},
        {"turn": 0, "step": 0, "arguments": {"id": "A-1"}},
        {"turn": 0, "step": 1, "text": "Order A-1 is refunded."},
    ]
    case = make_case(world, session_id, corrections=corrections)

    upstream.script(calls(("refund", {"id": "A-2"})), Reply(text="Order A-2 is refunded."))
    wrong = replayed(world, case["id"])
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), ANSWER)
    mended = replayed(world, case["id"])

    assert (wrong["status"], kinds(wrong)) == ("failed", [("unanswered_write", "refund", 0)])
    assert mended["status"] == "passed"


def test_a_stored_test_case_is_corrected_by_a_change(world: World, session_id: str) -> None:
    case = make_case(world, session_id)
    assert case["basis"] == "recorded"

    after = change(world, case, corrections=[REMOVED], steps=[{"turn": 1, "step": 0, "check": {"enabled": True}}])

    assert (after["basis"], after["includedTurns"]) == ("corrected", None)
    assert enabled(after) == [[True, True, False], [True]]


def test_a_corrected_test_case_is_a_file_of_version_3_and_others_stay_version_2(world: World, session_id: str) -> None:
    recorded = make_case(world, session_id)
    case = make_case(world, session_id, name="Mended", corrections=[REMOVED, WRITTEN])

    def exported(of: dict[str, Any]) -> dict[str, Any]:
        file: dict[str, Any] = world.get(f"/api/v1/test-cases/{of['id']}/export").json
        return file

    file = exported(case)
    assert (exported(recorded)["format"], file["format"]) == ("reprise.test-case/2", "reprise.test-case/3")
    assert not {"basis", "removed", "corrected"} & set(_keys(exported(recorded)))
    other = world.post(f"/api/v1/prompts/{shop(world)}/test-cases/import", json=file)
    assert (other.status_code, exported(other.json)) == (201, file)


def test_the_audit_log_has_the_number_of_corrections_and_no_text_of_them(world: World, session_id: str) -> None:
    case = make_case(world, session_id, corrections=[REMOVED, WRITTEN])
    change(world, case, corrections=[{"turn": 0, "step": 2, "text": "It is done."}])

    page = world.container.services.audit.page(organization_id=world.organization_id, limit=50, cursor=None)
    details = [entry.details for entry in page.entries if entry.action.startswith("test_case.")]
    assert details == [{"corrections": "1"}, {"corrections": "2"}]


def test_signs_of_mistakes_are_errors_and_failed_scores_where_they_were_given(world: World) -> None:
    failed = RecordedCall("refund", {"id": "A-1"}, error="The account is closed.")
    session_id = record(world, shop(world), [RecordedTurn("Refund A-1.", "I can't.", (ORDER, failed))])
    rate(world, session_id, value=0.9)

    doubts = world.get(f"/api/v1/sessions/{session_id}/test-case-proposal").json["doubts"]

    assert [(doubt["kind"], doubt["turn"], doubt["step"]) for doubt in doubts] == [("error", 0, 1)]
    assert doubts[0]["message"] == "refund failed: The account is closed."


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    ("corrections", "message"),
    [
        ([{"turn": 9, "step": 0, "remove": True}], "corrections.0.turn: there are 2"),
        ([REMOVED, {"turn": 0, "after": 9, "add": {"text": "x"}}], "corrections.1.after: must be a step, -1 to 3"),
        ([{"turn": 0, "step": 0, "text": "a\0b"}], "corrections: Must not contain"),
        ([{"turn": 0, "step": "0", "remove": True}], "corrections.0.step: must be a whole number"),
        ([{"turn": 0, "step": 0, "rewrite": 1}], "corrections.0.rewrite: unknown field"),
        ([REMOVED] * 1001, "corrections: Must have at most 1000"),
        ({}, "corrections: must be a list"),
        (None, "corrections: "),
    ],
)
def test_a_wrong_correction_is_refused_by_its_path(
    world: World, session_id: str, corrections: Any, message: str
) -> None:
    refused = world.post(f"/api/v1/sessions/{session_id}/test-cases", json={"corrections": corrections})

    assert refused.status_code == 400
    assert refused.json["error"].startswith(message)


def _keys(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(key for inner in value.values() for key in _keys(inner))]
    return [key for inner in value for key in _keys(inner)] if isinstance(value, list) else []
