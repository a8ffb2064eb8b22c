"""An answer of a turn in which a call got no result is not proposed as an expectation."""

from __future__ import annotations

from typing import Any

import pytest

from app.services.replays.acceptance import has_unanswered_call


def call(answered_by: str | None) -> dict[str, Any]:
    made = {"kind": "tool_call", "name": "find", "arguments": {}}
    return made if answered_by is None else made | {"answeredBy": answered_by}


def step(actual: dict[str, Any] | None) -> dict[str, Any]:
    return {"kind": "tool_call", "result": "failed", "expected": {"name": "find", "arguments": {}}, "actual": actual}


ANSWER = {"kind": "answer", "result": "failed", "expected": "Yes.", "actual": "No."}


@pytest.mark.parametrize(
    ("turn", "unanswered"),
    [
        ({"steps": [step(call("none")), ANSWER], "extra": []}, True),
        ({"steps": [ANSWER], "extra": [call("none")]}, True),
        ({"steps": [step(call("recording")), ANSWER], "extra": [call("static"), {"kind": "answer"}]}, False),
        ({"steps": [step(None), ANSWER]}, False),
        ({"steps": [step(call(None)), ANSWER]}, False),
    ],
    ids=[
        "a paired call",
        "an extra call",
        "answered calls",
        "a call that was never made",
        "a result of an old release",
    ],
)
def test_calls_without_a_result_are_seen(turn: dict[str, Any], unanswered: bool) -> None:
    assert has_unanswered_call(turn) is unanswered
