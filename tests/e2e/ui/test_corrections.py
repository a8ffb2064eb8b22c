"""From a session with a low score to a corrected test case, which the wrong draft fails and the mended one passes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.ui.conftest import Look, Site
from tests.support import conversations
from tests.support.browser import look_again_until
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.http_client import Client

pytestmark = pytest.mark.browser
LOST = "It is lost."
# The builtin `demo-agent` calls each tool of the draft once, with the user's text, and answers with the last result.
FIND = RecordedCall("find", {"order": "A-1"}, LOST)
REFUND = RecordedCall("refund", {"order": "A-1"}, "Refunded.")


def test_a_mistake_is_corrected_and_only_the_mended_draft_passes(site: Site, look: Look) -> None:
    prompt_id, session_id = recorded_mistake(site.client)
    with look() as visit:
        page = visit.page
        visit.open(f"{site.base}/sessions/{session_id}")
        page.locator(".note.warn").get_by_role("link", name="Make a test case").click()
        expect(page.get_by_text("What should have happened?").first).to_be_visible()
        page.get_by_label("This call was wrong: remove it").nth(1).check()
        page.get_by_label("Right answer").fill(LOST)
        page.get_by_role("button", name="Save the test case").click()
        expect(page.locator(".flash")).to_contain_text("The corrected test case is made.")
        expect(page.get_by_text("removed", exact=True)).to_be_visible()
        case = page.url

        run(page, "failed")
        expect(page.locator("main")).to_contain_text("a person removed the call")
        mend(site.client, prompt_id)
        page.goto(case)
        run(page, "passed")


def test_a_mistake_is_saved_as_recorded_only_after_the_page_has_listed_what_that_demands(
    site: Site, look: Look
) -> None:
    _, session_id = recorded_mistake(site.client)
    with look() as visit:
        page = visit.page
        visit.open(f"{site.base}/sessions/{session_id}/test-case")
        page.get_by_role("button", name="Save the test case").click()
        asked = page.get_by_role("alert").filter(has_text="Save it as recorded?")
        expect(asked).to_contain_text('Turn 1: calls refund {"order": "A-1"}')
        expect(asked).to_contain_text("answers “Refunded.”")

        page.get_by_role("button", name="Save as recorded").click()

        expect(page.locator(".flash")).to_have_text("The test case is made.")


def test_a_stored_test_case_can_be_corrected_and_what_is_no_json_is_refused(site: Site, look: Look) -> None:
    _, session_id = recorded_mistake(site.client)
    case = site.client.post(f"/api/v1/sessions/{session_id}/test-cases", {}).json()
    with look() as visit:
        page = visit.page
        visit.open(f"{site.base}/test-cases/{case['id']}")
        page.get_by_role("link", name="correct the recording").click()
        page.get_by_label(re.compile("Arguments, as JSON of step 2")).fill("{order}")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator("main")).to_contain_text("Turn 1, step 2: The arguments must be JSON.")
        visit.wrong.clear()  # Browsers name answers of 400 in the console.
        page.get_by_label(re.compile("Arguments, as JSON of step 2")).fill('{"order": "A-2"}')
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".flash")).to_have_text("Saved.")
        expect(page.get_by_text("corrected", exact=True)).to_be_visible()


def run(page: Page, status: str) -> None:
    page.get_by_role("button", name="Run", exact=True).click()
    look_again_until(page, page.locator("dl.facts .badge", has_text=status))


def recorded_mistake(client: Client) -> tuple[int, str]:
    """Return the ids of a prompt that may refund, and of a session with a low score in which it did."""
    prompt = {"name": "Support", "value": "Help.", "languageModelName": "demo-agent"}
    tools = {"languageModelConfig": {"tools": [tool("find"), tool("refund")]}}
    prompt_id = client.post("/api/v1/prompts", prompt | tools).json()["prompt"]["id"]
    turn = RecordedTurn("A-1", "Refunded.", (FIND, REFUND))
    batch = conversations.export(prompt_id, "mistake", [turn], start_ns=1_760_000_000_000_000_000)
    client.request("POST", "/api/public/otel/v1/traces", body=batch, headers={"Content-Type": "application/json"})
    (entry,) = client.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"]
    low = {
        "name": "helpful",
        "value": 0,
        "comment": "A lost order is not refunded.",
        "target": {"sessionId": entry["id"]},
    }
    assert client.post("/api/v1/scores", {"scores": [low]}).status == 200
    return prompt_id, entry["id"]


def mend(client: Client, prompt_id: int) -> None:
    changed = {"languageModelConfig": {"tools": [tool("find")]}}
    assert client.request("PATCH", f"/api/v1/prompts/{prompt_id}", payload=changed).status == 200


def tool(name: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
    return {"name": name, "description": "", "parameters": parameters}
