"""The editor as the daily place: all of it in one view, asked and saved without leaving it."""

from __future__ import annotations

import base64
import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.e2e.ui.conftest import Look, Site
from tests.e2e.ui.test_work import commit, make_prompt
from tests.support.browser import Visit

pytestmark = pytest.mark.browser
LONG = "\n\n".join(f"# Part {number}\n\nA line of the prompt, as long as lines of prompts are." for number in range(60))


def opened(site: Site, visit: Visit, name: str, text: str = LONG) -> Page:
    """Open the editor of a new prompt and wait for its script."""
    page = make_prompt(site, visit, name, text)
    expect(page.locator("html.scripted")).to_be_attached()
    return page


def answer(page: Page, of: str = "result") -> Locator:
    return page.locator(f"#{of} .answer-text")


def in_sight(element: Locator) -> None:
    """The whole element is inside the window."""
    expect(element).to_be_in_viewport(ratio=0.99)


def test_text_rendering_question_and_answer_are_in_one_view(site: Site, look: Look) -> None:
    with look() as visit:
        page = opened(site, visit, "One view")
        page.get_by_label("Question").fill("Are you there?")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(answer(page)).to_contain_text("Are you there?")

        page.get_by_label("Text").fill("Another text.")
        expect(page.locator("[data-unsaved-badge]")).to_be_visible()
        for element in (page.get_by_label("Text"), answer(page), page.get_by_label("Question")):
            in_sight(element)
        in_sight(page.get_by_role("button", name="Commit", exact=True))
        expect(page.get_by_label("The exact instruction")).to_be_in_viewport()
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        assert visit.accessibility_problems() == []


def test_saving_by_its_key_keeps_the_place(site: Site, look: Look) -> None:
    with look() as visit:
        page = opened(site, visit, "Place", "First")
        text = page.get_by_label("Text")
        text.focus()
        page.keyboard.press("Control+End")
        page.keyboard.type(" and last")
        page.keyboard.press("Control+s")
        expect(page.locator(".flash")).to_have_text("The draft is saved.")
        expect(page.locator("[data-unsaved-badge]")).to_be_hidden()
        expect(text).to_be_focused()

        page.keyboard.type("ing")
        expect(text).to_have_value("First and lasting")
        expect(page.locator("[data-unsaved-badge]")).to_be_visible()
        page.keyboard.press("Control+z")
        expect(text).not_to_have_value("First and lasting")
        page.keyboard.press("Control+s")
        expect(page.locator("[data-unsaved-badge]")).to_be_hidden()


def test_several_turns_are_asked_by_keys_and_the_last_one_again(site: Site, look: Look) -> None:
    with look() as visit:
        page = opened(site, visit, "Turns")
        for question in ("One", "Two"):
            page.get_by_label("Question").fill(question)
            page.keyboard.press("Control+Enter")
            expect(answer(page)).to_contain_text(question)
            expect(page.get_by_label("Question")).to_have_value("")
        expect(page.locator(".talk .text")).to_have_text(["One", "One", "Two", "Two"])

        page.get_by_label("Text").fill("Another text")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#instruction pre")).to_contain_text("Another text")
        expect(page.locator("[data-unsaved-badge]")).to_be_hidden()
        expect(page.locator(".talk .text")).to_have_text(["One", "One", "Two", "Two"])

        page.get_by_role("button", name="New conversation").click()
        expect(page.locator(".talk")).to_have_count(0)
        expect(page.get_by_label("Text")).to_have_value("Another text")


def test_what_is_written_while_the_answer_is_on_its_way_stays(site: Site, look: Look) -> None:
    held: list[Route] = []
    with look() as visit:
        page = opened(site, visit, "Waiting", "Help.")
        page.route(re.compile("/edit"), lambda route: route.continue_() if held else held.append(route))
        question = page.get_by_label("Question")
        question.fill("Are you there?")
        with page.expect_request(re.compile("/edit")):
            page.get_by_role("button", name="Ask", exact=True).click()
        question.fill("And now?")
        held[0].continue_()
        expect(answer(page)).to_contain_text("Are you there?")

        expect(question).to_have_value("And now?")


def test_what_is_written_before_the_script_has_come_counts_as_unsaved(site: Site, look: Look) -> None:
    held: list[Route] = []
    with look() as visit:
        page = opened(site, visit, "Early", "One text")
        commit(page, "One text")
        page.route(re.compile("/editor[.].*js$"), lambda route: held.append(route))
        with page.expect_request(re.compile("/editor[.].*js$")):
            page.goto(page.url, wait_until="commit")
        page.get_by_label("Text").fill("Another text")
        held[0].continue_()

        expect(page.locator("[data-unsaved-badge]")).to_be_visible()
        expect(page.locator("#instruction pre")).to_contain_text("Another text")
        expect(page.get_by_role("button", name="Commit", exact=True)).to_be_enabled()


def test_a_version_answers_next_to_the_draft(site: Site, look: Look) -> None:
    with look() as visit:
        page = opened(site, visit, "Beside", "One text")
        commit(page, "The first text")
        page.get_by_label("Also ask").select_option(index=1)
        page.get_by_label("Question").fill("Are you there?")
        page.keyboard.press("Control+Enter")

        for of in ("result", "result-beside"):
            expect(answer(page, of)).to_contain_text("Are you there?")
            in_sight(answer(page, of))
        expect(page.get_by_label("Text")).to_be_in_viewport()
        assert visit.accessibility_problems() == []
        assert not visit.wider_than_the_screen()


def test_enter_in_the_message_commits_and_in_another_field_saves(site: Site, look: Look) -> None:
    with look() as visit:
        page = opened(site, visit, "By Enter", "One text")
        page.get_by_label("Commit message").fill("The second text")
        page.get_by_label("Text").fill("Second text")
        page.get_by_label("Temperature").fill("0.5")
        page.get_by_label("Temperature").press("Enter")
        expect(page.locator(".flash")).to_have_text("The draft is saved.")
        expect(page.locator(".states")).to_contain_text("never committed")

        page.get_by_label("Commit message").press("Enter")
        expect(page.locator(".flash")).to_have_text("Committed.")
        expect(page.locator(".states")).not_to_contain_text("never committed")
        expect(page.get_by_label("Commit message")).to_have_value("")
        expect(page.get_by_role("button", name="Commit", exact=True)).to_be_disabled()


def test_a_missing_placeholder_is_defined_from_its_warning_and_removed(site: Site, look: Look) -> None:
    with look() as visit:
        page = opened(site, visit, "Define", "Speak {{language}} to {{ reader }}.")
        expect(page.locator(".behind mark.undefined")).to_have_text(["{{language}}", "{{ reader }}"])
        page.get_by_role("button", name="Define").click()
        expect(page.get_by_label("Name of value 1").first).to_be_focused()
        page.keyboard.type("french")
        page.get_by_label("Content of value 1").first.fill("French")

        expect(page.locator("#instruction pre")).to_contain_text("Speak French")
        page.get_by_role("button", name="Remove language").click()
        expect(page.get_by_text("No placeholder defines")).to_be_visible()
        expect(page.locator("[data-placeholder]")).to_have_count(1)


def test_a_placeholder_s_summary_follows_what_is_written(site: Site, look: Look) -> None:
    with look() as visit:
        page = opened(site, visit, "Summary", "Be {{tone}}.")
        page.get_by_role("button", name="Define {{tone}}").click()
        summary = page.locator("[data-placeholder] summary").first
        expect(summary).to_have_text("{{tone}} no value yet")

        for number, name in enumerate(("kind", "formal", "short", "plain", "loud"), 1):
            page.get_by_label(f"Name of value {number}", exact=True).first.fill(name)
        expect(summary).to_have_text("{{tone}} kind, formal, short, plain, … · default kind")
        page.locator("[data-placeholder]").first.get_by_label("no default").check()
        expect(summary).to_have_text("{{tone}} kind, formal, short, plain, … · no default")
        page.locator('[name="placeholder.0.key"]').fill("style")
        expect(summary).to_have_text("{{style}} kind, formal, short, plain, … · no default")

        page.keyboard.press("Control+s")
        expect(page.locator("[data-unsaved-badge]")).to_be_hidden()
        page.reload()
        expect(summary).to_have_text("{{style}} kind, formal, short, plain, … · no default")


def test_a_refusal_is_shown_at_its_field_which_has_the_focus(site: Site, look: Look) -> None:
    with look() as visit:
        page = opened(site, visit, "Refused", "Be {{tone}}.")
        for key in ("left_empty", "tone"):
            page.locator("[data-placeholder] summary").last.click()
            page.locator(".blank [name$='.key']").fill(key)
        for group in page.locator("[data-placeholder]").all()[:2]:
            group.locator("textarea").first.fill("gone")
            group.locator("textarea").nth(1).fill("Be kind.")
            group.locator("textarea").first.fill("")
        empty, tone = page.locator("[data-placeholder]").all()[:2]
        empty.locator("textarea").nth(1).fill("")
        empty.get_by_label("Key").fill("")
        tone.get_by_text("{{tone}}").click()
        page.get_by_label("Temperature").fill("hot")
        with page.expect_response(re.compile("/edit")) as refused:
            page.keyboard.press("Control+s")
        assert refused.value.status == 400

        expect(page.locator("#notices")).to_have_text("Temperature: Must be a number.")
        expect(page.get_by_label("Temperature")).to_be_focused()
        page.get_by_label("Temperature").fill("0.5")
        expect(page.locator(".refused")).to_have_count(0)
        page.keyboard.press("Control+s")

        name = tone.get_by_label("Name of value 2")
        expect(page.locator("#notices li")).to_have_text(re.compile("^Placeholder “tone”, value 1, name: "))
        expect(name).to_be_focused()
        expect(name).to_have_attribute("aria-invalid", "true")
        expect(page.locator(".refused")).to_have_count(1)
        expect(name).to_have_accessible_description(re.compile("^name: Length must be"))
        assert visit.accessibility_problems() == []

        name.fill("kind")
        expect(page.locator(".refused, [aria-invalid]")).to_have_count(0)
        page.keyboard.press("Control+s")
        expect(page.locator(".flash")).to_have_text("The draft is saved.")
        visit.wrong.clear()  # Browsers name answers of 400 in the console.


def test_a_message_that_a_script_receives_is_shown(site: Site, look: Look) -> None:
    with look() as visit:
        page = opened(site, visit, "Told")
        kept = base64.urlsafe_b64encode(b'["The other tab says hello.","done",""]').decode().rstrip("=")
        page.context.add_cookies([{"name": "reprise_flash", "value": kept, "url": site.server.url}])

        page.keyboard.press("Control+k")
        # At once: a further letter after the answer would make the message leave.
        page.get_by_role("dialog", name="Go to").get_by_role("searchbox").fill("Told")

        expect(page.locator(".flash")).to_contain_text("The other tab says hello.")
        page.get_by_role("button", name="Dismiss").dispatch_event("click")
        expect(page.locator(".flash")).to_have_count(0)


def test_a_message_that_two_answers_bring_at_once_is_shown_once(site: Site, look: Look) -> None:
    message = '<p class="flash done">Saved.<button data-dismiss hidden>Dismiss</button></p>'
    with look() as visit:
        visit.open(f"{site.base}/prompts")
        visit.page.evaluate("page => { html(page); html(page); }", f'<div class="toasts" role="status">{message}</div>')

        expect(visit.page.locator(".flash")).to_be_visible()
        expect(visit.page.locator(".flash")).to_have_count(1)


def test_on_a_phone_committing_is_within_reach(site: Site, look: Look) -> None:
    with look(width=360) as visit:
        page = opened(site, visit, "Small")
        in_sight(page.get_by_role("button", name="Commit", exact=True))
        in_sight(page.get_by_label("Commit message"))
        assert not visit.wider_than_the_screen()


def test_what_could_not_be_sent_is_reported_and_stays(site: Site, look: Look) -> None:
    with look() as visit:
        page = opened(site, visit, "Offline", "One text")
        page.get_by_label("Text").fill("Mine")
        page.context.set_offline(True)
        page.keyboard.press("Control+s")
        expect(page.get_by_role("alert")).to_contain_text("What you wrote is still here")
        expect(page.locator("[data-unsaved-badge]")).to_be_visible()

        page.context.set_offline(False)
        page.keyboard.press("Control+s")
        expect(page.locator(".flash")).to_have_text("The draft is saved.")
        visit.wrong[:] = [said for said in visit.wrong if "ERR_INTERNET_DISCONNECTED" not in said]


def test_an_expired_sign_in_leads_to_the_sign_in_and_the_draft_is_saved_afterwards(site: Site, look: Look) -> None:
    with look() as visit:
        page = opened(site, visit, "Expired", "First")
        session = [cookie for cookie in page.context.cookies() if cookie["name"] == "reprise_session"]
        page.context.clear_cookies(name="reprise_session")
        page.get_by_label("Text").fill("Written before the sign-in expired")
        page.keyboard.press("Control+s")

        link = page.get_by_role("alert").get_by_role("link", name="Sign in in another tab")
        expect(link).to_be_visible()
        assert visit.accessibility_problems() == []
        with page.expect_popup() as opening:
            link.click()
        other = opening.value
        other.fill("#email", site.known["ADMIN_EMAIL"])
        other.fill("#password", site.known["ADMIN_PASSWORD"])
        other.get_by_role("button", name="Sign in").click()
        other.wait_for_url("**/projects/**")
        assert session != [cookie for cookie in page.context.cookies() if cookie["name"] == "reprise_session"]

        page.keyboard.press("Control+s")
        expect(page.locator(".flash", has_text="The draft is saved.")).to_be_visible()
        page.reload()
        expect(page.get_by_label("Text")).to_have_value("Written before the sign-in expired")


def test_the_choice_of_a_long_value_stays_within_the_preview(site: Site, look: Look) -> None:
    names = ("The name of a value that is longer than its pane", "Ada")
    values = [{"name": name, "content": name, "isDefault": name != "Ada"} for name in names]
    prompt = {
        "name": "Wide",
        "value": "Help {{customer_name}}.",
        "placeholders": [{"key": "customer_name", "values": values}],
    }
    made = site.client.post("/api/v1/prompts", prompt).json()["prompt"]["id"]
    with look() as visit:
        visit.open(f"{site.base}/prompts/{made}/edit")

        expect(visit.page.locator("#choices select")).to_be_visible()
        assert visit.page.locator(".rendered").evaluate("pane => pane.scrollWidth - pane.clientWidth") == 0


@pytest.mark.parametrize("width", [1280, 1440])
def test_the_preview_is_folded_for_a_wider_text(site: Site, look: Look, width: int) -> None:
    with look(width=width) as visit:
        page = opened(site, visit, f"Folded {width}", "Text")
        before = page.get_by_label("Text").bounding_box()
        page.locator(".rendered > summary").click()
        expect(page.get_by_label("The exact instruction")).to_be_hidden()
        after = page.get_by_label("Text").bounding_box()

        assert before
        assert after
        assert after["width"] > before["width"] * 1.2
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        assert visit.accessibility_problems() == []


@pytest.mark.parametrize("height", [800, 600])
def test_the_text_next_to_two_conversations_ends_above_its_hint(site: Site, look: Look, height: int) -> None:
    with look() as visit:
        visit.page.set_viewport_size({"width": 1280, "height": height})
        page = opened(site, visit, f"Two columns at {height}")
        page.get_by_label("Also ask").select_option(index=1)

        draft, hint = page.locator(".draft").bounding_box(), page.locator("#value-hint").bounding_box()
        assert draft
        assert hint
        assert hint["y"] + hint["height"] <= draft["y"] + draft["height"]
        in_sight(page.get_by_label("Text"))
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
