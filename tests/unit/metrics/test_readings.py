"""Percentiles out of buckets."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.metrics.readings import Distribution, merged, quantile
from app.metrics.registry import BATCH_SECONDS

values = st.lists(st.floats(0, 1000, allow_nan=False), min_size=1, max_size=50)


def distribution(observed: list[float]) -> Distribution:
    counts = dict.fromkeys(BATCH_SECONDS.bounds(), 0)
    for value in observed:
        counts[BATCH_SECONDS.bound(value)] += 1
    return Distribution(counts, sum(observed))


def test_nothing_observed_has_no_percentile() -> None:
    assert quantile(distribution([]), 0.5) is None


def test_a_percentile_is_interpolated_in_its_bucket() -> None:
    assert quantile(Distribution({"1.0": 10, "2.0": 10, "+Inf": 0}, 0.0), 0.75) == pytest.approx(1.5)


def test_beyond_the_last_bound_it_is_that_bound() -> None:
    assert quantile(distribution([5000.0]), 0.5) == BATCH_SECONDS.buckets[-1]


@given(values, st.floats(0.01, 1))
def test_it_lies_in_the_bucket_of_the_exact_percentile(observed: list[float], q: float) -> None:
    found = quantile(distribution(observed), q)
    exact = sorted(observed)[math.ceil(q * len(observed)) - 1]
    bounds = [0.0, *BATCH_SECONDS.buckets]
    above = next((bound for bound in bounds[1:] if bound >= exact), bounds[-1])
    assert found is not None
    assert bounds[bounds.index(above) - 1] <= found <= above


@given(values, values)
def test_merging_is_observing_both(one: list[float], other: list[float]) -> None:
    both = merged([distribution(one), distribution(other)])
    assert both.counts == distribution(one + other).counts
    assert both.sum == pytest.approx(sum(one) + sum(other))
