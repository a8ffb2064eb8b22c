"""Times of every export are nanoseconds since 1970."""

from __future__ import annotations

from typing import Any

import pytest
from reprise_formats.importers.times import nanoseconds

NOON = 1_767_268_800 * 10**9


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-01T12:00:00Z",
        "2026-01-01T12:00:00",
        "2026-01-01 12:00:00.000000",
        "2026-01-01T12:00:00+00:00",
        "2026-01-01T14:30:00+0230",
        "2026-01-01T07:00:00.0-05",
        " 2026-01-01 12:00:00 +00:00 ",
        1_767_268_800,
        1_767_268_800.0,
        1_767_268_800_000,
        1_767_268_800_000_000,
        NOON,
    ],
)
def test_each_form_is_the_same_moment(value: Any) -> None:
    assert nanoseconds(value) == NOON


@pytest.mark.parametrize(
    ("value", "fraction"),
    [
        ("2026-01-01T12:00:00.5Z", 5 * 10**8),
        ("2026-01-01T12:00:00.123456789Z", 123456789),
        ("2026-01-01T12:00:00.1234567891234Z", 123456789),
    ],
)
def test_fractions_are_kept_to_the_nanosecond(value: str, fraction: int) -> None:
    assert nanoseconds(value) == NOON + fraction


@pytest.mark.parametrize(
    "value",
    [
        *("", "yesterday", "2026-13-01T00:00:00Z", "2026-01-01T25:00:00Z", "2026-01-01T00:00:00+99:99"),
        *("0001-01-01T00:00:00Z", "9999-12-31T00:00:00Z", "٢٠٢٦-01-01T00:00:00Z"),
        *(None, 0, -1, 10**30, True, float("nan"), float("inf"), [], {}),
    ],
)
def test_what_is_no_time_is_none(value: Any) -> None:
    assert nanoseconds(value) is None
