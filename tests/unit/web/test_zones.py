"""Times are shown in the zone of the reader's browser, and days begin at its midnights."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from falcon.testing import create_req

from app.web import filters
from app.web.zones import midnight, read_zone, shown_in

NOW = datetime(2026, 3, 12, 23, 30, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


NO_ZONES = ["", "Mars/Olympus", "../../etc/passwd", "/etc/localtime", "Europe", "x" * 65, "é"]
ZONES_OF_THE_MACHINE = ["localtime", "posixrules", "right/UTC", "posix/Europe/Berlin", "Factory"]


def test_times_are_shown_in_the_zone_and_name_it() -> None:
    clock = filters.clock_of(lambda: NOW)
    with shown_in(BERLIN):
        assert (clock(NOW), filters.exact(NOW)) == ("13 Mar, 00:30", "2026-03-13 00:30:00 CET")
        assert clock(NOW.replace(year=2025, month=7)) == "13 Jul 2025, 01:30"
    with shown_in(timezone(timedelta(hours=-3))):
        assert filters.exact(NOW).endswith("UTC-03:00")
    assert (clock(NOW), filters.exact(NOW)) == ("12 Mar, 23:30", "2026-03-12 23:30:00 UTC")


@pytest.mark.parametrize("when", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_the_ends_of_the_calendar_can_be_shown(when: datetime, zone: str) -> None:
    with shown_in(ZoneInfo(zone)):
        assert filters.exact(when)
    assert midnight(when.date(), ZoneInfo(zone)).date()


def test_a_day_begins_at_midnight_of_the_zone_also_when_clocks_change() -> None:
    before, after = midnight(date(2026, 3, 29), BERLIN), midnight(date(2026, 3, 30), BERLIN)
    assert (before, after - before) == (datetime(2026, 3, 28, 23, tzinfo=UTC), timedelta(hours=23))


def test_the_zone_is_read_from_the_cookie() -> None:
    assert read_zone(create_req(headers={"Cookie": "reprise_zone=Europe/Berlin"})) == BERLIN


@pytest.mark.parametrize("name", [*NO_ZONES, *ZONES_OF_THE_MACHINE])
def test_without_a_known_zone_it_is_utc(name: str) -> None:
    assert read_zone(create_req(headers={"Cookie": f"reprise_zone={name}"})) is UTC
