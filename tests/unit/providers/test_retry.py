"""Retries: how long they wait, when they stop, all on a clock of the test's own."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import ProviderError, ProviderTimeout
from app.providers.failures import ProviderFailure
from app.providers.router import Retry


class Clock:
    """Time that passes only by sleeping, or by an attempt that says how long it took."""

    def __init__(self):
        self.now, self.slept, self.drawn = 100.0, [], []

    def retry(self, share=1.0, **settings):
        def uniform(low, high):
            self.drawn.append((low, high))
            return low + (high - low) * share

        return Retry(monotonic=lambda: self.now, sleep=self.sleep, uniform=uniform, **settings)

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


class Vendor:
    """Fails with each of `failures` in turn, then answers; each attempt takes `takes_s`."""

    def __init__(self, clock, *failures, takes_s=0.0):
        self.clock, self.failures, self.takes_s, self.left = clock, list(failures), takes_s, []

    def __call__(self, left_s):
        self.left.append(left_s)
        self.clock.now += self.takes_s
        if self.failures:
            raise self.failures.pop(0)
        return "answer"


def away(**facts):
    return ProviderFailure("away", retryable=True, **facts)


@pytest.fixture
def clock():
    return Clock()


def test_a_good_answer_is_returned_at_once(clock):
    assert clock.retry().call(Vendor(clock), 60) == "answer"
    assert clock.slept == []


def test_pauses_double_up_to_the_longest(clock):
    vendor = Vendor(clock, *[away() for _ in range(5)])

    assert clock.retry(attempts=6, first_s=1, longest_s=5).call(vendor, 60) == "answer"
    assert clock.slept == [1, 2, 4, 5, 5]


def test_jitter_is_full(clock):
    clock.retry(share=0.25, first_s=2).call(Vendor(clock, away()), 60)

    assert (clock.drawn, clock.slept) == ([(0.0, 2)], [0.5])


def test_retry_after_lengthens_a_pause_but_never_shortens_it(clock):
    vendor = Vendor(clock, away(retry_after_s=3.0), away(retry_after_s=0.1))

    clock.retry(first_s=1).call(vendor, 60)

    assert clock.slept == [3.0, 2]


def test_what_no_retry_helps_is_raised_at_once(clock):
    vendor = Vendor(clock, ProviderFailure("no such key"))

    with pytest.raises(ProviderError, match="no such key"):
        clock.retry().call(vendor, 60)
    assert len(vendor.left) == 1


def test_the_last_failure_is_the_one_that_is_raised(clock):
    vendor = Vendor(clock, away(), away(), ProviderFailure("third", retryable=True))

    with pytest.raises(ProviderError, match="third"):
        clock.retry(attempts=3).call(vendor, 60)
    assert len(clock.slept) == 2


def test_each_attempt_gets_what_is_left_of_the_time(clock):
    vendor = Vendor(clock, away(), away(), takes_s=2.0)

    clock.retry(first_s=1).call(vendor, 60)

    assert vendor.left == [60, 57, 53]


def test_no_pause_goes_beyond_the_deadline(clock):
    vendor = Vendor(clock, away(retry_after_s=10.0))

    with pytest.raises(ProviderFailure, match="away"):
        clock.retry().call(vendor, 10)
    assert clock.slept == []


def test_no_time_at_all_is_a_timeout(clock):
    with pytest.raises(ProviderTimeout):
        clock.retry().call(Vendor(clock), 0)


def test_a_timeout_is_not_tried_again(clock):
    vendor = Vendor(clock, ProviderTimeout("too late"))

    with pytest.raises(ProviderTimeout, match="too late"):
        clock.retry().call(vendor, 60)
    assert len(vendor.left) == 1


@given(st.lists(st.floats(0, 20) | st.none(), max_size=8), st.floats(0.1, 60), st.floats(0, 1), st.integers(1, 6))
def test_attempts_and_pauses_stay_within_their_bounds(retry_afters, timeout_s, share, attempts):
    clock = Clock()
    vendor = Vendor(clock, *[away(retry_after_s=asked) for asked in retry_afters])

    with suppress(ProviderError):
        clock.retry(share, attempts=attempts).call(vendor, timeout_s)

    assert 1 <= len(vendor.left) <= attempts
    assert sum(clock.slept) < timeout_s
