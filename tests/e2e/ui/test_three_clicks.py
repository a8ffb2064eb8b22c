"""Which conversations of yesterday went wrong, what did they cost, and did the new version make it better."""

from __future__ import annotations

import json
import re
import secrets
import time
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.ui.conftest import Look, Site
from tests.support.exports import export, span
from tests.support.waiting import wait_until

SESSIONS = 30
DAY_NS = 86_400 * 10**9


def turn(prompt_id: int, version: str, said: str, *, days_ago: int, failed: bool) -> dict[str, Any]:
    """A turn of so many days ago, of which a million tokens cost 15 cents."""
    messages = json.dumps([{"role": "user", "parts": [{"type": "text", "content": said}]}])
    start = time.time_ns() - days_ago * DAY_NS
    recorded = {
        "service.prompt.id": prompt_id,
        "service.prompt.version": version,
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.usage.input_tokens": 1_000_000,
        "gen_ai.input.messages": messages,
    }
    times = {"startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 10**9)}
    status = {"code": 2, "message": "429 Too many requests"} if failed else {}
    return span(recorded, traceId=secrets.token_hex(16), status=status, **times)


@pytest.fixture(scope="module")
def prompt_name(site: Site) -> str:
    """A prompt with a version of yesterday that failed in half of its sessions, and one of today that never did."""
    name, client = f"Refunds {secrets.token_hex(4)}", site.client
    new = {"name": name, "value": "Help.", "languageModelName": "echo"}
    path = f"/api/v1/prompts/{client.post('/api/v1/prompts', new).json()['prompt']['id']}"
    client.patch(path, {"value": "Help, and wait between calls."})
    assert client.post(f"{path}/commit", {"message": "Wait between calls"}).status == 201
    newer, older = (one["commitHash"] for one in client.get(f"{path}/versions").json()["versions"])
    prompt_id = int(path.rpartition("/")[2])
    turns = [
        turn(prompt_id, older, f"Yesterday's refund {n}", days_ago=1, failed=n < SESSIONS // 2) for n in range(SESSIONS)
    ]
    turns += [turn(prompt_id, newer, f"Today's refund {n}", days_ago=0, failed=False) for n in range(SESSIONS)]
    json_form = {"Content-Type": "application/json"}
    assert client.post("/api/public/otel/v1/traces", body=export(*turns), headers=json_form).status == 200

    def counted() -> int:
        groups = client.get(f"{path}/insight").json()["groups"]
        return sum(group["sessions"]["sessions"] for group in groups)

    wait_until(lambda: counted() == 2 * SESSIONS, "the counts of the sessions")
    return name


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 360])
def test_three_clicks_lead_from_the_start_page_to_the_answer(
    site: Site, look: Look, prompt_name: str, width: int
) -> None:
    with look(width=width) as visit:
        page = visit.page
        visit.open("/")
        expect(page).to_have_url(re.compile(r"/overview$"))

        page.get_by_role("link", name="Yesterday’s errors").click()
        failed = page.locator("tr.linked", has_text=prompt_name)
        expect(failed).to_have_count(SESSIONS // 2)
        for said in ("Yesterday's refund", "1 error", "$0.15"):
            expect(failed.first.get_by_text(said).filter(visible=True).first).to_be_visible()
        assert visit.accessibility_problems() == []

        page.get_by_role("link", name=prompt_name, exact=True).click()
        expect(page.get_by_text("It got better: fewer sessions with errors.")).to_be_visible()
        assert visit.accessibility_problems() == []

        page.locator("table a[href*='errors=true']").first.click()
        expect(page.locator("tr.linked")).to_have_count(SESSIONS // 2)
