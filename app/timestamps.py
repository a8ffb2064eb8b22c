"""Times, and their format in the API: ISO 8601 in UTC with milliseconds and `Z`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from zoneinfo import available_timezones

Now = Callable[[], datetime]

NS_PER_MS = 1_000_000


def utc_now() -> datetime:
    """Return the time in UTC, with the milliseconds that the database stores."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


@cache
def zone_names() -> frozenset[str]:
    """Return the names of the IANA database that this machine knows.

    The zones of the machine itself are left out, as are those with leap seconds: elsewhere a name means another time.
    """
    return frozenset(available_timezones()) - {"Factory", "localtime"}


def in_zone(when: datetime, zone: tzinfo) -> datetime | None:
    """Return a time in a zone; None where that is before year 1 or after year 9999."""
    try:
        return when.astimezone(zone)
    except OverflowError:
        return None


def of_unix_ns(ns: int) -> datetime:
    """Return the time `ns` nanoseconds after 1970, to the microsecond."""
    return datetime.fromtimestamp(ns // 1_000_000_000, UTC).replace(microsecond=ns // 1_000 % 1_000_000)


def iso(when: datetime) -> str:
    """Return a time in ISO 8601, in UTC with milliseconds, such as `2026-01-31T09:00:00.000Z`."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def steady(now: Now, monotonic: Callable[[], float]) -> Now:
    """Return a clock that starts at the present time and is not affected by changes of the machine's clock."""
    began, started = now(), monotonic()
    return lambda: began + timedelta(seconds=monotonic() - started)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def ns_of(when: datetime) -> int:
    """Return the Unix nanoseconds of a time in whole milliseconds."""
    return (when - EPOCH) // timedelta(milliseconds=1) * NS_PER_MS
