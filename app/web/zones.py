"""The time zone of a reader: pages show times in it, and count days from its midnights. UTC without one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime, time, tzinfo
from zoneinfo import ZoneInfo

import falcon

from app.timestamps import in_zone, zone_names

# A script writes it: the browser's zone by its name in the IANA database, such as Europe/Berlin.
ZONE_COOKIE = "reprise_zone"
_shown: ContextVar[tzinfo] = ContextVar("shown_zone", default=UTC)


def read_zone(req: falcon.Request) -> tzinfo:
    """Return the zone of the browser; UTC if it sends none that this machine knows."""
    name = req.cookies.get(ZONE_COOKIE, "")
    return ZoneInfo(name) if name in zone_names() else UTC


@contextmanager
def shown_in(zone: tzinfo) -> Iterator[None]:
    """Have the filters of templates show times in this zone."""
    token = _shown.set(zone)
    try:
        yield
    finally:
        _shown.reset(token)


def local(when: datetime) -> datetime:
    """Return a time in the zone that the page shows."""
    return in_zone(when, _shown.get()) or when.astimezone(UTC)


def midnight(day: date, zone: tzinfo) -> datetime:
    """Return the beginning of a day in a zone, in UTC."""
    try:
        return datetime.combine(day, time(), zone).astimezone(UTC)
    except OverflowError:  # the first or last day of the calendar
        return datetime.combine(day, time(), UTC)
