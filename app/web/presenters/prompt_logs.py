"""A prompt's log: runs and recorded sessions in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from app.cursors import Page
from app.errors import Invalid
from app.models.run_log import RunEntry
from app.services.traces.logs import LogFilter
from app.services.traces.sessions import SessionSummary
from app.timestamps import iso
from app.web.filters import from_ns, plural
from app.web.presenters.lists import first_link, next_link
from app.web.presenters.tabs import Tab, prompt_tabs

TYPES = [("", "Runs and sessions"), ("run", "Runs"), ("otel", "OpenTelemetry sessions")]
TIMES = [("", "Any time"), ("1h", "Last hour"), ("1d", "Last 24 hours"), ("7d", "Last 7 days"), ("30d", "Last 30 days")]
STATUSES = [("", "Any status"), ("running", "Running"), ("ok", "OK"), ("nok", "Not OK"), ("failed", "Failed")]
SPANS = {"1h": timedelta(hours=1), "1d": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30)}
OUTCOMES = {
    "running": ("running", "accent"),
    "ok": ("OK", "ok"),
    "nok": ("not OK", "warn"),
    "failed": ("failed", "bad"),
}
SHOWN = 200


@dataclass(frozen=True, slots=True)
class LogRow:
    """`cost_usd` and `duration_ms` are None where there are none."""

    href: str
    asked: str
    details: str
    type: str
    status: str
    status_kind: str
    version: str | None
    no_version: str
    tokens: int
    cost_usd: float | None
    duration_ms: float | None
    started_at: datetime


@dataclass(frozen=True, slots=True)
class LogsPage:
    name: str
    tabs: list[Tab]
    rows: list[LogRow]
    next_href: str | None
    first_href: str | None
    search: str
    type: str
    since: str
    status: str
    filtered: bool
    exports: list[tuple[str, str]]
    types = TYPES
    times = TIMES
    statuses = STATUSES


def log_filter(query: Mapping[str, str], now: datetime) -> LogFilter:
    """What the form asks for; `Invalid` for a choice that it does not have."""
    for name, choices in (("type", TYPES), ("since", TIMES), ("status", STATUSES)):
        if query.get(name, "") not in dict(choices):
            raise Invalid(f"{name}: There is no such choice.")
    since = query.get("since")
    return LogFilter(
        type=query.get("type") or None,
        from_at=now - SPANS[since] if since else None,
        search=query.get("search") or None,
        status=query.get("status") or None,
    )


def logs_page(
    name: str,
    base: str,
    prompt_id: int,
    page: Page[SessionSummary] | Page[RunEntry | SessionSummary],
    query: Mapping[str, str],
    *,
    since: datetime | None,
) -> LogsPage:
    """`since` is the time of the choice that the form made."""
    chosen = {field: query.get(field, "") for field in ("search", "type", "since", "status")}
    return LogsPage(
        name=name,
        tabs=prompt_tabs(base, prompt_id, "logs"),
        rows=[_row(entry, base) for entry in page.entries],
        next_href=next_link(query, page.next_cursor),
        first_href=first_link(query),
        filtered=any(chosen.values()),
        exports=_exports(f"{base}/prompts/{prompt_id}", chosen["since"], since),
        **chosen,
    )


def _exports(prompt: str, chosen: str, since: datetime | None) -> list[tuple[str, str]]:
    """(words, address) of each file; of the form's choices they follow the time alone, and say so."""
    asked = f"?{urlencode({'since': iso(since)})}" if since else ""
    words = f", {dict(TIMES)[chosen].lower()}" if since else ""
    return [(f"Export {kind}{words}", f"{prompt}/exports/{kind}{asked}") for kind in ("runs", "sessions")]


def _row(entry: RunEntry | SessionSummary, base: str) -> LogRow:
    return _run(entry, base) if isinstance(entry, RunEntry) else _session(entry, base)


def _run(run: RunEntry, base: str) -> LogRow:
    status, kind = OUTCOMES[run.outcome]
    return LogRow(
        href=f"{base}/runs/{run.id}",
        asked=run.question[:SHOWN],
        details=run.error or run.nok or run.model_name,
        type="Run",
        status=status,
        status_kind=kind,
        version=run.commit_hash,
        no_version="draft",
        tokens=run.prompt_tokens + run.completion_tokens,
        cost_usd=run.cost_usd,
        duration_ms=run.response_time_ms,
        started_at=run.created_at,
    )


def _session(session: SessionSummary, base: str) -> LogRow:
    details = [plural(session.turns, "turn"), *session.models]
    return LogRow(
        href=f"{base}/sessions/{session.id}",
        asked=(session.preview or "")[:SHOWN],
        details=", ".join(details),
        type="OpenTelemetry",
        status=plural(session.errors, "error") if session.errors else "OK",
        status_kind="bad" if session.errors else "ok",
        version=session.prompt_versions[-1] if session.prompt_versions else None,
        no_version="unknown",
        tokens=session.usage.input_tokens + session.usage.output_tokens,
        cost_usd=None,
        duration_ms=(session.last_ns - session.start_ns) / 1e6,
        started_at=from_ns(session.start_ns),
    )
