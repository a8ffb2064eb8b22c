"""The reasons of an experiment's failing replays: each once, the most frequent first, within bounds."""

from __future__ import annotations

from typing import Any

from app.web.presenters.experiment_failures import CASES_MAX, REASONS_MAX, REPLAYS_MAX, failures_of, replays_to_read


def failed(reason: str) -> dict[str, Any]:
    """Return a result with one failed call of pay."""
    step = {"kind": "tool_call", "result": "failed", "expected": {"name": "pay"}, "reason": reason}
    return {"status": "failed", "turns": [{"steps": [step], "extra": []}]}


def case(number: int, replay_ids: list[int]) -> dict[str, Any]:
    return {"testCaseId": number, "candidate": {"failedReplayIds": replay_ids}}


def test_the_most_frequent_reason_is_first_and_names_its_first_replay() -> None:
    results = {1: failed("late"), 2: failed("twice"), 3: failed("twice"), 4: {"status": "passed"}}

    found = failures_of([case(7, [1, 2, 3, 4, 5])], results)

    assert [(each.trouble.reason, each.replay_id, each.count, each.read) for each in found[7, None]] == [
        ("twice", 2, 2, 3),
        ("late", 1, 1, 3),
    ]


def test_few_replays_of_few_test_cases_are_read() -> None:
    cases = [case(0, [])] + [case(number, [*range(number * 100, number * 100 + 50)]) for number in range(1, 20)]

    read = replays_to_read(cases)
    found = failures_of(cases, {replay_id: failed(str(replay_id)) for replay_id in read})

    assert len(read) == CASES_MAX * REPLAYS_MAX
    assert [number for number, _ in found] == [*range(1, CASES_MAX + 1)]
    assert {len(failures) for failures in found.values()} == {REASONS_MAX}
