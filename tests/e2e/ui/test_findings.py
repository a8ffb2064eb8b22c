"""Findings are worked off with the keyboard: from the list to one of them, and from session to session with a score."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import expect

from tests.e2e.ui.conftest import Look, Site
from tests.e2e.ui.work import seed_findings

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [1280, 390])
def test_a_finding_is_worked_off_with_the_keyboard(site: Site, look: Look, width: int) -> None:
    prompt_id, finding_id = seed_findings(site.client, f"Refund {width}", count=2)
    with look(width=width) as visit:
        page, keyboard = visit.page, visit.page.keyboard
        visit.open(f"{site.base}/prompts/{prompt_id}/findings")
        _shot(visit.page, f"findings-{width}")
        keyboard.press("j")
        expect(page.get_by_role("link", name=f"Refund {width} fails")).to_be_focused()
        keyboard.press("Enter")
        page.wait_for_url(f"**/prompts/{prompt_id}/findings/{finding_id}")
        keyboard.press("w")
        expect(page.locator(".facts .badge", has_text="in progress")).to_be_visible()
        assert visit.accessibility_problems() == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        _shot(visit.page, f"finding-{width}")
        page.fill("#score", "cause")
        page.fill("#choices", "tool, model")
        page.get_by_role("button", name="Change the score").click()
        page.wait_for_url("**choices=tool**")
        page.locator("h1").click()
        keyboard.press("a")
        page.wait_for_url("**/sessions/**")
        first = page.url
        expect(page.get_by_role("heading", name="cause")).to_be_visible()
        _shot(visit.page, f"annotated-{width}")
        keyboard.press("2")
        page.wait_for_url(lambda url: "/sessions/" in url and url != first and "go=" not in url)
        expect(page.get_by_text("cause: model")).to_be_visible()
        keyboard.press("1")
        page.wait_for_url(f"**/prompts/{prompt_id}/findings/{finding_id}?**")
        expect(page.get_by_text("The finding has no more sessions.")).to_be_visible()
        scores = site.client.get("/api/v1/scores?name=cause").json()["scores"]
        assert [(score["label"], score["source"]) for score in scores[:2]] == [("tool", "person"), ("model", "person")]
        keyboard.press("s")
        expect(page.locator(".facts .badge", has_text="solved")).to_be_visible()


def _shot(page: object, name: str) -> None:
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)  # type: ignore[attr-defined]
