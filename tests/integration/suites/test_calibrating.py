"""Calibrations of a suite's test cases: of each one without, and again of each one that was not reliable."""

from __future__ import annotations

from typing import Any

from tests.integration.replays.recording import calibrate, ended_calibration, prompt
from tests.support.world import World


def suite_of_echo(world: World) -> dict[str, Any]:
    """Make a suite of a test case that `echo` passes and one that it fails."""
    prompt_id = prompt(world, model="echo")
    asked = [{"question": "Ping", "expectedAnswer": "Ping"}, {"question": "Ping", "expectedAnswer": "Pong"}]
    cases = [world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json=body).json["id"] for body in asked]
    made = world.post(f"/api/v1/prompts/{prompt_id}/suites", json={"name": "release", "testCaseIds": cases})
    assert made.status_code == 201, made.text
    return dict(made.json)


def calibrated(world: World, suite: dict[str, Any], **body: Any) -> list[int | None]:
    """Calibrate the suite, wait for the ends, and return the id of each test case's calibration."""
    answer = world.post(f"/api/v1/suites/{suite['id']}/calibrations", json={"repeats": 2, **body})
    assert answer.status_code == 202, answer.text
    ids = [case["calibrationId"] for case in answer.json["testCases"]]
    for calibration_id in filter(None, ids):
        ended_calibration(world, calibration_id)
    return ids


def test_only_what_is_not_reliable_is_calibrated_again(world: World) -> None:
    suite = suite_of_echo(world)
    reliable, failing = calibrated(world, suite)
    assert calibrated(world, suite) == [reliable, failing]

    same, new = calibrated(world, suite, again=True)

    assert (same, world.count("calibrations")) == (reliable, 3)
    assert new not in (None, reliable, failing)


def test_a_calibration_that_has_not_ended_is_not_started_again(world: World) -> None:
    suite = suite_of_echo(world)
    world.container.services.suite_acceptance.calibrate(project_id=world.project_id, suite_id=suite["id"])
    path = f"/api/v1/suites/{suite['id']}/calibrations"
    assert world.post(path, json={"again": True}).status_code == 202
    assert world.count("calibrations") == 2


def test_a_suite_has_the_calibration_that_was_started_for_the_test_case(world: World) -> None:
    suite = suite_of_echo(world)
    calibrated(world, suite)
    failing = suite["testCases"][1]["testCaseId"]

    own = calibrate(world, failing, repeats=2)

    members = world.get(f"/api/v1/suites/{suite['id']}").json["testCases"]
    assert {case["testCaseId"]: case["calibrationId"] for case in members}[failing] == own["id"]
