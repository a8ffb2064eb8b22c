"""The page of a suite."""

from __future__ import annotations

import html
import shlex
from types import SimpleNamespace
from typing import Any

import pytest

from app.services.suites.coverage import CoverageService
from app.services.suites.service import NewMember
from app.web.views.suites import ShownMember, SuitePage
from tests.integration.suites.test_suites import case_of
from tests.integration.web.conftest import Browser
from tests.support.world import World


def suite_of(world: World, name: str = "release", reason: str | None = None) -> int:
    """Make a suite with a test case of a prompt that has a version; returns its id."""
    prompt_id = world.prompt()
    assert world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": "v1"}).status_code == 201
    members = [NewMember(case_of(world, prompt_id), reason)]
    services = world.container.services
    return services.suites.create(project_id=world.project_id, prompt_id=prompt_id, name=name, members=members).row.id


def test_running_calibrations_are_asked_for_without_the_coverage(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite_id = suite_of(world)
    path = f"{admin.base}/suites/{suite_id}"
    acceptance = world.container.services.suite_acceptance
    acceptance.calibrate(project_id=world.project_id, suite_id=suite_id)
    admin.open(path)
    assert 'id="members" data-live="1500" data-live-from="?calibrations=true"' in admin.page
    assert "What it represents" in admin.page

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("The coverage was read.")

    monkeypatch.setattr(CoverageService, "read", refuse)
    assert admin.open(f"{path}?calibrations=true").status_code == 200
    assert 'id="members" data-live="1500"' in admin.page
    assert "calibrating" in admin.page
    assert "What it represents" not in admin.page


def test_the_command_of_a_gate_is_read_by_a_shell_as_it_was_meant(world: World, admin: Browser) -> None:
    name = "it's $(whoami); `id` <b> 🚀"
    admin.open(f"{admin.base}/suites/{suite_of(world, name)}")
    command = html.unescape(admin.page.partition("<code>reprise gate")[2].partition("</code>")[0])
    assert shlex.split(command)[-1] == f"--suite={name}"


def test_forms_offer_the_suites_of_a_prompt_by_the_same_names(world: World, admin: Browser) -> None:
    suite_id = suite_of(world)
    prompt_id = world.container.services.suites.get(project_id=world.project_id, suite_id=suite_id).row.prompt_id

    for page in ("schedules", "experiments/new"):
        admin.open(f"{admin.base}/prompts/{prompt_id}/{page}")
        assert '<option value="release">The suite release</option>' in admin.page
        assert "All test cases" in admin.page


def test_a_member_that_is_no_id_is_refused(world: World, admin: Browser) -> None:
    path = f"{admin.base}/suites/{suite_of(world)}"
    admin.open(path)
    assert admin.send(path, remove="first").status_code == 400
    assert "remove: Must be a whole number." in admin.page


def test_the_reason_of_a_test_case_shows_tools_as_code(world: World, admin: Browser) -> None:
    admin.open(f"{admin.base}/suites/{suite_of(world, reason='It calls `get_<b>order`.')}")
    assert "It calls <code>get_&lt;b&gt;order</code>." in admin.page


def test_a_list_without_suites_offers_a_proposal_once(world: World, admin: Browser) -> None:
    admin.open(f"{admin.base}/prompts/{world.prompt()}/suites")

    assert admin.page.count("Propose a suite") == 1


def test_a_test_case_that_is_not_usable_leads_to_the_reason(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{admin.base}/suites/{suite_of(world)}"
    monkeypatch.setattr(ShownMember, "state", ("reliable", "ok"))
    admin.open(path)
    assert "Calibrate again" not in admin.page
    monkeypatch.setattr(ShownMember, "state", ("not usable", "bad"))
    row = SimpleNamespace(id=31)
    monkeypatch.setattr(SuitePage, "_calibration", lambda *_: SimpleNamespace(row=row))
    admin.open(path)
    assert "1 test case did not pass with the version that was calibrated" in admin.page
    assert 'value="calibrate-again"' in admin.page
    assert f'href="{admin.base}/calibrations/31" aria-label="Why ' in admin.page
