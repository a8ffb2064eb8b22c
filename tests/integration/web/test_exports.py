"""Files of JSON lines, from the pages that show a screenful of the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from app.models.organizations import Role
from tests.integration.web.conftest import Browser
from tests.support.full_project import everything
from tests.support.world import World, new_world


def links(browser: Browser, path: str) -> list[str]:
    browser.open(path)
    found = [href.replace("&amp;", "&") for href in re.findall(r'href="([^"]*exports/[^"]*)"', browser.page)]
    return [href if href.startswith("/") else path.rpartition("/")[0] + "/" + href for href in found]


def test_the_log_and_the_test_cases_lead_to_their_files(world: World, member_of: Callable[[Role], Browser]) -> None:
    made, viewer = everything(world), member_of(Role.VIEWER)
    prompt = f"{viewer.base}/prompts/{made['prompt_id']}"

    found = links(viewer, f"{prompt}/logs") + links(viewer, f"{prompt}/test-cases")

    answers = [viewer.world.client.simulate_get(path, cookies=viewer.cookies) for path in found]
    assert [answer.headers["Content-Type"] for answer in answers] == ["application/x-ndjson"] * 3
    ids = [[json.loads(line)["id"] for line in answer.text.splitlines()] for answer in answers]
    assert ids == [[made["run_id"]], [made["session_id"]], [made["test_case_id"]]]


def test_a_file_has_the_time_that_the_log_was_filtered_by(world: World, admin: Browser) -> None:
    made = everything(world)
    runs, sessions = links(admin, f"{admin.base}/prompts/{made['prompt_id']}/logs?since=1h")
    assert "Export runs, last hour" in admin.text

    answers = [world.client.simulate_get(path, cookies=admin.cookies) for path in (runs, sessions)]

    assert [len(answer.text.splitlines()) for answer in answers] == [1, 0], "the session is from last year"


def test_another_organizations_file_is_not_there(world: World, admin: Browser) -> None:
    stranger = new_world(world.container)
    made = everything(stranger)
    for base in (admin.base, f"/projects/{stranger.project_id}"):
        assert admin.open(f"{base}/prompts/{made['prompt_id']}/exports/runs").status_code == 404
    assert Browser(world).open(f"{admin.base}/prompts/{world.prompt()}/exports/runs").status_code == 303


def test_a_wrong_address_is_answered_with_a_page(world: World, admin: Browser) -> None:
    prompt = f"{admin.base}/prompts/{world.prompt()}"
    assert admin.open(f"{prompt}/exports/secrets").status_code == 404
    assert admin.open(f"{prompt}/exports/runs?since=soon").status_code == 400
    assert "since: " in admin.text
