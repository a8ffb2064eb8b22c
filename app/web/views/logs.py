"""The log of a prompt, one run, one recorded session, and the spans that were not stored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from urllib.parse import urlencode

import falcon

from app.errors import NotFound
from app.http.exports import ExportQuerySchema, records, send_lines
from app.schemas.base import load
from app.services.traces.prompt_log import LogFilter
from app.sessions.types import Usage
from app.timestamps import iso
from app.web.forms import checked_choice
from app.web.page import PAGE_SIZE, Page, PromptPage, Reply, show
from app.web.presenters.session import shown_turns
from app.web.visit import Visit

TYPES = [("", "Runs and sessions"), ("run", "Runs"), ("otel", "OpenTelemetry sessions")]
TIMES = [("", "Any time"), ("1h", "Last hour"), ("1d", "Last 24 hours"), ("7d", "Last 7 days"), ("30d", "Last 30 days")]
STATUSES = [("", "Any status"), ("running", "Running"), ("ok", "OK"), ("nok", "Not OK"), ("failed", "Failed")]
PERIODS = {"1h": timedelta(hours=1), "1d": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30)}


class PromptLogs(PromptPage):
    """Runs and recorded sessions in one table."""

    def get(self, visit: Visit, prompt_id: int) -> Reply:
        chosen = log_filter(visit.query, self.container.now())
        head = self.head(visit, prompt_id)
        found = self.services.logs.page(
            project_id=visit.project_id,
            prompt_id=prompt_id,
            filters=chosen,
            limit=PAGE_SIZE,
            cursor=visit.query.get("cursor"),
        )
        return show(
            "prompt_logs.html",
            head=head,
            entries=found.entries,
            pages=visit.pages(found.next_cursor),
            filtered=any(visit.query.get(name) for name in ("search", "type", "since", "status")),
            exports="?" + urlencode({"since": iso(chosen.from_at)}) if chosen.from_at else "",
            types=TYPES,
            times=TIMES,
            statuses=STATUSES,
        )


def log_filter(query: Mapping[str, str], now: datetime) -> LogFilter:
    """The filter that the form asks for; `Invalid` for a choice that the form does not have."""
    for name, choices in (("type", TYPES), ("since", TIMES), ("status", STATUSES)):
        checked_choice(name, query.get(name, ""), dict(choices))
    since = query.get("since")
    return LogFilter(
        type=query.get("type") or None,
        from_at=now - PERIODS[since] if since else None,
        search=query.get("search") or None,
        status=query.get("status") or None,
    )


class Export(PromptPage):
    """A prompt's sessions, runs or test cases as a file of JSON lines, as the API exports them."""

    exports = frozenset({"GET"})

    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int, prompt_id: int, kind: str) -> None:
        times = load(ExportQuerySchema(), req.params)
        found = records(self.services.export, kind, project_id=project_id, prompt_id=prompt_id, **times)
        send_lines(req, resp, found, name=f"{kind}-{prompt_id}")


class RunView(PromptPage):
    def get(self, visit: Visit, run_id: int) -> Reply:
        row = self.services.runs.get(project_id=visit.project_id, run_id=run_id)
        return show("run.html", run=row, head=self.head(visit, row.prompt_id))


class SessionView(PromptPage):
    """A session as a conversation, each turn with a timeline of its spans."""

    def get(self, visit: Visit, session_id: str) -> Reply:
        session = self.services.sessions.get(project_id=visit.project_id, session_id=session_id)
        return show(
            "session.html",
            session=session,
            head=self.head(visit, session.prompt_id),
            usage=sum((turn.usage for turn in session.turns), Usage()),
            started_ns=min((turn.start_ns for turn in session.turns), default=None),
            turns=shown_turns(session),
        )


class SpanView(PromptPage):
    """A span with all that it carried."""

    def get(self, visit: Visit, session_id: str, span_id: str) -> Reply:
        session = self.services.sessions.get(project_id=visit.project_id, session_id=session_id)
        found = next((span for turn in session.turns for span in turn.spans if span.span_id == span_id), None)
        if found is None:
            raise NotFound("The session has no such span.")
        return show("span.html", span=found, session_id=session.id)


class RejectedSpans(Page):
    """Spans that were not stored, each with what to change so that the next one is."""

    section = "rejected"

    def get(self, visit: Visit) -> Reply:
        found = self.services.logs.rejected(
            project_id=visit.project_id, prompt_id=None, limit=PAGE_SIZE, cursor=visit.query.get("cursor")
        )
        return show("rejected_spans.html", spans=found.entries, pages=visit.pages(found.next_cursor))
