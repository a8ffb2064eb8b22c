"""The design tokens and components of the pages, for developers."""

from __future__ import annotations

import re
from functools import cache

from app.errors import NotFound
from app.http.access import BySession
from app.web.assets import FOLDER
from app.web.cookies import Flash
from app.web.lists import Order, Pages
from app.web.page import Page, Reply, show
from app.web.visit import Visit

_TOKENS = re.compile(r":root {(?P<declared>[^{}]*)}")
_TOKEN = re.compile(r"--(?P<name>[\w-]+): (?P<value>[^;]+);")
WEEK = [("Monday", 12.0), ("Tuesday", 31.0), ("Wednesday", 0.0), ("Thursday", 24.0), ("Friday", 43.0)]


@cache
def tokens() -> dict[str, str]:
    """Return the tokens of the light scheme and their values, in the order of `app.css`."""
    declared = _TOKENS.search((FOLDER / "app.css").read_text())
    return {match["name"]: match["value"] for match in _TOKEN.finditer(declared["declared"])} if declared else {}


class DesignPage(Page):
    """The page of components. It exists only in the embedded mode, which developers use."""

    access = BySession({"GET"})

    def get(self, visit: Visit) -> Reply:
        if not self.container.settings.embedded:
            raise NotFound("The components are shown only in the embedded mode.")
        values = tokens()
        return show(
            "design.html",
            colors=[name for name, value in values.items() if value.startswith("#")],
            sizes=[name for name in values if name.startswith("size-")],
            others={name: value for name, value in values.items() if value[0] != "#" and not name.startswith("size-")},
            week=WEEK,
            order=Order("-cost", "-cost", {}),
            pages=Pages(next_href="#pager", first_href="#pager", previous_href="#pager"),
            messages=[
                Flash("Ticket triage is archived.", undo=visit.path),
                Flash("The prompt could not be archived.", "problem"),
            ],
            now=self.container.now(),
        )
