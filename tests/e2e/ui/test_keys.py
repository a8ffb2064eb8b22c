"""Pages by the keyboard: the palette, and the list of keys."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Route, expect

from tests.e2e.ui.conftest import Look, Site

pytestmark = pytest.mark.browser


def test_the_palette_goes_to_pages_and_to_prompts_by_name(site: Site, look: Look) -> None:
    made = site.client.post("/api/v1/prompts", {"name": "Palette target", "value": "Be kind."}).json()
    with look() as visit:
        page = visit.page
        visit.open(f"{site.base}/usage")
        page.keyboard.press("Control+k")
        palette = page.get_by_role("dialog", name="Go to")
        expect(palette.get_by_role("link", name="Download as CSV")).to_be_visible()
        page.keyboard.type("palette tar")
        expect(palette.get_by_role("link", name="Palette target")).to_be_visible()
        assert visit.accessibility_problems() == []
        page.keyboard.press("ArrowDown")
        expect(palette.get_by_role("link", name="Palette target")).to_be_focused()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/prompts/{made['prompt']['id']}/edit")

        page.keyboard.press("Control+k")
        page.keyboard.type("rejec")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Rejected spans", level=1)).to_be_visible()


def test_the_palette_goes_to_pages_of_the_settings_and_searches_sessions(site: Site, look: Look) -> None:
    with look() as visit:
        page = visit.page
        visit.open(f"{site.base}/usage")
        page.keyboard.press("Control+k")
        page.keyboard.type("audit")
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="Audit log")).to_have_attribute("aria-current", "page")

        page.keyboard.press("Control+k")
        palette = page.get_by_role("dialog", name="Go to")
        page.keyboard.type("no such prompt")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**{site.base}/sessions?q=no%20such%20prompt")

        page.keyboard.press("Control+k")
        page.keyboard.type("lost & found")
        expect(palette.get_by_role("status")).to_have_text("Nothing has this name.")
        expect(palette.get_by_role("link")).to_have_text("Search sessions for “lost & found”")


def test_prompts_that_are_found_late_leave_the_focus_where_it_is(site: Site, look: Look) -> None:
    site.client.post("/api/v1/prompts", {"name": "Usage of the late", "value": "Be kind."})
    held: list[Route] = []
    with look() as visit:
        page = visit.page
        visit.open(f"{site.base}/prompts")
        page.route(re.compile("search=usage"), lambda route: held.append(route))
        page.keyboard.press("Control+k")
        palette = page.get_by_role("dialog", name="Go to")
        with page.expect_request(re.compile("search=usage")):
            palette.get_by_role("searchbox").fill("usage")
        page.keyboard.press("ArrowDown")
        expect(palette.get_by_role("link", name="Usage", exact=True)).to_be_focused()
        held[0].continue_()

        expect(palette.get_by_role("link", name="Usage of the late")).to_be_visible()
        expect(palette.get_by_role("link", name="Usage", exact=True)).to_be_focused()


def test_a_question_mark_lists_the_keys_but_not_while_one_types(site: Site, look: Look) -> None:
    with look() as visit:
        page = visit.page
        visit.open(f"{site.base}/prompts")
        keys = page.get_by_role("dialog", name="Keys")
        page.keyboard.press("/")
        page.keyboard.press("?")
        expect(page.locator("#search")).to_have_value("?")
        expect(keys).to_have_count(0)

        page.locator("#search").blur()
        page.keyboard.press("?")
        expect(keys).to_contain_text("Next turn of a session")
        expect(keys.get_by_role("heading", name="Keys")).to_be_focused()
        assert visit.accessibility_problems() == []
        page.keyboard.press("Escape")
        expect(keys).to_have_count(0)


def test_the_palette_presses_the_buttons_of_the_page_that_need_no_text(site: Site, look: Look) -> None:
    with look() as visit:
        page = visit.page
        visit.open(f"{site.base}/prompts/{site.prompt_id}/edit")
        palette = page.get_by_role("dialog", name="Go to")
        page.keyboard.press("Control+k")
        expect(palette.get_by_role("button", name="Save draft")).to_be_visible()
        expect(palette.get_by_role("button", name="Render")).to_have_count(0)
        assert visit.accessibility_problems() == []

        page.locator("dialog[open] input").press("Escape")
        page.fill("#value", "Be kind. {{name}}")
        page.keyboard.press("Control+k")
        page.keyboard.type("save dr")
        page.keyboard.press("Enter")

        expect(page.get_by_text("The draft is saved.")).to_be_visible()
        visit.open(f"{site.base}/prompts/new")
        page.keyboard.press("Control+k")
        expect(palette.get_by_role("button")).to_have_count(0)
