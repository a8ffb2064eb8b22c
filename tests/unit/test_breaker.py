"""The circuit breaker: when it opens, who may probe, and when it closes, on a clock of the test's own."""

import pytest

from app.breaker import Breaker
from app.errors import ProviderError, ProviderTimeout
from app.providers.failures import ProviderFailure

DOWN = ("OPENAI", "fingerprint", None)
OTHER = ("OPENAI", "another", None)


def is_outage(error):
    return error.outage if isinstance(error, ProviderFailure) else None


class Time:
    def __init__(self):
        self.now = 0.0


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def breaker(time):
    return Breaker(is_outage=is_outage, refusal=ProviderError, threshold=3, cool_down_s=10, monotonic=lambda: time.now)


def call(breaker, error=None, key=DOWN):
    with breaker.guard(key, "OPENAI"):
        if error is not None:
            raise error


def outage():
    return ProviderFailure("down", retryable=True, outage=True)


def fail(breaker, times, error=outage, key=DOWN):
    for _ in range(times):
        made = error()
        with pytest.raises(type(made)):
            call(breaker, made, key)


def is_open(breaker, key=DOWN):
    try:
        call(breaker, key=key)
    except ProviderError:
        return True
    return False


def test_it_stays_closed_below_the_threshold(breaker):
    fail(breaker, 2)

    assert not is_open(breaker)


def test_it_opens_after_outages_in_a_row_and_names_the_vendor(breaker):
    fail(breaker, 3)

    with pytest.raises(ProviderError, match="OPENAI failed 3 times in a row"):
        call(breaker)


def test_a_success_in_between_starts_the_count_anew(breaker):
    fail(breaker, 2)
    call(breaker)
    fail(breaker, 2)

    assert not is_open(breaker)


def test_a_refusal_shows_that_the_vendor_is_up(breaker):
    fail(breaker, 2)
    fail(breaker, 1, lambda: ProviderFailure("429"))
    fail(breaker, 2)

    assert not is_open(breaker)


def test_errors_that_say_nothing_about_the_vendor_neither_count_nor_forgive(breaker):
    fail(breaker, 2)
    fail(breaker, 5, lambda: ValueError("a bug of ours"))
    fail(breaker, 5, lambda: ProviderTimeout("slow"))
    fail(breaker, 1)

    assert is_open(breaker)


def test_others_are_not_affected(breaker):
    fail(breaker, 3)

    assert not is_open(breaker, OTHER)


def test_after_the_cool_down_one_good_probe_closes_it(breaker, time):
    fail(breaker, 3)
    time.now = 10

    call(breaker)

    assert not is_open(breaker)


def test_only_one_probes_at_a_time(breaker, time):
    fail(breaker, 3)
    time.now = 10

    with breaker.guard(DOWN, "OPENAI"):
        assert is_open(breaker)

    assert not is_open(breaker)


@pytest.mark.parametrize("error", [outage, lambda: ProviderTimeout("slow"), lambda: KeyboardInterrupt()])
def test_a_probe_without_success_keeps_it_open_for_another_while(breaker, time, error):
    fail(breaker, 3)
    time.now = 10
    fail(breaker, 1, error)

    time.now = 19.9
    assert is_open(breaker)
    time.now = 20
    assert not is_open(breaker)


def test_keys_that_are_well_leave_nothing_in_memory(breaker):
    for number in range(100):
        call(breaker, key=number)
        fail(breaker, 1, lambda: ValueError("ours"), key=number)

    assert breaker._circuits == {}
