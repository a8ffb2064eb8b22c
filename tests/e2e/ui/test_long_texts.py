"""Long prompts: the numbers of lines, and finding words, in the editor and on the page of a version."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.ui.conftest import Look, Site
from tests.support.browser import Visit

pytestmark = pytest.mark.browser
# 100 KB in 2,000 lines, of which some wrap, some are empty and one has a placeholder.
LINES = [f"- Rule {number}: never promise a date. " + "Be kind. " * (number % 7) for number in range(1, 1998)]
LONG = "\n".join(["# Role", "", *LINES, "The needle in {{place}}."])
FOUND = """name => [...CSS.highlights.get(name) ?? []].map((range) => range.toString())"""
# The tops of the lines and of the mirror's text differ from those of the field by no pixel.
ALIGNED = """() => {
  const area = document.getElementById("value");
  const behind = document.querySelector(".behind");
  return [area.scrollHeight - behind.scrollHeight, area.scrollTop - behind.scrollTop];
}"""


def editor(site: Site, visit: Visit, value: str) -> Page:
    made = site.client.post("/api/v1/prompts", {"name": "Long text", "value": value}).json()
    visit.open(f"{site.base}/prompts/{made['prompt']['id']}/edit")
    expect(visit.page.locator("html.scripted")).to_be_attached()
    return visit.page


def version_of(site: Site, value: str) -> str:
    made = site.client.post("/api/v1/prompts", {"name": "Long version", "value": value}).json()
    prompt_id = made["prompt"]["id"]
    committed = site.client.get(f"/api/v1/prompts/{prompt_id}").json()["commitHash"]
    return f"{site.base}/prompts/{prompt_id}/versions/{committed}"


@pytest.mark.parametrize("width", [1280, 390])
def test_words_are_found_in_a_long_draft_by_keys(site: Site, look: Look, width: int) -> None:
    assert len(LONG) > 100_000
    with look(width=width) as visit:
        page = editor(site, visit, LONG)
        assert page.locator(".behind > .line").count() == 2000
        assert page.evaluate(ALIGNED) == [0, 0]
        page.locator("h1").click()
        page.keyboard.press("/")
        find = page.get_by_role("searchbox", name="Find words")
        expect(find).to_be_focused()
        page.keyboard.type("NEEDLE in {{")

        expect(page.locator(".find output")).to_have_text("1 of 1, line 2000")
        assert page.evaluate(FOUND, "found-now") == ["needle in {{"]
        assert page.evaluate("document.getElementById('value').scrollTop") > 1000
        assert page.evaluate(ALIGNED) == [0, 0]
        expect(page.locator("[data-unsaved-badge]")).to_be_hidden()
        page.keyboard.press("Escape")
        expect(page.get_by_label("Text", exact=True)).to_be_focused()
        assert page.evaluate("getSelection().toString()") == "needle in {{"
        assert visit.accessibility_problems() == []


def test_a_key_leads_from_match_to_match_and_around(site: Site, look: Look) -> None:
    with look() as visit:
        page = editor(site, visit, "One fish.\nTwo fish.\n\nRed (fish)?")
        find, status = page.get_by_role("searchbox", name="Find words"), page.locator(".find output")
        find.fill("fish")
        expect(status).to_have_text("1 of 3, line 1")
        for key, words in (
            ("Enter", "2 of 3, line 2"),
            ("Enter", "3 of 3, line 4"),
            ("Enter", "1 of 3, line 1"),
            ("Shift+Enter", "3 of 3, line 4"),
        ):
            find.press(key)
            expect(status).to_have_text(words)
        page.get_by_role("button", name="Previous match").click()
        expect(status).to_have_text("2 of 3, line 2")
        find.fill("(FISH)?")
        expect(status).to_have_text("1 of 1, line 4")
        find.fill("whale")
        expect(status).to_have_text("Not found")
        assert page.evaluate(FOUND, "found") == []
        find.press("Enter")
        expect(status).to_have_text("Not found")
        find.fill("")
        expect(status).to_have_text("")
        page.get_by_label("Text", exact=True).press("a")
        assert page.url.partition("?")[0].endswith("/edit"), "Enter has sent no form"


def test_the_lines_follow_what_is_written(site: Site, look: Look) -> None:
    with look() as visit:
        page = editor(site, visit, "One\nTwo {{x}}\nThree")
        area, lines = page.get_by_label("Text", exact=True), page.locator(".behind > .line")
        page.get_by_role("searchbox", name="Find words").fill("t")
        for value in (
            "One\nTwo {{x}}\nThree\n",
            "Two {{x}}\nThree\n",
            "",
            "One\n\nT\nT",
            "T",
            "T\nT\n\nT\nOne\n{{x}} t",
        ):
            area.fill(value)
            assert lines.all_text_contents() == [f"{line}\n" for line in value.split("\n")]
            assert page.evaluate(ALIGNED) == [0, 0]
            assert page.evaluate(FOUND, "found") == [letter for letter in value if letter in "tT"]
        area.fill("{{x}}")
        page.get_by_text("Add a placeholder").click()
        expect(page.locator(".behind mark")).to_have_class("undefined")
        page.get_by_label("Key", exact=True).fill("x")
        expect(page.locator(".behind mark")).to_have_class("")


def test_each_line_behind_the_field_has_the_direction_of_its_words(site: Site, look: Look) -> None:
    bidi = "element => getComputedStyle(element).unicodeBidi"
    with look() as visit:
        page = editor(site, visit, "أنت تساعد عملاء {{shop}}.\nAnswer in English.")

        field = page.get_by_label("Text", exact=True).evaluate(bidi)
        lines = [line.evaluate(bidi) for line in page.locator(".behind > .line").all()]
        assert [field, *lines] == ["plaintext"] * 3
        assert page.locator(".behind").get_attribute("dir") == "rtl"
        page.get_by_label("Text", exact=True).fill("Answer in English.")
        assert page.locator(".behind").get_attribute("dir") == "ltr"


@pytest.mark.parametrize("width", [1280, 390])
def test_words_are_found_in_the_text_of_a_version(site: Site, look: Look, width: int) -> None:
    with look(width=width) as visit:
        visit.open(version_of(site, LONG))
        page = visit.page
        assert page.locator("#text").evaluate("one => one.textContent") == LONG
        page.locator("h1").click()
        page.keyboard.press("/")
        page.keyboard.type("the needle")

        expect(page.locator(".find output")).to_have_text("1 of 1, line 2000")
        assert page.evaluate(FOUND, "found-now") == ["The needle"]
        assert page.evaluate("document.getElementById('text').scrollTop") > 1000
        page.keyboard.press("Escape")
        expect(page.locator("#text")).to_be_focused()
        selected = "getSelection().selectAllChildren(document.getElementById('text')), getSelection().toString()"
        assert page.evaluate(selected).rstrip("\n") == LONG, "the numbers are not copied"
        assert visit.accessibility_problems() == []
        assert not visit.wider_than_the_screen()


def test_without_scripts_a_version_has_its_lines_and_no_dead_field(site: Site, look: Look) -> None:
    with look(java_script_enabled=False) as visit:
        visit.open(version_of(site, "One\n\nThree\n"))

        expect(visit.page.locator("#text .line")).to_have_count(4)
        expect(visit.page.locator(".find")).to_be_hidden()


def test_the_lines_of_a_comparison_are_cells_of_its_table(site: Site, look: Look) -> None:
    with look() as visit:
        visit.open(f"{site.base}/prompts/{site.prompt_id}/compare?from={site.work['version']}")

        displays = "cells => [...new Set(cells.map((cell) => getComputedStyle(cell).display))]"
        assert visit.page.locator(".diff .line").evaluate_all(displays) == ["table-cell"]
