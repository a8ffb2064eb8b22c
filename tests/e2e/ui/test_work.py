"""From a new prompt to a replay that passes, as a person walks it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.ui.conftest import Look, Site
from tests.support.browser import Visit, look_again_until
from tests.support.exports import export, span

pytestmark = pytest.mark.browser


def make_prompt(site: Site, visit: Visit, name: str, text: str, model: str = "") -> Page:
    """A new prompt; the page is its editor."""
    visit.open(f"{site.base}/prompts/new")
    page = visit.page
    page.get_by_label("Name").fill(name)
    page.get_by_label("Text").fill(text)
    if model:
        page.get_by_label("Model", exact=True).select_option(model)
    page.get_by_role("button", name="Create prompt").click()
    expect(page.locator(".flash")).to_have_text(f"Created {name}.")
    return page


def prompt_id(page: Page) -> int:
    return int(re.search(r"/prompts/(\d+)", page.url)[1])  # type: ignore[index]


def save(page: Page) -> None:
    page.get_by_role("button", name="Save draft").click()
    expect(page.locator(".flash")).to_have_text("The draft is saved.")


def test_a_prompt_is_written_seen_rendered_tried_and_committed(site: Site, look: Look) -> None:
    with look() as visit:
        page = make_prompt(site, visit, "Writer", "# Role\nWrite for {{reader}}.")
        instruction = page.locator("#instruction pre")
        expect(page.locator(".behind mark.undefined")).to_have_text("{{reader}}")
        expect(page.get_by_text("No placeholder defines")).to_be_visible()

        page.get_by_text("Add a placeholder").click()
        page.get_by_role("textbox", name="Key", exact=True).first.fill("reader")
        page.get_by_label("Name of value 1").first.fill("child")
        page.get_by_label("Content of value 1").first.fill("a child of <six> & more")
        page.get_by_label("Name of value 2").first.fill("adult")
        page.get_by_label("Content of value 2").first.fill("grown-ups")
        expect(instruction).to_have_text(
            "<instructions>\n<role>\nWrite for a child of &lt;six&gt; &amp; more.\n</role>\n</instructions>"
        )
        expect(page.locator("[data-unsaved-badge]")).to_be_visible()
        page.get_by_label("reader", exact=True).select_option("adult")
        expect(instruction).to_contain_text("Write for grown-ups.")

        page.get_by_label("Question").fill("<b>Hello</b>")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.locator("#result .answer-text")).to_contain_text("<b>Hello</b>")
        expect(page.locator("#result")).to_contain_text("tokens in")
        expect(page.get_by_label("reader", exact=True)).to_have_value("adult")

        page.get_by_label("Commit message").fill("For children and others")
        page.get_by_role("button", name="Commit", exact=True).click()
        expect(page.locator(".flash")).to_have_text("Committed.")
        expect(page.locator(".states")).to_contain_text("committed")
        page.get_by_role("link", name="Versions").click()
        expect(page.locator("tbody")).to_contain_text("For children and others")
        expect(page.locator("tbody")).to_contain_text("Admin")


def test_a_run_shows_exactly_what_the_model_received(site: Site, look: Look) -> None:
    with look() as visit:
        page = make_prompt(site, visit, "Echoes", "# Role\nBe kind.")
        page.get_by_label("Question").fill("Are you there?")
        page.get_by_label("Files").set_input_files({"name": "note.txt", "mimeType": "text/plain", "buffer": b"a note"})
        page.get_by_role("button", name="Ask", exact=True).click()
        page.get_by_role("link", name="Open the run").click()

        expect(page.locator("#instruction")).to_have_text("<instructions>\n<role>\nBe kind.\n</role>\n</instructions>")
        expect(page.locator("main")).to_contain_text("note.txt text/plain, 6 bytes")
        expect(page.locator("dl.facts").first).to_contain_text("this site")


def test_a_second_model_is_asked_when_the_first_fails(site: Site, look: Look) -> None:
    with look() as visit:
        page = make_prompt(site, visit, "Backed up", "Be kind.", model="gpt-4o-mini")
        page.get_by_label("When it fails, ask").select_option("echo")
        page.get_by_label("Question").fill("Are you there?")
        page.get_by_role("button", name="Ask", exact=True).click()

        expect(page.locator("#result .answer-text")).to_contain_text("Are you there?")
        expect(page.get_by_label("When it fails, ask")).to_have_value("echo")
        page.get_by_role("link", name="Open the run").click()
        expect(page.locator("dl.facts").first).to_contain_text("echo")


def test_of_two_editors_the_second_is_warned_and_loses_nothing(site: Site, look: Look) -> None:
    with look() as first, look() as second:
        page = make_prompt(site, first, "Shared", "One\nTwo\nThree")
        second.page.goto(page.url)
        page.get_by_label("Text").fill("One\nTwo, theirs\nThree")
        save(page)
        mine = second.page
        mine.get_by_label("Text").fill("One\nTwo\nThree, mine")
        mine.get_by_role("button", name="Save draft").click()

        expect(mine.get_by_role("heading", name="This draft was changed while you were editing it")).to_be_visible()
        expect(mine.get_by_label("Text")).to_have_value("One\nTwo\nThree, mine")
        expect(mine.locator(".diff")).to_contain_text("Two, theirs")
        expect(mine.locator("[data-unsaved-badge]")).to_be_visible()
        assert second.accessibility_problems() == []
        # The browser itself notes the status of the page.
        second.wrong[:] = [said for said in second.wrong if "412" not in said]
        save(mine)
        page.reload()
        expect(page.get_by_label("Text")).to_have_value("One\nTwo\nThree, mine")


def test_a_session_becomes_a_test_case_that_fails_then_passes(site: Site, look: Look) -> None:
    with look() as visit:
        page = make_prompt(site, visit, "Agent", "Help.", model="demo-agent")
        tool = '[{"name": "get_order", "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, '
        page.get_by_label("Tools, as a JSON list").fill(tool + '"required": ["id"]}}]')
        save(page)
        store_turn(site, prompt_id(page))

        page.get_by_role("link", name="Logs").click()
        page.get_by_role("link", name="A-1", exact=True).click()
        expect(page.locator(".messages")).to_contain_text("It is on its way.")
        page.get_by_role("link", name="Make a test case").click()
        page.locator("#name").fill("Where is A-1?")
        page.get_by_role("button", name="Save the test case").click()
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.locator(".facts")).to_contain_text("passed")

        page.get_by_role("link", name="The draft").click()
        page.get_by_label("Tools, as a JSON list").fill("")
        save(page)
        page.get_by_role("link", name="Test cases").click()
        page.get_by_role("checkbox", name="Run Where is A-1?").check()
        page.get_by_role("button", name="Run ticked").click()
        expect(page.get_by_role("heading", name="Replays of")).to_be_visible()
        expect(page.locator("tbody")).to_contain_text("failed")
        page.get_by_role("link", name="Test cases").click()
        expect(page.locator(".trend li")).to_have_count(2)
        page.get_by_role("link", name="failed").first.click()
        answer = page.locator(".verdict", has=page.get_by_role("heading", name="Answer")).first
        expect(answer.locator(".diff .old")).to_contain_text("It is on its way.")

        accepted(page, answer.get_by_role("link", name="Accept as expected").click)
        page.get_by_role("link", name="The test case").click()
        page.get_by_role("checkbox", name="Calls get_order").uncheck()
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.locator(".facts .badge")).to_have_text("passed")


def accepted(page: Page, ask: Callable[[], None]) -> None:
    ask()
    page.get_by_role("button", name="Accept it as expected").click()
    expect(page.locator(".flash")).to_contain_text("The test case expects this now")


def test_two_versions_are_shown_side_by_side_and_one_is_restored(site: Site, look: Look) -> None:
    with look() as visit:
        page = make_prompt(site, visit, "History", "First line\nSecond line")
        commit(page, "one")
        page.get_by_label("Text").fill("First line\nAnother line")
        commit(page, "two")

        page.get_by_role("link", name="Versions").click()
        page.get_by_role("button", name="Compare", exact=True).click()
        expect(page.locator(".diff").first.locator(".old mark")).to_have_text("Second")
        expect(page.locator(".diff").first.locator(".new mark")).to_have_text("Another")
        page.go_back()
        page.locator("tr", has_text="one").get_by_role("link", name="Restore").click()
        page.get_by_role("button", name="Restore into the draft").click()
        expect(page.get_by_label("Text")).to_have_value("First line\nSecond line")
        expect(page.locator(".states")).to_contain_text("changed since")


def test_without_scripts_a_draft_is_rendered_saved_and_run(site: Site, look: Look) -> None:
    with look(java_script_enabled=False) as visit:
        page = make_prompt(site, visit, "Plain", "Say {{word}}.")
        page.get_by_text("Add a placeholder").click()
        page.get_by_role("textbox", name="Key", exact=True).last.fill("word")
        page.get_by_label("Name of value 1").last.fill("hi")
        page.get_by_label("Content of value 1").last.fill("hello")
        page.get_by_role("button", name="Render", exact=True).click()
        expect(page.locator("#instruction pre")).to_contain_text("Say hello.")
        expect(page.locator(".states")).to_contain_text("unsaved changes")

        page.get_by_label("Question").fill("Now")
        page.get_by_role("button", name="Ask", exact=True).click()
        answer = page.locator("#result .answer-text")
        look_again_until(page, answer)
        expect(answer).to_contain_text("Now")


def test_without_scripts_a_message_keeps_no_click_from_what_lies_under_it(site: Site, look: Look) -> None:
    with look(java_script_enabled=False) as visit:
        page = make_prompt(site, visit, "Under a message", "Repeat.")
        page.get_by_label("Question").fill("Now")
        page.get_by_role("button", name="Ask", exact=True).click()
        look_again_until(page, page.locator("#result .answer-text", has_text="Now"))


def test_a_test_case_is_written_by_hand_copied_and_deleted(site: Site, look: Look) -> None:
    with look() as visit:
        page = make_prompt(site, visit, "By hand", "Repeat.")
        page.get_by_role("link", name="Test cases").click()
        page.get_by_role("link", name="Write one by hand").click()
        page.get_by_label("Question").fill("Ping")
        page.get_by_label("Expected answer").fill("Ping")
        page.get_by_role("button", name="Make the test case").click()
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("heading", name="Copy of Ping")).to_be_visible()
        page.wait_for_load_state()  # The script that asks in a dialog has run.
        page.get_by_role("link", name="Delete").click()
        expect(page.get_by_role("dialog")).to_contain_text("Its turns and checks are lost")
        page.get_by_role("button", name="Delete the test case").click()
        expect(page.locator(".flash")).to_have_text("Deleted Copy of Ping.")

        page.get_by_role("button", name="Run all").click()
        expect(page.locator("tbody")).to_contain_text("passed")


def commit(page: Page, message: str) -> None:
    page.get_by_label("Commit message").fill(message)
    page.get_by_role("button", name="Commit", exact=True).click()
    expect(page.locator(".flash")).to_have_text("Committed.")


def store_turn(site: Site, prompt: int) -> None:
    """One recorded turn: a question, a tool call, an answer."""
    common = {"service.prompt.id": prompt, "gen_ai.conversation.id": f"talk-{prompt}"}
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "A-1"}]}],
        "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "It is on its way."}]}],
    }
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_order",
        "gen_ai.tool.call.arguments": {"id": "A-1"},
        "gen_ai.tool.call.result": "It is on its way.",
    }
    trace_id = f"{prompt:032x}"
    body = export(
        span(
            common | tool,
            name="tool",
            spanId="bbbbbbbbbbbbbbbb",
            traceId=trace_id,
            startTimeUnixNano="1700000000000000000",
            endTimeUnixNano="1700000001000000000",
        ),
        span(
            common | chat,
            name="chat",
            spanId="aaaaaaaaaaaaaaaa",
            traceId=trace_id,
            startTimeUnixNano="1700000002000000000",
            endTimeUnixNano="1700000003000000000",
        ),
    )
    sent = site.client.request(
        "POST", "/api/public/otel/v1/traces", body=body, headers={"Content-Type": "application/json"}
    )
    assert sent.status == 200


def test_a_replay_of_a_program_offers_to_replay_the_draft(site: Site, look: Look) -> None:
    with look() as visit:
        visit.open(f"{site.base}/replays/{site.work['program']}")

        expect(visit.page.get_by_role("button", name="Replay the draft")).to_be_visible()
        expect(visit.page.get_by_role("button", name="Run again")).to_have_count(0)
