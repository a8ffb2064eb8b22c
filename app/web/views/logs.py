"""The log of a prompt, one run, and the spans that were not stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, cast
from urllib.parse import urlencode

import falcon
from marshmallow import fields, validate

from app.cursors import Page as PageOf
from app.errors import require
from app.http.exports import ExportQuerySchema, records, send_lines
from app.models.prompt_versions import VersionHead
from app.models.run_log import DRAFT, RunEntry
from app.otlp.evaluations import NAME_MAX
from app.schemas.base import Day, StrictSchema, Text, load
from app.schemas.traces import MODEL_LENGTH, VERSION_LENGTH
from app.services.traces.log_query import Entry, LogFilter
from app.services.traces.prompt_log import LogSort
from app.services.traces.session_filter import PERIODS
from app.timestamps import iso
from app.web.lists import Query, filters_of
from app.web.page import PAGE_SIZE, Page, PromptPage, Redirect, Reply, show
from app.web.views.beside import go_beside
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
    ("Score", "minScore", "maxScore"),
    ("Cost, US dollars", "minCost", "maxCost"),
    ("Duration, ms", "minDurationMs", "maxDurationMs"),
)
# "OK" and "Not OK" are of runs and sessions, the others of runs alone.
ERRORS = {"ok": False, "nok": True}
VERSIONS_SHOWN = 100


@dataclass(frozen=True, slots=True)
class LogQuery:
    """The fields of the form above the log; `first` and `last` are days of UTC, both included.

    A log that is `live` is taken anew every few seconds.
    """

    search: str = ""
    type: str = ""
    since: str = ""
    status: str = ""
    version: str = ""
    model: str = ""
    score: str = ""
    min_score: float | None = None
    max_score: float | None = None
    min_cost: float | None = None
    max_cost: float | None = None
    min_duration_ms: float | None = None
    max_duration_ms: float | None = None
    first: date | None = None
    last: date | None = None
    sort: str = ""
    live: str = ""

    @property
    def chosen(self) -> bool:
        """True if a filter is in use."""
        return self != LogQuery(sort=self.sort, live=self.live)

    @property
    def ranges(self) -> dict[str, float | None]:
        """The limits by the names of their fields."""
        return {
            "minScore": self.min_score,
            "maxScore": self.max_score,
            "minCost": self.min_cost,
            "maxCost": self.max_cost,
            "minDurationMs": self.min_duration_ms,
            "maxDurationMs": self.max_duration_ms,
        }

    @property
    def order(self) -> LogSort:
        return cast(LogSort, self.sort or "time")

    @property
    def refined(self) -> bool:
        """True if a filter is in use that the page folds away."""
        limited = any(limit is not None for limit in self.ranges.values())
        return limited or bool(self.version or self.model or self.first or self.last or self.score)

    def filter(self, now: datetime) -> LogFilter:
        starts = [now - PERIODS[self.since]] if self.since else []
        starts += [_midnight(self.first)] if self.first else []
        return LogFilter(
            type=self.type or None,
            from_at=max(starts, default=None),
            to_at=_midnight(self.last + timedelta(days=1)) if self.last else None,
            search=self.search or None,
            status=self.status if self.status and self.status not in ERRORS else None,
            errors=ERRORS.get(self.status),
            version=self.version or None,
            model=self.model or None,
            score=self.score or None,
            min_score=self.min_score,
            max_score=self.max_score,
            min_cost=self.min_cost,
            max_cost=self.max_cost,
            min_duration_ms=self.min_duration_ms,
            max_duration_ms=self.max_duration_ms,
        )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _choice(choices: Iterable[tuple[str, str]]) -> fields.String:
    return fields.String(validate=validate.OneOf([value for value, _ in choices], error="There is no such choice."))


class LogQuerySchema(StrictSchema):
    command = LogQuery

    search = Text(maximum=200)
    type = _choice(TYPES)
    since = _choice(TIMES)
    status = _choice(STATUSES)
    version = Text(maximum=VERSION_LENGTH)
    model = Text(maximum=MODEL_LENGTH, trim=True)
    score = Text(maximum=NAME_MAX, trim=True)
    min_score = fields.Float()
    max_score = fields.Float()
    min_cost = fields.Float()
    max_cost = fields.Float()
    min_duration_ms = fields.Float()
    max_duration_ms = fields.Float()
    first = Day(data_key="from")
    last = Day(data_key="to")
    sort = _choice(ORDERS)
    live = _choice([("", ""), ("on", "")])


def log_query(query: Query) -> LogQuery:
    """Read the fields of the form above the log from an address; `Invalid` for a choice that the form does not have."""
    names = {field.data_key or name for name, field in LogQuerySchema().load_fields.items()}
    found: LogQuery = load(LogQuerySchema(), {name: value for name, value in query.items() if value and name in names})
    return found


class LogEntryPage(PromptPage):
    """A page of an entry of the log, with links to the entries before and after it."""

    def beside(self, visit: Visit, prompt_id: int, entry_id: int | str) -> Redirect:
        """Return the way to the next or previous entry in the list that led here, as `go` of the query asks."""

        def read(query: Query) -> PageOf[Entry]:
            chosen = log_query(query)
            return self.services.logs.page(
                project_id=visit.project_id,
                prompt_id=prompt_id,
                filters=chosen.filter(self.container.now()),
                order=chosen.order,
                limit=PAGE_SIZE,
                cursor=query.get("cursor"),
            )

        return go_beside(visit, prompt_id, entry_id, read)


class PromptLogs(PromptPage):
    """Runs and recorded sessions in one table."""

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        query = log_query(visit.query)
        filters = query.filter(self.container.now())
        asked: dict[str, Any] = {"project_id": visit.project_id, "prompt_id": prompt_id, "filters": filters}
        head = self.head(visit, prompt_id)
        listed = self.services.versions.list(project_id=visit.project_id, prompt_id=prompt_id)
        versions = [version.head for version in listed]
        found = self.services.logs.page(**asked, order=query.order, limit=PAGE_SIZE, cursor=visit.query.get("cursor"))
        whole = (
            found.next_cursor is None and not visit.query.get("cursor") and (not found.sorted or found.sorted.complete)
        )
        return show(
            "prompt_logs.html",
            head=head,
            query=query,
            entries=found.entries,
            count=len(found.entries) if whole else self.services.logs.count(**asked),
            counted=not filters.sparse or whole,
            pages=visit.pages(found.next_cursor),
            exports=_export_query(filters),
            hashes={version.commit_hash for version in versions},
            versions=_version_choices(versions[:VERSIONS_SHOWN], query.version),
            models=sorted({name for entry in found.entries for name in _models(entry)}),
            types=TYPES,
            times=TIMES,
            statuses=STATUSES,
            orders=ORDERS,
            sorted=found.sorted,
            ranges=RANGES,
            follow=_follow(visit.query, query),
        )


def _follow(asked: Query, query: LogQuery) -> str | None:
    """Return the address where the log is live, or no more; None for a part of it to which nothing is added."""
    if query.sort or "cursor" in asked:
        return None
    filters = {**filters_of(asked), "live": "on"}
    if query.live:
        del filters["live"]
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


class Export(PromptPage):
    """A prompt's sessions, runs or test cases as a file of JSON lines, as the API exports them."""

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


class RejectedSpans(Page):
    """The causes for which spans were not stored, each with what to change; `code` in the query lists those of one."""

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
