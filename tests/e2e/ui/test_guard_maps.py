"""A guard map on the pages: its forecast, its start, and the states in the margin of the text."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.e2e.ui.conftest import Look, Site
from tests.e2e.ui.test_first_screen import add_model
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply

pytestmark = pytest.mark.browser
GREET, HIDE, BRIEF = "Always greet the customer.", "Never reveal the code.", "Answer in one line."
TEXT = f"# Support\n\nYou are the agent of the shop.\n{GREET} {HIDE}\n\n- {BRIEF}\n"
CASES = {"Good morning": "Hello", "What is the code?": "I can't show it."}


def follow(body: dict[str, Any]) -> Reply:
    instruction, question = body["messages"][0]["content"], body["messages"][-1]["content"]
    if "code" in question:
        return Reply(text=CASES[question] if HIDE in instruction else "It is 1234.")
    return Reply(text=CASES[question] if GREET in instruction else "What?")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_map_is_started_and_read_on_its_pages(site: Site, look: Look, width: int) -> None:
    with Upstream() as upstream, look(width=width) as visit:
        upstream.choose = follow
        name = f"follower {width}"
        add_model(visit, site, upstream.base_url("CUSTOM_OPENAI_COMPATIBLE"), name)
        prompt = {"name": name, "value": TEXT, "languageModelName": name}
        prompt_id = site.client.post("/api/v1/prompts", prompt).json()["prompt"]["id"]
        path = f"/api/v1/prompts/{prompt_id}/test-cases"
        for question, expected in CASES.items():
            assert site.client.post(path, {"question": question, "expectedAnswer": expected}).status == 201

        visit.open(f"{site.base}/prompts/{prompt_id}/test-cases")
        visit.page.get_by_role("link", name="Guard maps").click()
        visit.page.get_by_text("The draft has 4 sentences. With all 2 test cases a map plays").wait_for()
        visit.page.fill("#lines", "3-9")
        visit.page.get_by_role("button", name="Start", exact=True).click()

        guards = visit.page.locator(".guards > li")
        visit.page.locator(".facts .badge", has_text="finished").wait_for()
        states = [item.inner_text().split()[0] for item in guards.all()]
        assert states[1:] == ["no", "guarded", "guarded", "no"]
        assert guards.nth(2).get_by_role("link").inner_text() == "Good morning"
        assert "Line 4" in guards.nth(2).inner_text()
        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        visit.open(f"{site.base}/prompts/{prompt_id}/edit")
        visit.page.get_by_text("2 sentences guarded by test cases, 0 unguarded").wait_for()
        if folder := os.environ.get("SHOTS"):
            visit.page.screenshot(path=f"{folder}/edit-{width}.png")


def test_lines_that_are_none_are_refused_and_stay_in_the_form(site: Site, look: Look) -> None:
    with look() as visit:
        visit.open(f"{site.base}/prompts/{site.prompt_id}/guard-maps")
        visit.page.fill("#lines", "first")
        visit.page.get_by_role("button", name="Start", exact=True).click()
        visit.page.get_by_text("Lines: Write a line, or two of them such as 10-25.").wait_for()
        assert visit.page.input_value("#lines") == "first"
        visit.wrong.clear()  # Browsers name answers of 400 in the console.


def test_a_map_of_a_text_that_passes_no_test_case_names_that(site: Site, look: Look) -> None:
    with look() as visit:
        visit.open(f"{site.base}/guard-maps/{site.work['map']}")

        visit.page.get_by_text("The text itself passes none of the test cases").wait_for(timeout=60_000)


def test_a_map_with_undecided_sentences_shows_why_and_leads_to_another_map(site: Site, look: Look) -> None:
    started = site.client.post(f"/api/v1/prompts/{site.prompt_id}/guard-maps", {"maxReplays": 1, "reuse": False})
    assert started.status == 202, started.text
    with look() as visit:
        visit.open(f"{site.base}/guard-maps/{started.json()['id']}")

        reason = "Its replays were too few, ended with errors, need a person’s review or contradicted each other."
        visit.page.get_by_text(reason).first.wait_for(timeout=60_000)
        visit.page.get_by_role("link", name="start another map").click()
        visit.page.get_by_role("heading", name="Start a guard map").wait_for(timeout=60_000)


def test_a_prompt_without_test_cases_leads_to_them(site: Site, look: Look) -> None:
    prompt_id = site.client.post("/api/v1/prompts", {"name": "Untested", "value": "Help."}).json()["prompt"]["id"]
    with look() as visit:
        visit.open(f"{site.base}/prompts/{prompt_id}/guard-maps")

        visit.page.get_by_role("link", name="Show the test cases").click()
        visit.page.wait_for_url("**/test-cases")
