"""Messages about completed actions cover no control, on a wide screen or a narrow one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.ui.conftest import Look, Site
from tests.e2e.ui.test_work import make_prompt

pytestmark = pytest.mark.browser
SIZES = [(1280, 900), (1280, 480), (390, 844)]
COVERED = """() => {
  const controls = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
  const edges = document.querySelector(".rail > .toasts").getBoundingClientRect();
  const inside = (one) => one.closest(".toasts, dialog") || !one.checkVisibility({ visibilityProperty: true });
  const shown = (one) => {
    let { left, top, right, bottom } = one.getBoundingClientRect();
    for (let box = one.parentElement; box; box = box.parentElement) {
      if (getComputedStyle(box).overflowY === "visible" || box === document.body) continue;
      const view = box.getBoundingClientRect();
      [top, bottom] = [Math.max(top, view.top), Math.min(bottom, view.bottom)];
      [left, right] = [Math.max(left, view.left), Math.min(right, view.right)];
    }
    return { left, top, right, bottom };
  };
  const meets = ({ left, top, right, bottom }) => left < right && top < bottom &&
    left < edges.right && right > edges.left && top < edges.bottom && bottom > edges.top;
  return [...document.querySelectorAll(controls)]
    .filter((one) => !inside(one) && !one.matches(".visually-hidden, .skip") && meets(shown(one)))
    .map((one) => one.outerHTML.slice(0, 120));
}"""


def rated(site: Site, page: Page, url: str) -> None:
    page.goto(f"{url}{site.base}/sessions/{site.session_id}")
    page.get_by_role("button", name="Bad", exact=True).click()


def saved(site: Site, page: Page, url: str) -> None:
    page.goto(f"{url}{site.base}/settings/data")
    page.get_by_role("button", name="Save", exact=True).click()


def with_an_undo(site: Site, page: Page, url: str) -> None:
    made = site.client.post("/api/v1/prompts", {"name": "Away", "value": "Help."}).json()["prompt"]["id"]
    page.goto(f"{url}{site.base}/prompts/{made}/archive")
    page.get_by_role("button", name="Archive the prompt", exact=True).click()


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("act", [rated, saved, with_an_undo])
def test_a_message_covers_no_control(
    site: Site, look: Look, size: tuple[int, int], act: Callable[[Site, Page, str], None]
) -> None:
    with look(viewport={"width": size[0], "height": size[1]}) as visit:
        act(site, visit.page, visit.url)
        expect(visit.page.locator(".toasts .flash")).to_be_in_viewport(ratio=1)

        assert visit.page.evaluate(COVERED) == []
        assert not visit.wider_than_the_screen()
        assert visit.accessibility_problems() == []


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_message_of_the_editor_does_not_cover_ask(site: Site, look: Look, size: tuple[int, int]) -> None:
    with look(viewport={"width": size[0], "height": size[1]}) as visit:
        page = make_prompt(site, visit, "Not covered", "Help.")
        ask = page.get_by_role("button", name="Ask", exact=True)
        ask.scroll_into_view_if_needed()
        page.get_by_label("Text").fill("Help more.")
        page.keyboard.press("Control+s")
        message = page.locator(".toasts .flash")
        expect(message).to_have_text("The draft is saved.")
        expect(message).to_be_in_viewport(ratio=1)
        assert page.evaluate(COVERED) == []

        ask.scroll_into_view_if_needed()
        expect(message).to_be_in_viewport(ratio=1)
        ask.click(trial=True)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_press_reaches_its_button_though_the_message_leaves(site: Site, look: Look, size: tuple[int, int]) -> None:
    with look(viewport={"width": size[0], "height": size[1]}) as visit:
        saved(site, visit.page, visit.url)
        expect(visit.page.locator(".toasts .flash.done")).to_be_visible()
        visit.page.get_by_role("button", name="Add a rule").hover()
        visit.page.mouse.down()
        visit.page.mouse.up()

        expect(visit.page.get_by_label("Pattern or place of rule 1")).to_be_focused()
        expect(visit.page.locator(".toasts .flash")).to_have_count(0)
