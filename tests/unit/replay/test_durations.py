"""Durations and intervals of ISO 8601 are equal if they last as long, and no day is a number of hours."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.durations import Duration, duration_of, interval_of, same_duration

amounts = st.integers(0, 400)


@given(amounts, amounts, amounts, amounts, amounts, amounts)
def test_a_duration_has_its_months_days_and_seconds(
    years: int, months: int, days: int, hours: int, minutes: int, seconds: int
) -> None:
    text = f"P{years}Y{months}M{days}DT{hours}H{minutes}M{seconds}S"

    assert duration_of(text) == Duration(12 * years + months, days, Decimal(3600 * hours + 60 * minutes + seconds))
    assert same_duration(text, f"P{12 * years + months}M{days}DT{60 * hours + minutes}M{seconds}S")
    assert not same_duration(text, f"P{years}Y{months}M{days}DT{hours}H{minutes}M{seconds + 1}S")
    assert not same_duration(text, f"P{years}Y{months}M{days + 1}DT{hours}H{minutes}M{seconds}S")


@pytest.mark.parametrize(
    ("left", "right", "is_same"),
    [
        ("PT60M", "PT1H", True),
        ("PT1.50S", "PT1.5S", True),
        ("P7D", "P1W", True),
        ("P12M", "P1Y", True),
        ("P1D", "PT24H", False),
        ("P30D", "P1M", False),
        ("P1M", "PT1M", False),
        ("PT60M", "PT60S", False),
        ("PT1H", "-PT1H", False),
        ("PT1H", "1 hour", False),
    ],
)
def test_durations_are_the_same_if_they_last_as_long(left: str, right: str, is_same: bool) -> None:
    assert same_duration(left, right) == same_duration(right, left) == is_same


@pytest.mark.parametrize("text", ["", "P", "PT", "P1", "1H", "P1H", "PT1D", "P1DT", "P-1D", "P1S", "PT1H30", "٣"])
def test_another_text_is_no_duration(text: str) -> None:
    assert duration_of(text) is None


SAME = ["2026-12-01T09:00:00Z/PT1H", "2026-12-01T09:00:00Z/2026-12-01T10:00:00Z", "PT60M/2026-12-01T11:00:00+01:00"]
OTHER = [
    "2026-12-01T09:00:00Z/PT1M",
    "PT1H/2026-12-01T11:00:00Z",
    "2026-12-01T08:00:00Z/PT1H",
    "2026-12-01T09:00:00/PT1H",
    "2026-12-01T10:00:00Z/2026-12-01T09:00:00Z",
]


def test_intervals_are_the_same_if_both_ends_are() -> None:
    assert [pair for pair in pairwise(SAME) if interval_of(pair[0]) != interval_of(pair[1])] == []
    assert [text for text in OTHER if interval_of(text) in (None, interval_of(SAME[0]))] == []


@pytest.mark.parametrize(
    "text", ["a/b", "PT1H/PT1H", "2026-12-01T09:00Z", "2026-12-01T09:00Z/P1M", "2026-12-01T09:00Z/P999999W"]
)
def test_an_interval_has_two_ends_that_are_known(text: str) -> None:
    assert interval_of(text) is None
