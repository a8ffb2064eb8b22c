"""From a session that went wrong to a guarded label that points to the mended version, in one browser."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.ui.conftest import JSON, Look, Site
from tests.e2e.ui.test_corrections import LOST, recorded_mistake, run
from tests.support import conversations
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.http_client import Client
from tests.support.waiting import wait_until

pytestmark = pytest.mark.browser
ONLY_FIND = (
    '[{"name": "find", "parameters":'
    ' {"type": "object", "required": ["order"], "properties": {"order": {"type": "string"}}}}]'
)


def test_a_mistake_becomes_a_test_case_and_its_mended_version_gets_the_guarded_label(site: Site, look: Look) -> None:
    prompt_id, session_id = recorded_mistake(site.client)
    store_other_test_case(site.client, prompt_id, session_id)
    guard_label(site.client, prompt_id)
    prompt = f"{site.base}/prompts/{prompt_id}"
    with look() as visit:
        page = visit.page
        visit.open(f"{site.base}/sessions/{session_id}")
        page.locator(".note.warn").get_by_role("link", name="Make a test case").click()
        page.get_by_label("This call was wrong: remove it").nth(1).check()
        page.get_by_label("Right answer").fill(LOST)
        page.get_by_role("button", name="Save the test case").click()
        expect(page.locator(".flash")).to_contain_text("The corrected test case is made.")
        run(page, "failed")

        visit.open(f"{prompt}/edit")
        page.get_by_label("Tools, as a JSON list").fill(ONLY_FIND)
        page.get_by_role("button", name="Check before committing").click()
        page.get_by_role("button", name="Start the experiment").click()
        expect(page).to_have_url(re.compile(r"/experiments/\d+$"))
        experiment = f"/api/v1/experiments/{page.url.rpartition('/')[2]}"
        wait_until(lambda: site.client.get(experiment).json()["verdict"] == "passed", "the experiment")

        visit.open(f"{prompt}/edit")
        page.get_by_label("Commit message").fill("Refund nothing")
        page.get_by_role("button", name="Commit", exact=True).click()
        expect(page.locator(".flash")).to_have_text("Committed.")
        visit.open(f"{prompt}/labels?label=production")
        page.get_by_label("Experiment that it passed").select_option(index=1)
        page.get_by_role("button", name="Move production").click()
        expect(page.locator(".flash")).to_contain_text("production points to")

        assert points_to_newest(site.client, prompt_id)


def store_other_test_case(client: Client, prompt_id: int, mistake: str) -> None:
    """Make a test case that the wrong draft passes, too: without one, nothing shows that the mended one is no worse."""
    turn = RecordedTurn("B-7", LOST, (RecordedCall("find", {"order": "B-7"}, LOST),))
    batch = conversations.export(prompt_id, "lost", [turn], start_ns=1_760_000_100_000_000_000)
    assert client.request("POST", "/api/public/otel/v1/traces", body=batch, headers=JSON).status == 200
    entries = client.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"]
    (session_id,) = {entry["id"] for entry in entries} - {mistake}
    rules = {"refund": {"effect": "read"}}
    steps = [{"turn": 0, "step": 1, "check": {"answer": "ignore"}}]
    made = client.post(f"/api/v1/sessions/{session_id}/test-cases", {"tools": rules, "steps": steps})
    assert made.status == 201


def guard_label(client: Client, prompt_id: int) -> None:
    """Let the guarded label `production` point to the only version."""
    (version,) = client.get(f"/api/v1/prompts/{prompt_id}/versions").json()["versions"]
    move = {"commitHash": version["commitHash"], "guarded": True, "evidence": {}}
    assert client.request("PUT", f"/api/v1/prompts/{prompt_id}/labels/production", payload=move).status == 200


def points_to_newest(client: Client, prompt_id: int) -> bool:
    newest = client.get(f"/api/v1/prompts/{prompt_id}").json()["commitHash"]
    label: dict[str, Any] = client.get(f"/api/v1/prompts/{prompt_id}/labels/production").json()
    return bool(label["commitHash"] == newest)
