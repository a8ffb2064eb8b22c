"""Where on the page of a replay a violation happened."""

from __future__ import annotations

from typing import Any

from app.web.presenters.replay_violations import placed_violations


def call(name: str, arguments: Any) -> dict[str, Any]:
    made = {"name": name, "arguments": arguments, "result": "", "effect": "write", "answeredBy": "none"}
    return {"kind": "tool_call", **made}


def step(name: str, arguments: Any, actual: dict[str, Any] | None) -> dict[str, Any]:
    recorded = {"name": name, "arguments": arguments}
    return {"kind": "tool_call", "result": "passed" if actual else "failed", "expected": recorded, "actual": actual}


def violation(kind: str, tool: str, arguments: Any, turn: int = 0, message: str = "") -> dict[str, Any]:
    return {"kind": kind, "tool": tool, "turn": turn, "arguments": arguments, "message": message}


def anchors(turns: list[dict[str, Any]], *violations: dict[str, Any]) -> list[str]:
    result = {"turns": turns, "violations": list(violations)}
    return [placed.anchor for placed in placed_violations(result)]


REFUND = call("refund", {"id": 1})
PLAYED = {"steps": [step("refund", {"id": 1}, REFUND)], "extra": [REFUND, REFUND]}


def test_equal_calls_that_the_recording_does_not_have_get_different_anchors() -> None:
    extra = violation("extra_write", "refund", {"id": 1})

    assert anchors([PLAYED], extra, extra) == ["turn-1-extra-1", "turn-1-extra-2"]


def test_a_call_in_the_wrong_order_is_its_step() -> None:
    assert anchors([PLAYED, PLAYED], violation("order", "refund", {"id": 1}, turn=1)) == ["step-1"]


def test_a_tool_that_was_lost_is_the_first_step_that_calls_it() -> None:
    turn = {"steps": [step("find", {}, None), step("refund", {}, None), step("refund", {}, None)], "extra": []}

    assert anchors([turn], violation("lost_tool", "refund", None)) == ["step-1"]


def test_a_violation_that_no_call_shows_is_its_turn() -> None:
    assert anchors([PLAYED], violation("never", "drop", {}), violation("never", "drop", {}, turn=7)) == [
        "turn-1",
        "turn-8",
    ]


def test_arguments_are_shown_where_the_message_does_not_have_them() -> None:
    result = {
        "turns": [PLAYED],
        "violations": [
            violation("never", "refund", {"id": 1}, message='refund was called with {"id": 1}, and'),
            violation("order", "refund", {"id": 1}, message="refund was called before find"),
            violation("lost_tool", "refund", None, message="refund is gone"),
        ],
    }

    assert [placed.cut for placed in placed_violations(result)] == [False, True, False]


def test_an_older_result_has_no_violations() -> None:
    old = {"kind": "tool_call", "name": "refund", "arguments": {}}

    assert anchors([{"steps": [step("refund", {}, {"name": "refund", "arguments": {}})], "extra": [old]}]) == []
