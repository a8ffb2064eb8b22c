"""The sessions of a project: the list with all filters, and its export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import Any
from urllib.parse import urlencode

import falcon

from app.errors import Conflict, Invalid, NotFound
from app.http.access import ByRole
from app.http.exports import send_sessions
from app.models.organizations import Role
from app.schemas.base import load
from app.schemas.session_filters import FilterQuerySchema, SavedFilterSchema
from app.schemas.sessions import SessionExportSchema
from app.services.sessions.filters import YESTERDAY
from app.web.list_queries import SESSION_RANGES, chosen_sessions, session_query
from app.web.page import PAGE_SIZE, Page, Redirect, Reply, confirm, show
from app.web.presenters.marks import HIT_KINDS, pieces, place_of
from app.web.views.logs import INCLUDED, TIMES
from app.web.visit import Visit

ORDERS = [
    ("", "Latest first"),
    ("oldest", "Oldest first"),
    ("duration", "Longest first"),
    ("shortest", "Shortest first"),
    ("errors", "Most errors first"),
    ("cost", "Highest cost first"),
]
SESSION_TIMES = [*TIMES, (YESTERDAY, "Yesterday")]
STATUSES = [("", "Any status"), ("false", "OK"), ("true", "Not OK")]
PROMPTS_NAMED = 500
# Field, label, and kind of value: a text, a whole number or a number.
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
FOLDED = (
    {"include"}
    | {name for name, _, _ in FILTERS}
    | {name for _, least, most, _ in SESSION_RANGES for name in (least, most)}
    | {"from", "to"}
)


def days_of(chosen: Mapping[str, str], zone: tzinfo) -> dict[str, date]:
    """Return the days that the form shows for the chosen times."""
    times = {name: datetime.fromisoformat(chosen[name]) for name in ("from", "to") if name in chosen}
    shown = {name: when - timedelta(milliseconds=1 if name == "to" else 0) for name, when in times.items()}
    return {name: when.astimezone(zone).date() for name, when in shown.items()}


@dataclass(frozen=True, slots=True)
class SavedLink:
    """A link to the list with a saved filter. It is `current` if the list has this filter."""

    id: int
    name: str
    href: str
    current: bool


class SessionsPage(Page):
    """The list, and the form that saves the address's filters."""

    section = "sessions"
    refusals = (Conflict, Invalid, NotFound)

    def get(self, visit: Visit) -> Reply:
        query = session_query(visit.query, self.container.now(), visit.zone)
        listing = self.services.session_list
        page = listing.page(**query, project_id=visit.project_id, limit=PAGE_SIZE, cursor=visit.query.get("cursor"))
        chosen = chosen_sessions(visit.query, visit.zone)
        prompts = self.services.prompts.list(project_id=visit.project_id, limit=PROMPTS_NAMED).prompts
        return show(
            "sessions.html",
            entries=page.entries,
            saved=self._saved(visit, chosen),
            count=listing.count(project_id=visit.project_id, filters=query["filters"]),
            pages=visit.pages(page.next_cursor),
            chosen=chosen,
            filtered=bool(chosen.keys() - {"sort"}),
            refined=bool(chosen.keys() & FOLDED),
            days=days_of(chosen, visit.zone),
            listed_prompts={entry.row.prompt_id: entry.prompt_name for entry in page.entries},
            sorted=page.sorted,
            address=_query_of(chosen),
            exports=_query_of({name: value for name, value in chosen.items() if (name, value) != ("sort", "cost")}),
            prompts=[("", "All prompts"), *((str(prompt.id), prompt.name) for prompt in prompts)],
            suggested=_suggested(page.entries),
            hit_kinds=HIT_KINDS,
            pieces=pieces,
            place_of=place_of,
            included=INCLUDED,
            **{
                "orders": ORDERS,
                "statuses": STATUSES,
                "times": SESSION_TIMES,
                "filters": FILTERS,
                "ranges": SESSION_RANGES,
            },
        )

    def post(self, visit: Visit) -> Reply:
        chosen = chosen_sessions(visit.query, visit.zone)
        new = {"name": visit.form.text("name"), "filters": load(FilterQuerySchema(), chosen)}
        saved = self.services.saved_filters.save(
            project_id=visit.project_id, new=load(SavedFilterSchema(), new), actor=visit.actor
        )
        return Redirect(
            f"{visit.base}/sessions{_query_of(chosen)}", f"The filter {saved.name} is saved for the project."
        )

    def _saved(self, visit: Visit, chosen: Mapping[str, str]) -> list[SavedLink]:
        current = load(FilterQuerySchema(), chosen) if chosen else None
        return [
            SavedLink(saved.id, saved.name, _query_of(saved.filters), saved.filters == current)
            for saved in self.services.saved_filters.list(project_id=visit.project_id)
        ]


def _query_of(filters: Mapping[str, Any]) -> str:
    """Return the query of the list's address for filters; "" without filters."""
    texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in filters.items()}
    return "?" + urlencode(texts) if texts else ""


class DeleteSessionFilter(Page):
    section = "sessions"
    access = ByRole({"GET": Role.MEMBER, "POST": Role.MEMBER})

    def get(self, visit: Visit, filter_id: int) -> Reply:
        saved = self.services.saved_filters.get(project_id=visit.project_id, filter_id=filter_id)
        return confirm(
            visit,
            title=f"Delete the filter “{saved.name}”?",
            text="The filter disappears for everybody in the project. The sessions stay.",
            button="Delete the filter",
            back=f"{visit.base}/sessions{_query_of(saved.filters)}",
        )

    def post(self, visit: Visit, filter_id: int) -> Reply:
        self.services.saved_filters.delete(project_id=visit.project_id, filter_id=filter_id, actor=visit.actor)
        return Redirect(f"{visit.base}/sessions", "The filter is deleted.")


def _suggested(entries: list[Any]) -> dict[str, list[str]]:
    """Return names from the listed sessions, which fields of the form suggest."""
    kinds = {"version": "version", "model": "model", "tool": "tool", "failedTool": "failed_tool"}
    named = {
        name: sorted({entry_name for entry in entries for entry_name in entry.names(kind)})
        for name, kind in kinds.items()
    }
    return named | {"userId": sorted({entry.row.user_id for entry in entries if entry.row.user_id})}


class SessionsCsv(Page):
    """The listed sessions as CSV."""

    exports = frozenset({"GET"})
    as_csv = True

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        visit: Visit = req.context.visit
        query = session_query(visit.query, self.container.now(), visit.zone, SessionExportSchema)
        sessions = self.services.session_list.all(**query, project_id=visit.project_id)
        send_sessions(req, resp, sessions, as_csv=self.as_csv)


class SessionsJsonLines(SessionsCsv):
    """The listed sessions as JSON lines."""

    as_csv = False
