"""The forms above the lists count days in the zone of the browser."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from app.errors import Invalid
from app.web.list_queries import chosen_sessions, log_query, session_query

NOW = datetime(2026, 3, 13, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "first", "end"),
    [
        ("UTC", datetime(2026, 3, 12, tzinfo=UTC), datetime(2026, 3, 13, tzinfo=UTC)),
        # 2 o'clock of the 13th in UTC is the 12th here, 15:00.
        ("Pacific/Pago_Pago", datetime(2026, 3, 11, 11, tzinfo=UTC), datetime(2026, 3, 12, 11, tzinfo=UTC)),
        ("Pacific/Kiritimati", datetime(2026, 3, 11, 10, tzinfo=UTC), datetime(2026, 3, 12, 10, tzinfo=UTC)),
    ],
)
def test_yesterday_is_the_day_before_today_of_the_reader(zone: str, first: datetime, end: datetime) -> None:
    filters = session_query({"since": "yesterday"}, NOW, ZoneInfo(zone))["filters"]

    assert (filters.starts(NOW), filters.ends(NOW)) == (first, end)


def test_yesterday_and_days_limit_each_other() -> None:
    query = {"since": "yesterday", "from": "2026-03-12", "to": "2026-03-20"}
    filters = session_query(query, NOW, ZoneInfo("UTC"))["filters"]
    assert (filters.starts(NOW), filters.ends(NOW)) == (
        datetime(2026, 3, 12, tzinfo=UTC),
        datetime(2026, 3, 13, tzinfo=UTC),
    )


def test_both_days_of_a_period_are_included() -> None:
    days = {"from": "2026-03-29", "to": "2026-03-29"}
    berlin = ZoneInfo("Europe/Berlin")
    chosen = chosen_sessions(days, berlin)
    logged = log_query(days, NOW, berlin)["filters"]

    assert chosen == {"from": "2026-03-28T23:00:00.000Z", "to": "2026-03-29T22:00:00.000Z"}
    assert [when.isoformat() for when in (logged.from_at, logged.to_at)] == [
        "2026-03-28T23:00:00+00:00",
        "2026-03-29T22:00:00+00:00",
    ]


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01", "x", ""])
def test_days_at_the_ends_of_the_calendar_and_other_texts_are_left_to_the_filters(day: str) -> None:
    chosen = chosen_sessions({"from": day, "to": day}, ZoneInfo("Pacific/Kiritimati"))
    assert set(chosen) <= {"from", "to"}


def test_a_wrong_number_is_named_by_the_label_of_its_field() -> None:
    with pytest.raises(Invalid) as tokens:
        session_query({"minTokens": "many"}, NOW, ZoneInfo("UTC"))
    with pytest.raises(Invalid) as cost:
        log_query({"maxCost": "much"}, NOW, ZoneInfo("UTC"))

    assert str(tokens.value) == "Tokens from: Not a valid integer."
    assert str(cost.value).startswith("Cost, US dollars to: ")
