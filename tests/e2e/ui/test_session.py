"""Reading a session in the browser: long texts, raw and rendered answers, more turns, keys."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.ui.conftest import JSON, Look, Site
from tests.support.exports import export
from tests.support.recorded import Turn, message

pytestmark = pytest.mark.browser
ANSWER = "It is **late** by two days."


@pytest.fixture(scope="module")
def long_session(site: Site) -> str:
    """The path of a session of 25 turns, each with an argument of many words."""
    made = site.client.post("/api/v1/prompts", {"name": "Long", "value": "Be kind."}).json()
    prompt_id = made["prompt"]["id"]
    turns = [
        Turn(prompt_id, 70 + number, "long")
        .tool("find", {"text": f"{'lorem ipsum ' * 500} the end of {number + 1}"}, {"found": [1, 2]})
        .chat([message("user", f"Question {number + 1}")], [message("assistant", ANSWER)])
        for number in range(25)
    ]
    batch = export(*(span for turn in turns for span in turn.spans))
    assert site.client.request("POST", "/api/public/otel/v1/traces", body=batch, headers=JSON).status == 200
    (entry,) = site.client.get(f"/api/v1/prompts/{prompt_id}/logs").json()["entries"]
    return f"{site.base}/sessions/{entry['id']}"


@contextmanager
def opened(look: Look, path: str, **options: object) -> Iterator[Page]:
    with look(**options) as visit:
        visit.open(path)
        yield visit.page


def test_a_long_text_is_shown_in_its_place(look: Look, long_session: str) -> None:
    with opened(look, long_session) as page:
        first = page.locator("#turn-1")
        first.get_by_role("link", name="Show all").click()

        expect(first).to_contain_text("the end of 1")
        expect(first.get_by_role("link", name="Show all")).to_have_count(0)


def test_an_answer_is_shown_as_it_was_written_and_rendered_again(look: Look, long_session: str) -> None:
    with opened(look, long_session) as page:
        first = page.locator("#turn-1")
        expect(first.locator("strong", has_text="late")).to_be_visible()

        first.get_by_text("Raw", exact=True).click()
        expect(first.get_by_text(ANSWER)).to_be_visible()
        expect(first.locator("strong", has_text="late")).to_be_hidden()

        first.get_by_text("Rendered", exact=True).click()
        expect(first.locator("strong", has_text="late")).to_be_visible()


def test_all_of_a_text_is_copied_where_its_beginning_is_shown(look: Look, long_session: str) -> None:
    with opened(look, long_session, permissions=["clipboard-read", "clipboard-write"]) as page:
        # The button shows this only for a moment, which ends when the test has seen it.
        page.clock.install()
        page.clock.pause_at(time.time() + 3600)
        page.get_by_role("button", name="Copy: Arguments in turn 1", exact=True).click()

        expect(page.get_by_text("Copied", exact=True)).to_be_visible()
        assert "the end of 1" in page.evaluate("navigator.clipboard.readText()")
        page.clock.run_for(1500)
        expect(page.get_by_text("Copied", exact=True)).to_have_count(0)


def test_later_turns_come_when_they_are_looked_at(look: Look, long_session: str) -> None:
    with opened(look, long_session) as page:
        expect(page.locator("#turn-1")).to_be_visible()
        page.locator("#turn-10").scroll_into_view_if_needed()

        expect(page.locator("#turn-11")).to_be_attached()
        expect(page.locator("#line-11 summary")).to_be_attached()


def test_j_and_k_go_from_turn_to_turn(look: Look, long_session: str) -> None:
    with opened(look, long_session) as page:
        page.wait_for_load_state()
        page.keyboard.press("j")
        expect(page.locator("#turn-1")).to_be_focused()
        page.keyboard.press("j")
        expect(page.locator("#turn-2")).to_be_focused()
        expect(page.locator("#turn-2-title")).to_be_in_viewport()

        page.keyboard.press("k")
        expect(page.locator("#turn-1")).to_be_focused()


def test_without_scripts_every_turn_is_reached_by_links(look: Look, long_session: str) -> None:
    with opened(look, long_session, java_script_enabled=False) as page:
        page.get_by_role("link", name="Later turns").click()
        expect(page.locator("#turn-11")).to_be_visible()
        page.locator("#line-25 > a").click()
        expect(page.locator("#turn-25")).to_be_visible()
        page.locator("#turn-25").get_by_role("link", name="Show all").click()
        expect(page.locator("[data-whole]")).to_contain_text("the end of 25")
        page.get_by_role("link", name="Back").click()
        expect(page.locator("#turn-25")).to_be_visible()


def test_a_text_that_is_written_from_right_to_left_begins_at_the_right(look: Look, site: Site) -> None:
    question, answer = "أين طلبي رقم A-1؟", "سيصل طلبك يوم الخميس.\n\nThe total is 149.90 EUR."
    made = site.client.post("/api/v1/prompts", {"name": "Arabic", "value": "كن لطيفا."}).json()
    turn = Turn(made["prompt"]["id"], 97, "arabic").chat([message("user", question)], [message("assistant", answer)])
    batch = export(*turn.spans)
    assert site.client.request("POST", "/api/public/otel/v1/traces", body=batch, headers=JSON).status == 200
    (entry,) = site.client.get(f"/api/v1/prompts/{made['prompt']['id']}/logs").json()["entries"]

    with opened(look, f"{site.base}/sessions/{entry['id']}") as page:
        for shown in (page.get_by_role("heading", level=1), page.locator("#turn-1 .text").first):
            assert shown.evaluate("element => getComputedStyle(element).direction") == "rtl"
    with opened(look, f"{site.base}/prompts/{made['prompt']['id']}") as page:
        assert page.locator("#value").evaluate("element => getComputedStyle(element).direction") == "rtl"


def test_keys_rate_the_sessions_of_a_list_one_after_the_other(site: Site, look: Look) -> None:
    with look() as visit:
        page = visit.page
        visit.open(f"{site.base}/sessions?sort=oldest")
        page.locator("tr.linked th a").first.click()
        first = page.url
        page.get_by_label("Then show the next session").check()
        page.locator("h1").click()
        page.keyboard.press("-")

        expect(page.locator(".toasts")).to_contain_text("The session is rated bad.")
        expect(page).not_to_have_url(first)
        expect(page.get_by_label("Then show the next session")).to_be_checked()
        assert visit.accessibility_problems() == []
