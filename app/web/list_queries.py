"""The queries of the two lists of conversations: a prompt's log, and the sessions of a project.

Days of the forms are days in the zone of the browser.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from marshmallow import Schema, fields, validate

from app.errors import Invalid
from app.schemas.base import Day, load
from app.schemas.prompt_log import LogFilters, log_page
from app.schemas.sessions import Filters, SessionQuerySchema
from app.services.sessions.filters import PERIODS, YESTERDAY, SessionFilter
from app.timestamps import iso
from app.web.lists import Query, chosen_of, names_of
from app.web.zones import midnight

LOG_STATUSES = [
    ("", "Any status"),
    ("ok", "OK"),
    ("nok", "Not OK"),
    ("failed", "Failed runs"),
    ("cancelled", "Cancelled runs"),
    ("running", "Running"),
]
# Label, the fields of its ends, and the step of their values.
_SCORE = ("Score", "minScore", "maxScore", "any")
_COST = ("Cost, US dollars", "minCost", "maxCost", "any")
LOG_RANGES = (_SCORE, _COST, ("Duration, ms", "minDurationMs", "maxDurationMs", "any"))
SESSION_RANGES = (
    _SCORE,
    ("Turns", "minTurns", "maxTurns", "1"),
    ("Tokens", "minTokens", "maxTokens", "1"),
    _COST,
    ("Duration, ms", "minDurationMs", "maxDurationMs", "1"),
)
_LABELS = {
    name: f"{label} {end}" for label, *ends, _ in SESSION_RANGES for name, end in zip(ends, ("from", "to"), strict=True)
}
# "OK" and "Not OK" apply to runs and sessions, the others only to runs.
_ERRORS = {"ok": False, "nok": True}


class LogFormSchema(LogFilters):
    """The form above the log. Both days are included. A `live` log is fetched again every few seconds."""

    status = fields.String(validate=validate.OneOf([value for value, _ in LOG_STATUSES]))
    since = fields.String(validate=validate.OneOf(tuple(PERIODS)))
    first = Day(data_key="from")
    last = Day(data_key="to")
    live = fields.String(validate=validate.Equal("on"))


LOG_NAMES = names_of(LogFormSchema())
SESSION_NAMES = names_of(Filters())


def log_query(query: Query, now: datetime, zone: tzinfo) -> dict[str, Any]:
    """Return the keyword arguments of `LogService.page` for an address; `Invalid` for choices that the form lacks."""
    data = _load(LogFormSchema(), chosen_of(query, LOG_NAMES))
    since, first, last, status, _ = (data.pop(name, None) for name in ("since", "first", "last", "status", "live"))
    starts = [*([now - PERIODS[since]] if since else []), *([midnight(first, zone)] if first else [])]
    return log_page(
        data
        | {"from_at": max(starts, default=None), "to_at": midnight(last + timedelta(days=1), zone) if last else None}
        | ({"errors": _ERRORS[status]} if status in _ERRORS else {"status": status})
    )


def session_query(
    query: Query, now: datetime, zone: tzinfo, schema: type[Filters] = SessionQuerySchema
) -> dict[str, Any]:
    """Return the keyword arguments of `SessionListService.page` for an address; `Invalid` for a wrong filter."""
    data: dict[str, Any] = _load(schema(), chosen_sessions(query, zone))
    return data | {"filters": _in_zone(data["filters"], now, zone)}


def chosen_sessions(query: Query, zone: tzinfo) -> dict[str, str]:
    """Return the values chosen in the form of the sessions, with times instead of days. Both days are included."""
    chosen = chosen_of(query, SESSION_NAMES)
    for name, later in (("from", 0), ("to", 1)):
        with suppress(KeyError, ValueError, OverflowError):
            day = date.fromisoformat(chosen[name]) + timedelta(days=later)
            chosen[name] = iso(midnight(day, zone))
    return chosen


def _load(schema: Schema, chosen: dict[str, str]) -> Any:
    """Load choices. `Invalid` names the ends of ranges by their labels in the form."""
    try:
        return load(schema, chosen)
    except Invalid as error:
        named = [problem.partition(": ") for problem in error.problems]
        raise Invalid(*(f"{_LABELS.get(name, name)}{colon}{text}" for name, colon, text in named)) from error


def _in_zone(filters: SessionFilter, now: datetime, zone: tzinfo) -> SessionFilter:
    """Return filters in which yesterday is the reader's day before today; the API's yesterday is a day of UTC."""
    if filters.since != YESTERDAY:
        return filters
    today = now.astimezone(zone).date()
    start, end = midnight(today - timedelta(days=1), zone), midnight(today, zone)
    return replace(
        filters,
        since=None,
        from_at=max(start, filters.from_at or start),
        to_at=min(end, filters.to_at or end),
    )
