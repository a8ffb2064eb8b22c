"""The documentation of this release, available without the internet."""

from __future__ import annotations

from app.errors import require
from app.http.access import BySession
from app.web.page import Page, Reply, show
from app.web.presenters import manual
from app.web.visit import Visit

QUERY_MAX = 100


class Documents(Page):
    """Lists all pages, or with words in the query the sections that have them."""

    access = BySession({"GET"})
    section = "docs"

    def get(self, visit: Visit) -> Reply:
        words = visit.query.get("q", "").strip()[:QUERY_MAX]
        return show("docs.html", groups=manual.contents(), words=words, hits=manual.find(words))


class DocumentView(Page):
    access = BySession({"GET"})
    section = "docs"

    def get(self, visit: Visit, name: str) -> Reply:
        require(manual.names().get(name), "The documentation has no such page.")
        return show("docs_page.html", document=manual.document(name))
