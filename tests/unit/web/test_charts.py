"""Charts stay within their frame, and their scale ends with a round number that no bar exceeds."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.web.charts import bars, chart, day_label, scale_top


@given(st.lists(st.floats(0, 1e9), max_size=50))
def test_bars_stay_within_their_chart(values: list[float]) -> None:
    drawn = bars(values, width=84, height=22)

    assert len(drawn) == len(values)
    assert all(bar.x >= 0 and bar.y >= 0 and bar.height >= 1 and bar.y + bar.height <= 22.01 for bar in drawn)
    assert all(bar.x + bar.width <= 84.01 for bar in drawn)


@pytest.mark.parametrize(
    ("largest", "top"), [(0, 1), (1, 1), (3, 4), (5, 6), (7.5, 8), (9, 10), (41, 60), (100, 100), (0.0031, 0.004)]
)
def test_a_scale_ends_with_a_round_number(largest: float, top: float) -> None:
    assert scale_top(largest) == pytest.approx(top)


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=400))
@example([5e-324])
def test_no_bar_exceeds_the_scale(values: list[float]) -> None:
    drawn = chart([(str(place), value) for place, value in enumerate(values)])

    assert drawn.top >= max(values) * (1 - 1e-6)
    assert all(bar.y >= -0.01 and bar.y + bar.height <= 80.01 for bar in drawn.bars)


def test_a_chart_knows_its_sum_and_its_peak() -> None:
    drawn = chart([("Monday", 2), ("Tuesday", 7), ("Wednesday", 1)])

    assert (drawn.total, drawn.peak, drawn.top, drawn.half) == (10, ("Tuesday", 7), 8, 4)


def test_a_year_of_days_has_bars_that_can_be_seen() -> None:
    drawn = bars([1.0] * 365, width=600, height=80)

    assert min(bar.width for bar in drawn) > 0.5
    assert drawn[-1].x + drawn[-1].width <= 600.5


def test_a_day_is_named_by_its_number_and_month() -> None:
    assert [day_label(date(2026, 3, 9)), day_label(date(2026, 11, 28))] == ["9 Mar", "28 Nov"]
