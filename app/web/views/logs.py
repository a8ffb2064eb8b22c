"""The log of a prompt, a run, exports, and spans that were not stored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode

import falcon
from marshmallow import fields, validate

from app.errors import require
from app.http.exports import ExportQuerySchema, records, send_lines
from app.models.prompt_versions import VersionHead
from app.models.run_log import DRAFT, RunEntry
from app.pagination import ListPage as PageOf
from app.schemas.base import Day, load
from app.schemas.prompt_log import LogFilters, log_page
from app.services.prompt_log.query import Entry, LogFilter
from app.services.sessions.filters import PERIODS
from app.timestamps import iso
from app.web.lists import Query, chosen_of, filters_of, list_query, names_of, pages_of
from app.web.page import PAGE_SIZE, Page, PromptPage, Redirect, Reply, show
from app.web.presenters.marks import SAID, pieces, place_of
from app.web.visit import Visit

TYPES = [("", "Runs and sessions"), ("run", "Runs"), ("otel", "OpenTelemetry sessions")]
TIMES = [("", "Any time"), ("1h", "Last hour"), ("1d", "Last 24 hours"), ("7d", "Last 7 days"), ("30d", "Last 30 days")]
STATUSES = [("", "Any status"), ("ok", "OK"), ("nok", "Not OK"), ("failed", "Failed runs"), ("running", "Running")]
ORDERS = [
    ("", "Latest first"),
    ("oldest", "Oldest first"),
    ("duration", "Longest first"),
    ("cost", "Highest cost first"),
    ("errors", "Most errors first"),
]
RANGES = (
    ("Score", "minScore", "maxScore", "any"),
    ("Cost, US dollars", "minCost", "maxCost", "any"),
    ("Duration, ms", "minDurationMs", "maxDurationMs", "any"),
)
FOLDED = {"search", "version", "model", "score", "from", "to"} | {name for _, *names, _ in RANGES for name in names}
# "OK" and "Not OK" apply to runs and sessions, the others only to runs.
ERRORS = {"ok": False, "nok": True}
VERSIONS_SHOWN = 100


class LogFormSchema(LogFilters):
    """The form above the log. Both days are included. A `live` log is fetched again every few seconds."""

    status = fields.String(validate=validate.OneOf([value for value, _ in STATUSES]))
    since = fields.String(validate=validate.OneOf(tuple(PERIODS)))
    first = Day(data_key="from")
    last = Day(data_key="to")
    live = fields.String(validate=validate.Equal("on"))


NAMES = names_of(LogFormSchema())


def log_query(query: Query, now: datetime) -> dict[str, Any]:
    """Return the keyword arguments of `LogService.page` for an address; `Invalid` for choices that the form lacks."""
    data = load(LogFormSchema(), chosen_of(query, NAMES))
    since, first, last, status, _ = (data.pop(name, None) for name in ("since", "first", "last", "status", "live"))
    starts = [*([now - PERIODS[since]] if since else []), *([_midnight(first)] if first else [])]
    return log_page(
        data
        | {"from_at": max(starts, default=None), "to_at": _midnight(last + timedelta(days=1)) if last else None}
        | ({"errors": ERRORS[status]} if status in ERRORS else {"status": status})
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


class LogEntryPage(PromptPage):
    """A page of an entry in the log, with links to the previous and the next entry."""

    def beside(self, visit: Visit, prompt_id: int, entry_id: int | str) -> Redirect:
        """Redirect to the next or previous entry, as the query's `go` names it; to the list if there is none.

        The entry is the neighbour in the filtered list that led here. The new address has the query of the list's page
        that contains the entry.
        """
        query = dict(parse_qsl(visit.query.get("list", "")))
        step = -1 if visit.query.get("go") == "previous" else 1
        found = self._listed(visit, prompt_id, query)
        ids = [entry.id for entry in found.entries]
        index = ids.index(entry_id) + step if entry_id in ids else -1
        if 0 <= index < len(ids):
            return _to_entry(visit, query, found.entries[index])
        pages = pages_of(query, found.next_cursor)
        href = (pages.previous_href if step < 0 else pages.next_href) if entry_id in ids else None
        if href is not None:
            query = dict(parse_qsl(href[1:]))
            if beyond := self._listed(visit, prompt_id, query).entries:
                return _to_entry(visit, query, beyond[min(step, 0)])
        log = f"{visit.base}/prompts/{prompt_id}/logs{visit.to_list}"
        return Redirect(log, "There is no further entry in this list.")

    def _listed(self, visit: Visit, prompt_id: int, query: Query) -> PageOf[Entry]:
        return self.services.logs.page(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            limit=PAGE_SIZE,
            cursor=query.get("cursor"),
            **log_query(query, self.container.now()),
        )


def _to_entry(visit: Visit, query: Query, entry: Entry) -> Redirect:
    kind = "runs" if isinstance(entry, RunEntry) else "sessions"
    chosen = list_query(query)
    return Redirect(f"{visit.base}/{kind}/{entry.id}{'?' + chosen if chosen else ''}")


class PromptLogsPage(PromptPage):
    """Runs and recorded sessions in one table."""

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        chosen, query = chosen_of(visit.query, NAMES), log_query(visit.query, self.container.now())
        filters: LogFilter = query["filters"]
        of_prompt: dict[str, Any] = {"project_id": visit.project_id, "prompt_id": prompt_id}
        head = self.head(visit, prompt_id)
        listed = self.services.versions.list(project_id=visit.project_id, prompt_id=prompt_id)
        versions = [version.head for version in listed]
        found = self.services.logs.page(**of_prompt, **query, limit=PAGE_SIZE, cursor=visit.query.get("cursor"))
        whole = (
            found.next_cursor is None and not visit.query.get("cursor") and (not found.sorted or found.sorted.complete)
        )
        return show(
            "prompt_logs.html",
            head=head,
            chosen=chosen,
            filtered=bool(chosen.keys() - {"sort", "live"}),
            refined=bool(chosen.keys() & FOLDED),
            entries=found.entries,
            count=len(found.entries) if whole else self.services.logs.count(**of_prompt, filters=filters),
            counted=not filters.sparse or whole,
            pages=visit.pages(found.next_cursor),
            exports=_export_query(filters),
            hashes={version.commit_hash for version in versions},
            versions=_version_choices(versions[:VERSIONS_SHOWN], chosen.get("version", "")),
            models=sorted({name for entry in found.entries for name in _models(entry)}),
            types=TYPES,
            times=TIMES,
            statuses=STATUSES,
            orders=ORDERS,
            sorted=found.sorted,
            ranges=RANGES,
            said=SAID,
            pieces=pieces,
            place_of=place_of,
            follow=_follow(visit.query),
        )


def _follow(query: Query) -> str | None:
    """Return the address that switches `live` on or off; None for a part of the log that gets no new entries."""
    filters = filters_of(query)
    if "sort" in filters or "cursor" in query:
        return None
    if not filters.pop("live", None):
        filters["live"] = "on"
    return "?" + urlencode(filters)


def _version_choices(versions: Sequence[VersionHead], chosen: str) -> list[tuple[str, str]]:
    choices = [(version.commit_hash, f"{version.commit_hash[:8]} {version.message[:40]}") for version in versions]
    known = {"", DRAFT, *(value for value, _ in choices)}
    named = [] if chosen in known else [(chosen, chosen[:8])]
    return [("", "Any version"), (DRAFT, "The draft"), *named, *choices]


def _models(entry: Entry) -> Sequence[str]:
    return [entry.model_name] if isinstance(entry, RunEntry) else entry.models


def _export_query(filters: LogFilter) -> str:
    times = {"since": filters.from_at, "until": filters.to_at}
    chosen = {name: iso(when) for name, when in times.items() if when}
    return "?" + urlencode(chosen) if chosen else ""


class ExportPage(PromptPage):
    """A prompt's sessions, runs or test cases as a file of JSON lines, like the export of the API."""

    exports = frozenset({"GET"})

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int, kind: str) -> None:
        times = load(ExportQuerySchema(), req.params)
        found = records(self.services.export, kind, project_id=project_id, prompt_id=prompt_id, **times)
        send_lines(req, resp, found, name=f"{kind}-{prompt_id}")


class RunView(LogEntryPage):
    def get(self, visit: Visit, run_id: int) -> Reply:
        row = self.services.runs.get(project_id=visit.project_id, run_id=run_id)
        if "go" in visit.query:
            return self.beside(visit, row.prompt_id, run_id)
        scores = self.services.scores.list(project_id=visit.project_id, run_id=run_id).entries
        return show("run.html", run=row, head=self.head(visit, row.prompt_id), scores=scores)


class RejectedSpansPage(Page):
    """The causes of rejected spans, with the change that helps. `code` in the query lists the spans of one cause."""

    section = "rejected"

    def get(self, visit: Visit) -> Reply:
        causes = self.services.logs.rejection_causes(project_id=visit.project_id)
        code = visit.query.get("code")
        if not code:
            return show("rejected_spans.html", causes=causes)
        cause = next((cause for cause in causes if cause.newest.code == code), None)
        found = self.services.logs.rejected(
            project_id=visit.project_id, code=code, limit=PAGE_SIZE, cursor=visit.query.get("cursor")
        )
        return show(
            "rejected_spans_of_cause.html",
            cause=require(cause, "No span was rejected for this cause."),
            spans=found.entries,
            pages=visit.pages(found.next_cursor),
        )
