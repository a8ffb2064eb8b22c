"""The sessions of the whole project: the list by every filter, and its export."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import falcon

from app.http.exports import send_sessions
from app.schemas.base import load
from app.schemas.sessions import SessionExportSchema
from app.timestamps import iso
from app.web.forms import checked_choice
from app.web.lists import filters_of
from app.web.page import PAGE_SIZE, Page, Reply, show
from app.web.presenters.marks import pieces, place_of
from app.web.views.logs import PERIODS, TIMES
from app.web.visit import Visit

ORDERS = [
    ("", "Latest first"),
    ("oldest", "Oldest first"),
    ("duration", "Longest first"),
    ("shortest", "Shortest first"),
    ("errors", "Most errors first"),
]
STATUSES = [("", "Any status"), ("false", "OK"), ("true", "Not OK")]
PROMPTS_NAMED = 500
# Field, label, and what is given for it: a text, a whole number or a number.
FILTERS = (
    ("version", "Version", "text"),
    ("label", "Label", "text"),
    ("model", "Model", "text"),
    ("userId", "User", "text"),
    ("conversationId", "Conversation", "text"),
    ("tool", "Tool called", "text"),
    ("failedTool", "Tool failed", "text"),
    ("score", "Score", "text"),
)
RANGES = (
    ("Score", "minScore", "maxScore", "any"),
    ("Turns", "minTurns", "maxTurns", "1"),
    ("Tokens", "minTokens", "maxTokens", "1"),
    ("Cost, US dollars", "minCost", "maxCost", "any"),
    ("Duration, ms", "minDurationMs", "maxDurationMs", "1"),
)
# The names of what was said where a search found it.
SAID = {
    "user": "User",
    "arguments": "Arguments of a tool",
    "result": "Result of a tool",
    "error": "Error of a tool",
    "answer": "Answer",
    "reasoning": "Reasoning",
    "aside": "Beside tool calls",
}
FOLDED = {name for name, _, _ in FILTERS} | {name for _, least, most, _ in RANGES for name in (least, most)}


NAMES = {field.data_key for field in SessionExportSchema().load_fields.values()}


def chosen_of(visit: Visit) -> dict[str, str]:
    """The choices of the form above the list."""
    return {name: value for name, value in filters_of(visit.query).items() if name in NAMES or name == "since"}


def asked(visit: Visit, now: datetime) -> dict[str, Any]:
    """The keywords of `SessionListService.all` for the filters in the address; `Invalid` for a wrong one."""
    chosen = chosen_of(visit)
    since = chosen.pop("since", "")
    checked_choice("since", since, dict(TIMES))
    if since:
        chosen["from"] = iso(now - PERIODS[since])
    query: dict[str, Any] = load(SessionExportSchema(), chosen)
    return query | {"project_id": visit.project_id}


class Sessions(Page):
    section = "sessions"

    def get(self, visit: Visit) -> Reply:
        query = asked(visit, self.container.now())
        listing = self.services.session_list
        found = listing.page(**query, limit=PAGE_SIZE, cursor=visit.query.get("cursor"))
        chosen = chosen_of(visit)
        prompts = self.services.prompts.list(project_id=visit.project_id, limit=PROMPTS_NAMED).prompts
        return show(
            "sessions.html",
            entries=found.entries,
            count=listing.count(project_id=visit.project_id, filters=query["filters"]),
            pages=visit.pages(found.next_cursor),
            chosen=chosen,
            filtered=bool(chosen.keys() - {"sort"}),
            refined=bool(chosen.keys() & FOLDED),
            exports="?" + urlencode(chosen) if chosen else "",
            prompts=[("", "All prompts"), *((str(prompt.id), prompt.name) for prompt in prompts)],
            suggested=_suggested(found.entries),
            said=SAID,
            pieces=pieces,
            place_of=place_of,
            **{"orders": ORDERS, "statuses": STATUSES, "times": TIMES, "filters": FILTERS, "ranges": RANGES},
        )


def _suggested(entries: list[Any]) -> dict[str, list[str]]:
    """The names that the listed sessions have, for the fields that offer them."""
    kinds = {"version": "version", "model": "model", "tool": "tool", "failedTool": "failed_tool"}
    named = {name: sorted({one for entry in entries for one in entry.names(kind)}) for name, kind in kinds.items()}
    return named | {"userId": sorted({entry.row.user_id for entry in entries if entry.row.user_id})}


class SessionsCsv(Page):
    """The listed sessions as CSV."""

    exports = frozenset({"GET"})
    as_csv = True

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        query = asked(req.context.visit, self.container.now())
        found = self.services.session_list.all(**query)
        send_sessions(req, resp, found, as_csv=self.as_csv)


class SessionsJsonLines(SessionsCsv):
    """The listed sessions as JSON lines."""

    as_csv = False
