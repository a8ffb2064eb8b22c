from __future__ import annotations

from typing import Any

import httpx
import pytest
from reprise_client.cli.calibrate import calibrated, exit_code, report
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.remote import Remote

CALIBRATION: dict[str, Any] = {
    "id": 3,
    "status": "finished",
    "repeats": 2,
    "steps": [{"turn": 0, "step": 0, "passed": 1, "of": 2}, {"turn": 0, "step": 1, "passed": 2, "of": 2}],
    "proposals": [{"turn": 0, "step": 0, "check": {"arguments": {"/q": "text"}}}],
    "usable": True,
    "canFail": True,
    "problems": [],
    "error": None,
}


def instance(*statuses: str) -> Remote:
    """A Reprise with a calibration that has these statuses, one at each look; the last one stays."""
    left = list(statuses)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            return httpx.Response(202, json={"id": 3})
        return httpx.Response(200, json={**CALIBRATION, "status": left.pop(0) if len(left) > 1 else left[0]})

    return Remote("http://reprise", "rp_key", transport=httpx.MockTransport(answer), sleep=lambda _: None)


def test_a_calibration_is_waited_for() -> None:
    found = calibrated(instance("queued", "running", "finished"), 1, {}, 60, sleep=lambda _: None)
    assert found["status"] == "finished"


def test_a_calibration_that_does_not_end_in_time_could_not_run() -> None:
    clock = iter(range(0, 1000, 40))
    with pytest.raises(CouldNotRun, match="not finished within 60 s"):
        calibrated(instance("running"), 1, {}, 60, sleep=lambda _: None, monotonic=lambda: next(clock))


def test_the_unstable_steps_are_listed_with_what_is_proposed() -> None:
    assert list(report("Where is it?", CALIBRATION)) == [
        "PROPOSALS    Where is it? · 2 replays",
        '    turn 1, step 1: passed 1 of 2, proposed: {"arguments": {"/q": "text"}}',
    ]


@pytest.mark.parametrize(
    ("changed", "code", "begins"),
    [
        ({}, 0, "PROPOSALS"),
        ({"proposals": []}, 0, "USABLE"),
        ({"usable": False, "problems": ["Turn 1 …"]}, 1, "NOT USABLE"),
        ({"canFail": False}, 1, "PROPOSALS"),
        ({"status": "error", "error": "No credential."}, 2, "ERROR"),
        ({"status": "cancelled"}, 2, "CANCELLED"),
    ],
)
def test_the_exit_code_shows_if_the_test_case_is_reliable(changed: dict[str, Any], code: int, begins: str) -> None:
    calibration = CALIBRATION | changed
    assert exit_code(calibration) == code
    lines = list(report("Name", calibration))
    assert lines[0].startswith(begins)
    assert all(f"    {told}" in lines for told in [*calibration["problems"], calibration["error"]] if told)
