"""When a schedule is due: cron expressions of five fields, in a time zone, by CronSim, which follows Debian's cron."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from app.timestamps import zone_names

CRON_MAX = 100
ZONE_MAX = 64
MISSED_MAX = 1_000
"""Missed due times that are counted."""
_MINUTE = timedelta(minutes=1)
_LEAST = timedelta(hours=1)  # between two due times
_COMPARED = 30  # due times between which the pauses are checked
_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Due:
    """A due time, and how many due times before it were missed, at most `MISSED_MAX`."""

    at: datetime
    missed: int


def check_zone(name: str) -> None:
    """Raise `ValueError` for a name that is no time zone of the IANA database."""
    if name not in zone_names():
        raise ValueError("Must be a time zone of the IANA database, such as Europe/Berlin.")


def check_cron(cron: str) -> None:
    """Raise `ValueError` for an expression that is malformed, is never due, or is due more often than each hour."""
    if len(cron.split()) != 5:
        raise ValueError("Must have five fields: minute, hour, day of month, month, day of week.")
    try:
        times = [*islice(CronSim(cron, _SOME_DAY), _COMPARED)]
    except CronSimError as error:
        raise ValueError(f"{error}.") from error
    if not times:
        raise ValueError("Is never due.")
    if any(later - earlier < _LEAST for earlier, later in pairwise(times)):
        raise ValueError("Must not be due more often than once an hour.")


def cron_words(cron: str) -> str:
    """Return a sentence without its full stop: `0 3 * * *` → At 03:00 every day."""
    return CronSim(cron, _SOME_DAY).explain()


def next_due(cron: str, zone: ZoneInfo, after: datetime) -> datetime | None:
    """Return the first due time after a time; None if there is none within 50 years."""
    return next(_due_times(cron, zone, after), None)


def latest_due(cron: str, zone: ZoneInfo, *, after: datetime, now: datetime) -> Due | None:
    """Return the latest due time after `after` and until `now`, with the number of those before it."""
    until_now = takewhile(lambda due: due <= now, _due_times(cron, zone, after))
    counted = [*islice(until_now, MISSED_MAX + 1)]
    if not counted:
        return None
    missed, latest = len(counted) - 1, counted[-1]
    return Due(_latest(cron, zone, latest, now) if missed == MISSED_MAX else latest, missed)


def _latest(cron: str, zone: ZoneInfo, known: datetime, now: datetime) -> datetime:
    """Return the latest due time until `now`, without reading all since `known`, which is one."""
    back = CronSim(cron, (now + _MINUTE).astimezone(zone), reverse=True)
    # Backwards, CronSim passes over a time in an hour that the clocks repeat.
    start = max(known, next(back).astimezone(UTC))
    return [start, *takewhile(lambda due: due <= now, _due_times(cron, zone, start))][-1]


def _due_times(cron: str, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    return (due.astimezone(UTC) for due in CronSim(cron, after.astimezone(zone)))
