"""Figures add up in any order, and a sketch has quantiles within its error."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.prices.book import NO_PRICES
from app.sessions.facts import TurnFacts
from app.sessions.figures import Figures, bucket_of, count, dump, load, quantile, quantile_interval, total, value_of

SKETCHES = st.dictionaries(st.integers(0, 400), st.integers(1, 1000), max_size=5)
FIGURES = st.builds(Figures, sessions=st.integers(0, 10**9), errors=st.integers(0, 10**9), latency=SKETCHES)


@given(st.lists(FIGURES, max_size=5))
def test_figures_that_are_taken_away_again_leave_nothing(some: list[Figures]) -> None:
    assert total([*some, *(one.negative for one in reversed(some))]) == Figures()
    assert load(dump(total(some))) == total(reversed(some))


@given(st.floats(1, 1e18))
def test_a_bucket_has_its_values_within_five_percent(value: float) -> None:
    assert value_of(bucket_of(value)) == pytest.approx(value, rel=0.05)


@pytest.mark.parametrize("value", [0, 0.4, -5])
def test_values_below_one_are_read_as_none(value: float) -> None:
    assert value_of(bucket_of(value)) == 0


def test_quantiles_and_their_intervals_are_those_of_the_values() -> None:
    values = sorted(random.Random(7).lognormvariate(7, 1) for _ in range(2_000))
    sketch = Counter(map(bucket_of, values))

    for share in (0.5, 0.95):
        low, high = quantile_interval(sketch, share) or (0, 0)
        assert quantile(sketch, share) == pytest.approx(values[int(share * 2_000) - 1], rel=0.05)
        assert low <= values[int(share * 2_000)] * 1.05
        assert high >= values[int(share * 2_000)] / 1.05
        assert 1 < high / low < 1.5


def test_few_values_have_no_interval() -> None:
    sketch = Counter(map(bucket_of, range(1, 11)))

    assert quantile_interval(sketch, 0.5) is not None
    assert quantile_interval(sketch, 0.95) is None
    assert quantile({}, 0.5) is None
    assert quantile_interval({}, 0.5) is None


def test_a_session_of_one_version_and_model_counts_for_them_and_one_of_several_for_none() -> None:
    turns = [TurnFacts(0, 10**9, 1, models=frozenset({"m"}), prompt_versions=frozenset({v})) for v in ("a", "b")]

    alone, both = (count(date(2026, 1, 1), some, NO_PRICES)[0] for some in (turns[:1], turns))

    assert (alone.version, alone.model) == ("a", "m")
    assert (both.version, both.model, both.figures.turns) == ("", "m", 2)
