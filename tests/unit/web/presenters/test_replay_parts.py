"""A long replay is shown a part at a time, and its violations are placed in one pass."""

from __future__ import annotations

from typing import Any

from app.web.presenters.replay import shown_turns
from app.web.presenters.replay_parts import PART_BYTES, PART_STEPS, part_of
from app.web.presenters.replay_violations import kinds_by_anchor, placed_violations
from tests.support.operations import calls_of


def call(n: int) -> dict[str, Any]:
    return {"name": "pay", "arguments": {"at": n}, "result": "", "effect": "write", "answeredBy": "none"}


def result(turns: int, steps: int, *, text: str = "", violations: int = 0) -> dict[str, Any]:
    step = {"kind": "tool_call", "result": "passed", "expected": {"name": "pay", "arguments": text}}
    extra = [{"kind": "tool_call", **call(n)} for n in range(violations)]
    return {
        "turns": [{"user": "hello", "steps": [step | {"actual": None}] * steps, "extra": extra} for _ in range(turns)],
        "violations": [
            {"kind": "extra_write", "tool": "pay", "turn": 0, "arguments": {"at": n}, "message": ""}
            for n in reversed(range(violations))
        ],
    }


def test_the_parts_have_every_step_once_in_order() -> None:
    long = result(3, PART_STEPS, violations=1)
    first = part_of(long)

    anchors = [place.anchor for n in range(first.parts) for place in part_of(long, part=n + 1).places]

    assert first.parts == 4
    assert [anchor for anchor in anchors if anchor.startswith("step")] == [f"step-{n}" for n in range(3 * PART_STEPS)]
    assert len(anchors) == len(set(anchors)) == 3 * (PART_STEPS + 2)


def test_a_part_ends_before_its_texts_are_too_long() -> None:
    long = result(1, 3, text="x" * (PART_BYTES // 2))
    parts = [part_of(long, part=n) for n in (1, 2, 3)]

    assert [[place.anchor for place in part.places] for part in parts] == [["turn-1", "step-0"], ["step-1"], ["step-2"]]
    assert [[turn.begins for turn in shown_turns(part, {})] for part in parts] == [[True], [False], [False]]


def test_a_step_a_turn_and_a_call_besides_lead_to_their_part() -> None:
    long = result(2, PART_STEPS, violations=1)

    led = [part_of(long, anchor="step-199"), part_of(long, turn=2), part_of(long, anchor="turn-1-extra-1")]

    assert [part.number for part in led] == [3, 2, 2]
    assert [part_of(long, **wrong).number for wrong in ({"part": 99}, {"anchor": "no"}, {"turn": 9})] == [3, 1, 1]  # type: ignore[arg-type]


def test_a_replay_without_a_result_is_one_empty_part() -> None:
    part = part_of({})
    assert (part.places, part.number, part.parts, shown_turns(part, {})) == ([], 1, 1, [])


def test_a_step_has_the_kinds_of_its_violations_in_whichever_part_it_is() -> None:
    long = result(1, PART_STEPS, violations=2)
    kinds = kinds_by_anchor(placed_violations(long))

    (turn,) = shown_turns(part_of(long, anchor="turn-1-extra-1"), kinds)

    assert [(step.anchor, step.violations) for step in turn.extra] == [
        ("turn-1-extra-1", ["extra_write"]),
        ("turn-1-extra-2", ["extra_write"]),
    ]


def test_twice_the_violations_cost_twice_the_work() -> None:
    few, many = result(1, 0, violations=200), result(1, 0, violations=400)
    bound = 2.2 * calls_of(lambda: placed_violations(few))
    assert calls_of(lambda: placed_violations(many), at_most=bound) <= bound
