"""Stopping a model that writes: in the editor, on the run's page, by keys and without scripts."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.ui.conftest import Look, Site
from tests.e2e.ui.test_work import make_prompt
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply

pytestmark = pytest.mark.browser
MODEL = "slow-writer"
TEXT = "one two three four five six seven eight nine ten"


@pytest.fixture(scope="module")
def slow(site: Site, shared_look: Look) -> Iterator[Callable[[], threading.Event]]:
    """Makes the next answer of a model wait after its first words, until the returned event is set."""
    with Upstream() as upstream:
        with shared_look() as visit:
            visit.open(f"{site.base}/settings/models")
            visit.page.fill("#name", MODEL)
            visit.page.fill("#baseUrl", upstream.base_url("CUSTOM_OPENAI_COMPATIBLE"))
            visit.page.click("text=Add the model")
            visit.page.wait_for_selector("text=can be used in prompts")
        rests: list[threading.Event] = []

        def script() -> threading.Event:
            rests.append(threading.Event())
            upstream.reset()
            upstream.script(Reply(text=TEXT, held=rests[-1], cut_after=4))
            return rests[-1]

        yield script
        for rest in rests:
            rest.set()


def asked(page: Page, question: str) -> None:
    page.get_by_label("Question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def stop(page: Page) -> None:
    page.get_by_role("button", name="Stop", exact=True).click()


def test_an_answer_is_stopped_where_it_is_written_and_stays(
    site: Site, look: Look, slow: Callable[[], threading.Event]
) -> None:
    with look() as visit:
        page = make_prompt(site, visit, "Stopped", "Help.", model=MODEL)
        expect(page.locator("html.scripted")).to_be_attached()
        expect(page.get_by_role("button", name="Stop", exact=True)).to_be_hidden()
        slow()
        asked(page, "How long is it?")
        expect(page.locator("#result")).to_contain_text("one")
        page.get_by_label("Text").fill("Not saved.")
        top = page.get_by_label("Text").bounding_box()
        loads = page.evaluate("performance.getEntriesByType('navigation')[0].startTime + performance.timeOrigin")
        assert visit.accessibility_problems() == []
        stop(page)

        expect(page.locator("#result .badge")).to_have_text("cancelled")
        expect(page.locator("#result .answer-text")).to_contain_text("one")
        expect(page.locator("#result .answer-text")).not_to_contain_text("ten")
        expect(page.locator("#result > .quiet")).to_have_text("It was cancelled; the model had written this:")
        expect(page.get_by_role("button", name="Stop", exact=True)).to_be_hidden()
        expect(page.get_by_label("Question")).to_be_focused()
        expect(page.locator(".toasts .flash")).to_have_text("The model stops.")
        assert page.get_by_label("Text").bounding_box() == top, "the message moves nothing"
        expect(page.get_by_label("Text")).to_have_value("Not saved.")
        expect(page.locator("[data-unsaved-badge]")).to_be_visible()
        assert loads == page.evaluate(
            "performance.getEntriesByType('navigation')[0].startTime + performance.timeOrigin"
        )
        assert visit.accessibility_problems() == []


def test_the_conversation_goes_on_after_a_stop(site: Site, look: Look, slow: Callable[[], threading.Event]) -> None:
    with look() as visit:
        page = make_prompt(site, visit, "Gone on", "Help.", model=MODEL)
        slow()
        asked(page, "First?")
        expect(page.locator("#result")).to_contain_text("one")
        page.get_by_role("button", name="Stop", exact=True).focus()
        page.keyboard.press("Enter")
        expect(page.locator("#result .badge")).to_have_text("cancelled")
        page.keyboard.type("Second?")
        page.keyboard.press("Control+Enter")

        expect(page.locator("#result [role=status]")).to_contain_text("OK")
        expect(page.locator(".talk .text").first).to_have_text("First?")


def test_an_answer_that_ends_gives_the_focus_of_its_stop_to_the_question(
    site: Site, look: Look, slow: Callable[[], threading.Event]
) -> None:
    with look() as visit:
        page = make_prompt(site, visit, "Ended", "Help.", model=MODEL)
        rest = slow()
        asked(page, "How long is it?")
        expect(page.locator("#result")).to_contain_text("one")
        page.get_by_role("button", name="Stop", exact=True).focus()
        rest.set()

        expect(page.locator("#result [role=status]")).to_contain_text("OK")
        expect(page.get_by_label("Question")).to_be_focused()


def test_a_run_is_stopped_on_its_page(site: Site, look: Look, slow: Callable[[], threading.Event]) -> None:
    with look() as visit:
        page = make_prompt(site, visit, "On its page", "Help.", model=MODEL)
        slow()
        asked(page, "How long is it?")
        expect(page.locator("#result")).to_contain_text("one")
        page.get_by_role("link", name="Open the run").click()
        stop(page)

        expect(page.locator(".flash")).to_have_text("The model stops.")
        expect(page.locator("#result .badge")).to_have_text("cancelled")
        expect(page.locator("#result .answer-text")).to_contain_text("one")
        expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
        expect(page.get_by_role("link", name="Make a test case")).to_have_count(0)
        assert visit.accessibility_problems() == []


def test_without_scripts_a_stop_keeps_what_is_not_saved(
    site: Site, look: Look, slow: Callable[[], threading.Event]
) -> None:
    with look(java_script_enabled=False) as visit:
        page = make_prompt(site, visit, "Plain stop", "Help.", model=MODEL)
        slow()
        asked(page, "How long is it?")
        page.get_by_label("Text").fill("Not saved.")
        stop(page)
        expect(page.locator("#notices")).to_have_text(re.compile("The model stops."))
        expect(page.get_by_label("Text")).to_have_value("Not saved.")

        page.get_by_role("link", name="Open the run").click()
        while page.locator("#result .badge").inner_text() in ("running", "waiting"):
            page.reload()
        expect(page.locator("#result .badge")).to_have_text("cancelled")


# Keeps the states of the run that screen readers read out, in their order.
WATCH_STATES = """() => {
  const region = document.querySelector("#result [role=status]");
  window.states = [];
  const changes = new MutationObserver(() => window.states.push(region.innerText.trim()));
  changes.observe(region, { childList: true, subtree: true, characterData: true });
}"""


def is_get(route: Route) -> bool:
    return route.request.method == "GET"


def test_the_state_is_cancelling_before_the_server_has_answered(
    site: Site, look: Look, slow: Callable[[], threading.Event]
) -> None:
    with look() as visit:
        page = make_prompt(site, visit, "Cancelling", "Help.", model=MODEL)
        slow()
        asked(page, "How long is it?")
        expect(page.locator("#result")).to_contain_text("one")
        page.evaluate(WATCH_STATES)
        held: list[Route] = []
        page.route("**/edit*", lambda route: route.continue_() if is_get(route) else held.append(route))
        with page.expect_request("**/edit*"):
            stop(page)

        expect(page.locator("#result [role=status] .badge")).to_have_text("Cancelling…")
        expect(page.locator("#result .waiting")).to_be_hidden()
        assert page.evaluate("window.states")[0].startswith("Cancelling…")
        stop(page)
        assert len(held) == 1, "a second press sends nothing"
        held[0].continue_()
        expect(page.locator("#result .badge")).to_have_text("cancelled")
        assert not any("running" in state for state in page.evaluate("window.states"))


def test_a_stop_that_fails_is_taken_back(site: Site, look: Look, slow: Callable[[], threading.Event]) -> None:
    with look() as visit:
        page = make_prompt(site, visit, "Not stopped", "Help.", model=MODEL)
        rest = slow()
        asked(page, "How long is it?")
        expect(page.locator("#result")).to_contain_text("one")
        page.route("**/edit*", lambda route: route.fulfill(status=503, body="<h1>Not now</h1>"))
        stop(page)

        expect(page.locator("#notices")).to_contain_text("The model was not stopped: Not now.")
        expect(page.locator("#result .badge")).to_have_text("running")
        page.unroute("**/edit*")
        rest.set()
        expect(page.locator("#result [role=status]")).to_contain_text("OK")
        visit.wrong.clear()  # the browser logs the answer 503


def test_the_page_of_a_run_shows_that_it_is_cancelling_before_the_server_has_answered(
    site: Site, look: Look, slow: Callable[[], threading.Event]
) -> None:
    with look() as visit:
        page = make_prompt(site, visit, "Cancelling on its page", "Help.", model=MODEL)
        slow()
        asked(page, "How long is it?")
        expect(page.locator("#result")).to_contain_text("one")
        page.get_by_role("link", name="Open the run").click()
        page.evaluate(
            "onpagehide = () => { sessionStorage.left = document.querySelector('#result .badge').innerText; }"
        )
        stop(page)

        expect(page.locator("#result .badge")).to_have_text("cancelled")
        assert page.evaluate("sessionStorage.left") == "Cancelling…"
