"""The page of a calibration, and the changes that accepting its proposals makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.models.organizations import Role
from tests.integration.replays.recording import make_case, prompt, record, tool
from tests.integration.web.conftest import Browser
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.waiting import wait_until
from tests.support.world import World

# `demo-agent` finds the order as the user spells it, and answers with the result.
SPELLED = RecordedTurn("A-1", "It is on its way.", (RecordedCall("find", {"order": "a-1"}, "It is on its way."),))


@pytest.fixture
def case_id(world: World) -> int:
    world.container.services.models.sync_catalogue()
    prompt_id = prompt(world, model="demo-agent", languageModelConfig={"tools": [tool("find", "order")]})
    made: int = make_case(world, record(world, prompt_id, [SPELLED]))["id"]
    return made


def check(world: World, case_id: int) -> Any:
    return world.get(f"/api/v1/test-cases/{case_id}").json["turns"][0]["steps"][0]["check"]["arguments"]


def calibrated(browser: Browser, world: World, case_id: int) -> tuple[str, str]:
    """Press the button, wait, and open the page; return its path and its text."""
    browser.open(f"{browser.base}/test-cases/{case_id}")
    answer = browser.send(f"{browser.base}/test-cases/{case_id}/calibrate")
    assert answer.status_code == 303
    path: str = answer.headers["Location"]
    resource = f"/api/v1/calibrations/{path.rpartition('/')[2]}"

    def ended() -> Any:
        return world.get(resource).json["status"] == "finished"

    wait_until(ended, path)
    browser.open(path)
    return path, " ".join(browser.text.split())


def test_a_person_accepts_the_check_that_a_calibration_proposes(world: World, admin: Browser, case_id: int) -> None:
    path, read = calibrated(admin, world, case_id)
    assert "With the 1 looser check below it does." in read
    assert 'Turn 1: calls find 0 of 5 {"arguments": {"/order": "text"}}' in read
    assert "data-live" not in admin.page

    accepted = admin.send(path, proposal="0")

    assert (accepted.status_code, accepted.headers["Location"]) == (303, f"{admin.base}/test-cases/{case_id}")
    assert check(world, case_id) == {"/order": "text"}
    _, read = calibrated(admin, world, case_id)
    assert "A good version passes every time." in read
    assert "Turn 1: calls find 5 of 5" in read


@pytest.mark.parametrize("proposal", ["", "x", "7", "-1"])
def test_only_proposals_that_there_are_can_be_accepted(
    world: World, admin: Browser, case_id: int, proposal: str
) -> None:
    path, _ = calibrated(admin, world, case_id)
    assert admin.send(path, proposal=proposal).status_code == 400
    assert check(world, case_id) == "exact"


def test_a_viewer_reads_a_calibration_and_accepts_nothing(
    world: World, admin: Browser, member_of: Callable[[Role], Browser], case_id: int
) -> None:
    path, _ = calibrated(admin, world, case_id)
    viewer = member_of(Role.VIEWER)
    viewer.open(path)
    assert "Turn 1: calls find 0 of 5" in " ".join(viewer.text.split())
    assert "Accept the ticked checks" not in viewer.page
    assert viewer.send(path, proposal="0").status_code == 403
    assert viewer.send(f"{viewer.base}/test-cases/{case_id}/calibrate").status_code == 403
