"""The page of a schedule that reads what a suite represents."""

from __future__ import annotations

from tests.integration.replays.test_coverage_schedules import CANCEL, SEARCH, serve, with_suite
from tests.integration.suites.sending import make_fingerprints
from tests.integration.suites.test_findings_api import traffic
from tests.integration.web.conftest import Browser
from tests.support.world import World


def test_the_page_makes_a_schedule_and_shows_what_it_has_found(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    traffic(world, prompt_id, SEARCH, 20, "search")
    with_suite(world, prompt_id)
    path = f"{admin.base}/prompts/{prompt_id}/schedules"
    admin.open(path)
    fields = {"cron": "0 * * * *", "timezone": "UTC", "suite": "release", "coverage": "80"}
    assert admin.send(path, kind="suite-coverage", **fields).status_code == 303
    (schedule,) = world.get(f"/api/v1/prompts/{prompt_id}/schedules").json["schedules"]
    assert schedule["minCoverage"] == 0.8
    page = f"{admin.base}/schedules/{schedule['id']}"
    admin.open(page)
    assert '<h1 dir="auto">Coverage: At the start of every hour</h1>' in admin.page
    assert 'value="80"' in admin.page
    serve(world, schedule, 1)
    admin.open(page)
    assert "represents 100 % of 20 sessions of the last week" in admin.page
    traffic(world, prompt_id, CANCEL, 60, "cancel")
    make_fingerprints(world)
    serve(world, schedule, 2)
    admin.open(page)
    assert "which is below 80 %" in admin.page
    assert "too low" in admin.page
    admin.open(path)
    assert "At the start of every hour</a>" in admin.page
    assert "Coverage, <code>0 * * * *</code>, UTC" in admin.page
