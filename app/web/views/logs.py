"""The log of a prompt, a run, exports, and spans that were not stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import falcon

from app.errors import require
from app.http.access import ByRole
from app.http.exports import ExportQuerySchema, records, send_lines
from app.models.organizations import Role
from app.models.prompt_versions import VersionHead
from app.models.run_log import DRAFT, RunEntry
from app.schemas.base import load
from app.services.prompt_log.query import Entry, LogFilter
from app.timestamps import iso
from app.web.list_queries import LOG_NAMES, LOG_RANGES, LOG_STATUSES, log_query
from app.web.lists import Query, chosen_of, filters_of
from app.web.page import PAGE_SIZE, Page, PromptPage, Redirect, Reply, show
from app.web.presenters.marks import HIT_KINDS, pieces, place_of
from app.web.views.neighbours import EntryPage
from app.web.visit import Visit

TYPES = [("", "Runs and sessions"), ("run", "Runs"), ("otel", "OpenTelemetry sessions")]
TIMES = [("", "Any time"), ("1h", "Last hour"), ("1d", "Last 24 hours"), ("7d", "Last 7 days"), ("30d", "Last 30 days")]
ORDERS = [
    ("", "Latest first"),
    ("oldest", "Oldest first"),
    ("duration", "Longest first"),
    ("cost", "Highest cost first"),
    ("errors", "Most errors first"),
]
INCLUDED = [("", "With steps or words"), ("all", "All, health checks, too")]
FOLDED = {"include", "search", "version", "model", "score", "from", "to"} | {
    name for _, *names, _ in LOG_RANGES for name in names
}
VERSIONS_SHOWN = 100


class PromptLogsPage(PromptPage):
    """Runs and recorded sessions in one table."""

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        chosen, query = chosen_of(visit.query, LOG_NAMES), log_query(visit.query, self.container.now(), visit.zone)
        filters: LogFilter = query["filters"]
        of_prompt: dict[str, Any] = {"project_id": visit.project_id, "prompt_id": prompt_id}
        head = self.head(visit, prompt_id)
        listed = self.services.versions.list(project_id=visit.project_id, prompt_id=prompt_id)
        versions = [version.head for version in listed]
        page = self.services.logs.page(**of_prompt, **query, limit=PAGE_SIZE, cursor=visit.query.get("cursor"))
        whole = page.next_cursor is None and not visit.query.get("cursor") and (not page.sorted or page.sorted.complete)
        return show(
            "prompt_logs.html",
            head=head,
            chosen=chosen,
            filtered=bool(chosen.keys() - {"sort", "live"}),
            refined=bool(chosen.keys() & FOLDED),
            entries=page.entries,
            count=len(page.entries) if whole else self.services.logs.count(**of_prompt, filters=filters),
            counted=not filters.sparse or whole,
            pages=visit.pages(page.next_cursor),
            exports=_export_query(filters),
            hashes={version.commit_hash for version in versions},
            versions=_version_choices(versions[:VERSIONS_SHOWN], chosen.get("version", "")),
            models=sorted({name for entry in page.entries for name in _models(entry)}),
            types=TYPES,
            times=TIMES,
            statuses=LOG_STATUSES,
            orders=ORDERS,
            sorted=page.sorted,
            ranges=LOG_RANGES,
            included=INCLUDED,
            hit_kinds=HIT_KINDS,
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
        lines = records(self.services.export, kind, project_id=project_id, prompt_id=prompt_id, **times)
        send_lines(req, resp, lines, name=f"{kind}-{prompt_id}")


class RunView(EntryPage):
    def get(self, visit: Visit, run_id: int) -> Reply:
        row = self.services.runs.get(project_id=visit.project_id, run_id=run_id)
        if "go" in visit.query:
            return self.neighbour(visit, row.prompt_id, run_id)
        scores = self.services.scores.list(project_id=visit.project_id, run_id=run_id).entries
        head = self.head(visit, row.prompt_id)
        return show("run.html", run=row, head=head, crumbs=self.crumbs(visit, head), scores=scores)


class CancelRun(PromptPage):
    access = ByRole({"POST": Role.MEMBER})

    def post(self, visit: Visit, run_id: int) -> Reply:
        row = self.services.runs.cancel(project_id=visit.project_id, run_id=run_id)
        notice = "The run is cancelled." if row.finished else "The model stops."
        return Redirect(f"{visit.base}/runs/{run_id}", notice)


class RejectedSpansPage(Page):
    """The causes of rejected spans, with the change that helps. `code` in the query lists the spans of one cause."""

    section = "rejected"

    def get(self, visit: Visit) -> Reply:
        causes = self.services.logs.rejection_causes(project_id=visit.project_id)
        code = visit.query.get("code")
        if not code:
            return show("rejected_spans.html", causes=causes)
        cause = next((cause for cause in causes if cause.newest.code == code), None)
        page = self.services.logs.rejected(
            project_id=visit.project_id, code=code, limit=PAGE_SIZE, cursor=visit.query.get("cursor")
        )
        return show(
            "rejected_spans_of_cause.html",
            cause=require(cause, "No span was rejected for this cause."),
            spans=page.entries,
            pages=visit.pages(page.next_cursor),
        )
