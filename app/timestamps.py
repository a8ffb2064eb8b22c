"""Times as the API writes them: ISO 8601 UTC with milliseconds and `Z`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Now = Callable[[], datetime]

NS_PER_MS = 1_000_000


def utc_now() -> datetime:
    """Return the time, in the milliseconds that the database keeps."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def of_unix_ns(ns: int) -> datetime:
    """Return the time at so many nanoseconds after 1970, to the microsecond."""
    return datetime.fromtimestamp(ns // 1_000_000_000, UTC).replace(microsecond=ns // 1_000 % 1_000_000)


def iso(when: datetime) -> str:
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def steady(now: Now, monotonic: Callable[[], float]) -> Now:
    """Return a clock that goes on evenly from here, whatever is done to the machine's."""
    began, started = now(), monotonic()
    return lambda: began + timedelta(seconds=monotonic() - started)
