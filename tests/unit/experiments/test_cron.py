"""When schedules are due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.experiments.cron import MISSED_MAX, Due, check_cron, check_zone, cron_words, latest_due, next_due

BERLIN = ZoneInfo("Europe/Berlin")
EXPRESSIONS = ("0 3 * * *", "30 2 * * *", "15 1,2,3 * * *", "0 * * * *", "30 2 * * SUN", "0 9 * * MON-FRI", "0 0 1 * *")
START = datetime(2026, 3, 20, tzinfo=UTC)
moments = st.integers(0, 60 * 24 * 250).map(lambda minutes: START + timedelta(minutes=minutes))


def all_due(cron: str, after: datetime, until: datetime) -> list[datetime]:
    times, due = [], next_due(cron, BERLIN, after)
    while due is not None and due <= until:
        times.append(due)
        due = next_due(cron, BERLIN, due)
    return times


@given(st.sampled_from(EXPRESSIONS), moments, moments)
def test_the_latest_due_time_is_the_last_of_all(cron: str, after: datetime, now: datetime) -> None:
    times = all_due(cron, after, now)
    due = latest_due(cron, BERLIN, after=after, now=now)
    if not times:
        assert due is None
    elif len(times) <= MISSED_MAX:
        assert due == Due(times[-1], len(times) - 1)
    else:
        assert due == Due(times[-1], MISSED_MAX)


@given(st.sampled_from(EXPRESSIONS), moments, moments)
def test_a_due_time_does_not_depend_on_the_time_from_which_it_is_searched(
    cron: str, first: datetime, second: datetime
) -> None:
    early, late = sorted((first, second))
    until = late + timedelta(days=40)
    assert all_due(cron, late, until) == [due for due in all_due(cron, early, until) if due > late]


def test_a_daily_time_that_the_clocks_skip_or_repeat_is_due_once_a_day() -> None:
    times = all_due("30 2 * * *", START, datetime(2026, 12, 1, tzinfo=UTC))
    days = [due.astimezone(BERLIN).date() for due in times]
    assert len(set(days)) == len(days)
    assert {later - earlier for earlier, later in pairwise(days)} == {timedelta(days=1)}


@pytest.mark.parametrize(
    ("cron", "message"),
    [
        ("* * * * *", "more often than once an hour"),
        ("0,30 3 * * *", "more often than once an hour"),
        ("0 0 3 * * *", "five fields"),
        ("@daily", "five fields"),
        ("61 3 * * *", "Bad minute"),
        ("0 0 30 2 *", "Bad day-of-month"),
        ("0 3 * * \N{GRINNING FACE}", "Bad day-of-week"),
    ],
)
def test_an_impossible_expression_is_refused(cron: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_cron(cron)


@given(st.text(max_size=100))
def test_any_text_is_accepted_or_refused_as_an_expression_and_as_a_zone(text: str) -> None:
    for check in (check_cron, check_zone):
        try:
            check(text)
        except ValueError:
            continue


@pytest.mark.parametrize("name", ["localtime", "right/UTC", "posix/Europe/Berlin", "Factory", "Europe", "../UTC", ""])
def test_a_name_that_means_another_time_elsewhere_is_no_zone(name: str) -> None:
    check_zone("Europe/Berlin")
    with pytest.raises(ValueError, match="IANA database"):
        check_zone(name)


@pytest.mark.parametrize("cron", EXPRESSIONS)
def test_each_expression_that_is_accepted_has_words(cron: str) -> None:
    check_cron(cron)
    assert cron_words(cron).startswith("At ")
