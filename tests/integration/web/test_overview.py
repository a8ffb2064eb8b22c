"""The first page of a project: what happened, what went wrong, what changed, and whether it may go live."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import insert

from app.models import insight
from app.models.organizations import Role
from app.sessions import figures
from app.sessions.figures import Figures
from tests.integration.replays.recording import make_case, prompt, record, tool
from tests.integration.test_insight import recorded, turn
from tests.integration.web.conftest import Browser
from tests.integration.web.test_experiments import ASKED, ended, lose_the_tool, read, started
from tests.support.exports import export, span
from tests.support.world import World

MemberOf = Callable[[Role], Browser]


def links(browser: Browser, text: str) -> list[str]:
    """Return the addresses of the page's links that begin with `text`."""
    found = re.findall(r'<a href="([^"]*)">((?:<bdi>)?[^<]*)', html.unescape(browser.page))
    return [href for href, shown in found if shown.removeprefix("<bdi>").startswith(text)]


def test_a_project_without_sessions_is_led_to_its_first_ones(world: World, member_of: MemberOf) -> None:
    viewer = member_of(Role.VIEWER)

    page = read(viewer, f"{viewer.base}/overview")

    assert "No sessions in the last 14 days" in page
    assert "No session had errors, each replayed test case passed, and no span was rejected." in page
    assert "No version was committed yet." in page
    assert "No experiment has ended yet." in page


def test_sessions_of_this_week_are_compared_with_those_of_the_week_before(world: World, admin: Browser) -> None:
    prompt_id, now = world.prompt(), world.container.now()
    recorded(world, *(turn(prompt_id, "a", failed=n < 2) for n in range(8)))
    recorded(world, *(turn(prompt_id, "a", at=now - timedelta(days=9)) for _ in range(3)))
    recorded(world, turn(prompt_id, "a", at=now - timedelta(days=20)))

    page = read(admin, f"{admin.base}/overview")

    assert "8 sessions3 in the 7 days before" in page
    assert "25 % with errors0 % in the 7 days before Sessions with errors each day" in page
    assert "$1.20$0.45 in the 7 days before" in page
    [failing] = links(admin, "2 of 8 sessions")
    assert "2 sessions" in read(admin, failing)


def test_sessions_of_thousands_of_versions_and_models_are_all_counted(world: World, admin: Browser) -> None:
    prompt_id, today = world.prompt(), world.container.now().date()
    rows = [
        {
            "version": f"v{n % 1000}",
            "model": f"m{n // 1000}",
            "figures": figures.dump(Figures(sessions=1, failed=n % 2)),
        }
        for n in range(12_000)
    ]
    with world.container.database.write() as connection:
        which = {"project_id": world.project_id, "prompt_id": prompt_id, "day": today}
        connection.execute(insert(insight.insight_daily), [which | row for row in rows])

    page = read(admin, f"{admin.base}/overview")

    assert "12,000 sessions" in page
    assert links(admin, "6,000 of 12,000 sessions")


def test_rejected_spans_and_firing_alerts_went_wrong(world: World, admin: Browser, member_of: MemberOf) -> None:
    prompt_id = world.prompt()
    recorded(world, *(turn(prompt_id, "a", failed=True) for _ in range(3)))
    world.send(export(span({"service.prompt.id": "none"})))
    rule = {"metric": "errorShare", "threshold": 0.5, "windowMinutes": 60, "minSessions": 1}
    assert world.post("/api/v1/alert-rules", json=rule).status_code == 201
    world.container.services.alerts.evaluate()

    page = read(admin, f"{admin.base}/overview")

    assert "Share of sessions with errors is 100 %, above 50 %" in page
    assert links(admin, "Share of sessions") == [f"{admin.base}/settings/alerts"]
    assert links(admin, "1 span") == [f"{admin.base}/rejected-spans"]
    viewer = member_of(Role.VIEWER)
    assert "Share of sessions with errors is 100 %" in read(viewer, f"{viewer.base}/overview")
    assert links(viewer, "Share of sessions") == []


def test_changed_drafts_are_checked_and_the_newest_experiment_is_shown(world: World, admin: Browser) -> None:
    world.container.services.models.sync_catalogue()
    prompt_id = prompt(world, model="demo-agent", languageModelConfig={"tools": [tool("find_order", "order")]})
    make_case(world, record(world, prompt_id, [ASKED]), name="Where is my order?")
    path = f"{admin.base}/prompts/{prompt_id}"
    assert "not checked" not in read(admin, f"{admin.base}/overview")

    lose_the_tool(world, prompt_id)
    page = read(admin, f"{admin.base}/overview")

    assert "has changes that are not committed" in page
    assert links(admin, "Check the draft against the newest version") == [f"{path}/experiments/new"]

    experiment = started(admin, prompt_id, detect="0.5")
    assert ended(world, experiment)["verdict"] == "failed"
    page = read(admin, f"{admin.base}/overview")

    assert "not checked" not in page
    assert experiment in admin.page


def test_a_version_leads_to_its_difference_from_the_one_before(world: World, admin: Browser) -> None:
    world.container.services.models.sync_catalogue()
    prompt_id = prompt(world)
    assert world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Be brief."}).status_code == 200
    committed = world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": "Brief & kind"})
    assert committed.status_code == 201, committed.text

    read(admin, f"{admin.base}/overview")

    [href] = links(admin, "Brief & kind")
    assert href.startswith(f"{admin.base}/prompts/{prompt_id}/compare?from=")
    assert "Be brief." in read(admin, href)


@pytest.mark.parametrize("begun", [False, True])
def test_a_project_opens_with_its_overview_once_it_has_runs_and_traces(
    world: World, admin: Browser, begun: bool
) -> None:
    prompt_id = world.prompt()
    if begun:
        recorded(world, turn(prompt_id, "a"))
        assert (
            world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": "?", "productive": False}).status_code
            == 200
        )

    answer = admin.open(admin.base)

    assert answer.headers["Location"] == f"{admin.base}/{'overview' if begun else 'start'}"
