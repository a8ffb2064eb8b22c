"""The Tab key leads through a page, and the focused element is always in view."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.ui.conftest import Look, Site
from tests.e2e.ui.test_every_page import PAGES, address
from tests.support.browser import Visit

# More than any page of the tests has.
STOPS_MAX = 400
# The focused element's place, None where it is in view and nothing lies over it; "end" behind the last one.
LOST = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return "end";
  const name = one.outerHTML.slice(0, 120);
  if (one.dataset.tabbed) return "end";
  one.dataset.tabbed = "yes";
  const { left, top, right, bottom } = one.getBoundingClientRect();
  const [x0, x1] = [Math.max(left, 0), Math.min(right, innerWidth)];
  const [y0, y1] = [Math.max(top, 0), Math.min(bottom, innerHeight)];
  if (x1 - x0 < 1 || y1 - y0 < 1) return `outside the window: ${name}`;
  const points = [[0.5, 0.5], [0.1, 0.2], [0.9, 0.2], [0.1, 0.8], [0.9, 0.8]];
  const over = points.map(([x, y]) => document.elementFromPoint(x0 + x * (x1 - x0), y0 + y * (y1 - y0)));
  const labels = [...(one.labels ?? [])];
  const own = over.filter((top) => top && [one, ...labels].some((part) => part.contains(top) || top.contains(part)));
  return own.length < 3 ? `covered: ${name}` : null;
}"""


@pytest.fixture(scope="module")
def window(shared_look: Look) -> Iterator[Visit]:
    with shared_look() as visit:
        yield visit


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("page", PAGES)
def test_each_focused_element_is_in_view_and_uncovered(site: Site, window: Visit, page: str, width: int) -> None:
    with window.alone():
        window.screen("light", width)
        window.open(address(site, page))

        assert lost(window) == []


def lost(visit: Visit) -> list[str]:
    """The elements that can't be seen when Tab comes to them, of the whole page."""
    found = []
    for _ in range(STOPS_MAX):
        visit.page.keyboard.press("Tab")
        told = visit.page.evaluate(LOST)
        if told == "end":
            return found
        found += [told] if told else []
    return [*found, "no end"]
