"""The Tab key leads through a page from its skip link on; the focused element is always in view, and has a frame."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.e2e.ui.conftest import Look, Site
from tests.e2e.ui.test_every_page import PAGES, address
from tests.support.browser import Visit

# More than any page of the tests has.
STOPS_MAX = 400
# Steps of the held key between two looks at what was found.
STRIDE = 10
# Looks at each focused element when the key is released, when it has arrived at its place. `window.tabbed` becomes the
# list of invisible ones, once the end is reached: the body, or an element that had the focus before.
WATCH = """() => {
  const seen = new Set(), lost = [];
  const look = (one) => {
    const name = one.outerHTML.slice(0, 120);
    // The frame of the link of a row is around the row.
    const outlined = [null, "::after"].map((part) => getComputedStyle(one, part)).filter((style) =>
      style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && parseFloat(style.outlineOffset) >= -2);
    if (!outlined.length) return `no frame: ${name}`;
    const { left, top, right, bottom } = one.getBoundingClientRect();
    const [x0, x1] = [Math.max(left, 0), Math.min(right, innerWidth)];
    const [y0, y1] = [Math.max(top, 0), Math.min(bottom, innerHeight)];
    if (x1 - x0 < 1 || y1 - y0 < 1) return `outside the window: ${name}`;
    const points = [[0.5, 0.5], [0.1, 0.2], [0.9, 0.2], [0.1, 0.8], [0.9, 0.8]];
    const over = points.map(([x, y]) => document.elementFromPoint(x0 + x * (x1 - x0), y0 + y * (y1 - y0)));
    const labels = [...(one.labels ?? [])];
    const own = over.filter((top) => top && [one, ...labels].some((part) => part.contains(top) || top.contains(part)));
    return own.length < 3 ? `covered: ${name}` : null;
  };
  let presses = 0;
  addEventListener("keydown", (event) => {
    const one = document.activeElement;
    if (event.key !== "Tab" || window.tabbed) return;
    if (presses++ && (!one || one === document.body || seen.has(one))) {
      window.tabbed = lost;
    } else if (one && one !== document.body) {
      if (!seen.size && !one.matches(".skip, [autofocus]")) lost.push(`first: ${one.outerHTML.slice(0, 120)}`);
      seen.add(one);
      const found = look(one);
      if (found) lost.push(found);
    }
  }, true);
}"""


@pytest.fixture(scope="module")
def window(shared_look: Look) -> Iterator[Visit]:
    with shared_look() as visit:
        yield visit


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("page", PAGES)
def test_each_focused_element_is_in_view_uncovered_and_framed(site: Site, window: Visit, page: str, width: int) -> None:
    with window.alone():
        window.screen("light", width)
        window.open(address(site, page))

        assert lost(window) == []


@pytest.mark.browser
def test_the_link_to_the_page_that_is_shown_is_in_view_on_a_small_screen(site: Site, look: Look) -> None:
    with look(width=360) as visit:
        for width, height in ((360, 800), (1280, 240)):
            visit.page.set_viewport_size({"width": width, "height": height})
            visit.open(address(site, "audit log"))
            current = visit.page.locator("nav [aria-current]")
            expect(current).to_have_text(["Settings", "Audit log"])
            for link in current.all():
                expect(link).to_be_in_viewport(ratio=0.99)
            assert visit.page.evaluate("scrollY") == 0


def lost(visit: Visit) -> list[str]:
    """The elements that can't be seen when Tab comes to them, of the whole page."""
    visit.page.evaluate(WATCH)
    try:
        for _ in range(STOPS_MAX // STRIDE):
            for _ in range(STRIDE):
                # Held, it goes on to the next element each time, by half the messages of a press.
                visit.page.keyboard.down("Tab")
            found: list[str] | None = visit.page.evaluate("window.tabbed")
            if found is not None:
                return found
        return ["no end"]
    finally:
        visit.page.keyboard.up("Tab")
