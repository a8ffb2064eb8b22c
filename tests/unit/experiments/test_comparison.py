"""Two versions differ where their intervals do not overlap, and nothing is claimed where they do."""

from __future__ import annotations

from collections import Counter

import pytest

from app.experiments.comparison import (
    Estimate,
    Finding,
    estimated_mean,
    estimated_quantile,
    estimated_share,
    student,
    summary,
)
from app.sessions.figures import bucket_of


def failing(before: tuple[int, int], after: tuple[int, int]) -> Finding:
    return Finding("failedSessions", estimated_share(*before), estimated_share(*after), "lower")


@pytest.mark.parametrize(("freedom", "expected"), [(4, 2.776), (10, 2.228), (30, 2.042), (1000, 1.962)])
def test_students_quantile_is_that_of_the_tables(freedom: int, expected: float) -> None:
    assert student(freedom) == pytest.approx(expected, rel=0.005)


def test_a_mean_has_an_interval_where_its_values_define_one() -> None:
    assert estimated_mean([]) == Estimate()
    assert estimated_mean([3.0, 4.0]) == Estimate(3.5)
    assert estimated_mean([5.0] * 20) == Estimate(5.0)
    told = estimated_mean([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (told.low, told.high) == pytest.approx((3 - 1.963, 3 + 1.963), abs=0.01)
    thumbs = estimated_mean([1.0] * 8)
    assert (thumbs.value, thumbs.high) == (1, 1)
    assert 0.6 < (thumbs.low or 0) < 0.7


def test_medians_in_neighbouring_buckets_do_not_differ() -> None:
    one, other = (estimated_quantile(Counter({bucket_of(value): 1_000}), 0.5, per=1_000) for value in (1_000, 1_095))

    assert Finding("turnMs", one, other, "lower").change == "unclear"
    assert Finding("turnMs", one, estimated_quantile(Counter({bucket_of(2_000): 1_000}), 0.5)).change == "higher"


def test_the_sentence_names_what_got_better_and_what_got_worse() -> None:
    better, worse = (
        failing((50, 100), (5, 100)),
        Finding("sessionCost", Estimate(1, 0.9, 1.1), Estimate(2, 1.9, 2.1), "lower"),
    )
    unclear = failing((5, 100), (6, 100))

    assert summary([better]) == "It got better: fewer sessions with errors."
    assert summary([better, worse]) == "It got better: fewer sessions with errors; and worse: dearer sessions."
    assert summary([worse, unclear]) == ("It got worse: dearer sessions. The other figures show no difference.")
    assert summary([unclear]) == (
        "The figures show no difference: the intervals of the two versions overlap in all of them."
    )


def test_a_score_is_higher_or_lower_and_neither_better_nor_worse() -> None:
    score = Finding("helpful", Estimate(1, 0.9, 1.1), Estimate(2, 1.9, 2.1), score=True)

    assert score.improved is None
    assert summary([score]) == "It changed: a higher score of helpful."


def test_too_little_is_reported_as_too_little() -> None:
    alone = failing((0, 0), (5, 100))

    assert alone.change is None
    assert summary([alone]) == summary([]) == "Too little was recorded of one of the versions to compare them."
