"""Parts of pages that fetch themselves again: what has not changed stays, with what a person does in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, Route, expect

from app.web.assets import FOLDER as STATIC
from tests.e2e.ui.conftest import Look, Site

EVERY_MS = 1234
# Keeps what the page does every EVERY_MS, until the test calls it.
KEEP = f"""
window.due = [];
const wait = window.setTimeout;
window.setTimeout = (act, ms, ...more) => ms === {EVERY_MS} ? due.push(act) : wait(act, ms, ...more);
"""
Fetch = Callable[[str], None]


@contextmanager
def following(look: Look, site: Site, first: str) -> Iterator[tuple[Page, Fetch]]:
    """A page with a live part, and what lets it fetch itself once, with another content of that part."""
    contents = [first]

    def answer(route: Route) -> None:
        script = (STATIC / "app.js").read_text(encoding="utf-8")
        body = f'<main><div id="part" data-live="{EVERY_MS}">{contents[-1]}</div></main><script>{script}</script>'
        route.fulfill(content_type="text/html", body=f"<!doctype html>{body}")

    with look() as visit:
        page = visit.page
        page.route(re.compile("/experiments/1$"), answer)
        page.add_init_script(KEEP)
        page.goto(f"{visit.url}{site.base}/experiments/1")

        def fetch(content: str) -> None:
            contents.append(content)
            assert page.evaluate("due.length") == 1
            page.evaluate("due.shift()()")

        yield page, fetch


def mark(page: Page, selector: str) -> None:
    page.eval_on_selector(selector, "element => { element.marked = true; }")


def is_marked(page: Page, selector: str) -> bool:
    return bool(page.eval_on_selector(selector, "element => element.marked === true"))


def test_a_link_is_the_same_element_when_the_text_around_it_has_changed(look: Look, site: Site) -> None:
    with following(look, site, '<p>1 of 3 <a href="#again">Look again</a></p>') as (page, fetch):
        mark(page, "#part a")
        fetch('<p class="note">First.</p><p>2 of 3 <a href="#again">Look again</a></p>')

        assert is_marked(page, "#part a")


def test_rows_are_the_same_elements_in_another_order(look: Look, site: Site) -> None:
    def table(*ids: int) -> str:
        rows = "".join(f'<tr><td><a href="#{id_}">Case {id_}</a></td></tr>' for id_ in ids)
        return f"<table><tbody>{rows}</tbody></table>"

    with following(look, site, table(1, 2, 3)) as (page, fetch):
        mark(page, '#part a[href="#3"]')
        page.focus('#part a[href="#3"]')
        fetch(table(3, 4, 1))

        expect(page.locator("#part tr")).to_have_text(["Case 3", "Case 4", "Case 1"])
        assert is_marked(page, '#part a[href="#3"]')
        assert page.evaluate("document.activeElement.textContent") == "Case 3"


def test_nothing_changes_between_the_press_of_the_pointer_and_its_release(look: Look, site: Site) -> None:
    first = "<p onclick=\"this.textContent = 'Clicked'\">Press</p>"
    with following(look, site, first) as (page, fetch):
        page.hover("#part p")
        page.mouse.down()
        fetch("<p>Finished</p>")
        page.mouse.up()
        expect(page.locator("#part")).to_have_text("Clicked")
        fetch("<p>Finished</p>")

        expect(page.locator("#part")).to_have_text("Finished")


def test_the_link_under_the_pointer_stays_there(look: Look, site: Site) -> None:
    above, below = '<div style="height: 900px">Above</div>', '<div style="height: 2000px">Below</div>'
    link = '<p><a href="#here">Here</a></p>'
    with following(look, site, above + link + below) as (page, fetch):
        page.locator("#part a").scroll_into_view_if_needed()
        page.hover("#part a")
        before = page.locator("#part a").bounding_box()
        fetch(above + '<div style="height: 130px">New</div>' + link + below)

        assert page.locator("#part a").bounding_box() == before


@pytest.mark.parametrize("selecting", [False, True])
def test_what_a_person_wrote_ticked_opened_and_selected_stays(look: Look, site: Site, selecting: bool) -> None:
    def content(count: int) -> str:
        fields = '<input name="note" value=""><input type="checkbox" name="all">'
        choice = '<select name="kind"><option>one<option>two</select><textarea name="text">old</textarea>'
        fold = f"<details><summary>Turn {count}</summary><p>Inside</p></details>"
        return f'<p>{count} of 9</p>{fields}{choice}{fold}<p id="quote">Quoted</p>' + (
            "<p>More</p>" if count > 1 else ""
        )

    with following(look, site, content(1)) as (page, fetch):
        page.check("[name=all]")
        page.select_option("[name=kind]", "two")
        page.fill("[name=text]", "new")
        page.click("#part summary")
        page.fill("[name=note]", "written")
        if selecting:
            page.evaluate("getSelection().selectAllChildren(document.getElementById('quote'))")
        fetch(content(2))

        values = [page.input_value(f"[name={name}]") for name in ("note", "kind", "text")]
        expect(page.get_by_text("2 of 9")).to_be_visible()
        assert values == ["written", "two", "new"]
        assert page.is_checked("[name=all]")
        expect(page.get_by_text("Inside")).to_be_visible()
        if selecting:
            assert page.evaluate("getSelection().toString()") == "Quoted"
        else:
            assert page.evaluate("document.activeElement.name") == "note"


def test_the_focused_control_of_a_part_stays_until_the_focus_leaves(look: Look, site: Site) -> None:
    with following(look, site, "<p>Running <button>Cancel</button></p>") as (page, fetch):
        page.focus("#part button")
        fetch("<p>Finished</p>")
        expect(page.locator("#part")).to_have_text("Running Cancel")
        page.evaluate("document.activeElement.blur()")
        fetch("<p>Finished</p>")

        expect(page.locator("#part")).to_have_text("Finished")
