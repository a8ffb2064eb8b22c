"""The circuit breaker: when it opens, which call may probe, and when it closes, on a clock of the test's own."""

from collections.abc import Callable

import pytest

from app.concurrency.breaker import OutageBreaker
from app.errors import Unavailable


class Clock:
    def __init__(self) -> None:
        self.now = 0.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


def is_outage(error: BaseException) -> bool | None:
    """A time-out is an outage, an error of the server shows that it answers; other errors are no evidence."""
    return {TimeoutError: True, ValueError: False}.get(type(error))


@pytest.fixture
def breaker(clock: Clock) -> OutageBreaker:
    return OutageBreaker("Redis", is_outage=is_outage, refusal=Unavailable, cool_down_s=10, monotonic=lambda: clock.now)


def fail(breaker: OutageBreaker, error: BaseException) -> None:
    with pytest.raises(type(error)), breaker.guard():
        raise error


def is_open(breaker: OutageBreaker) -> bool:
    try:
        with breaker.guard():
            return False
    except Unavailable:
        return True


def test_it_opens_after_an_outage_and_names_the_server(breaker: OutageBreaker) -> None:
    fail(breaker, TimeoutError())

    with pytest.raises(Unavailable, match="Redis failed 1 times in a row"), breaker.guard():
        pass


def test_after_an_outage_that_is_noticed_elsewhere_one_call_probes_at_once(breaker: OutageBreaker) -> None:
    breaker.note_outage()
    with breaker.guard():
        assert is_open(breaker)
    assert not is_open(breaker)


def test_a_probe_without_an_answer_after_an_outage_that_is_noticed_elsewhere_begins_the_cool_down(
    breaker: OutageBreaker, clock: Clock
) -> None:
    breaker.note_outage()
    fail(breaker, TimeoutError())
    assert is_open(breaker)
    clock.now += 10
    assert not is_open(breaker)


@pytest.mark.parametrize("error", [ValueError("refused"), KeyError("a bug of ours"), KeyboardInterrupt()])
def test_no_other_error_opens_it(breaker: OutageBreaker, error: BaseException) -> None:
    fail(breaker, error)

    assert not is_open(breaker)


@pytest.mark.parametrize("answer", [lambda: None, lambda: _raise(ValueError("refused"))])
def test_after_the_cool_down_a_probe_that_is_answered_closes_it(
    breaker: OutageBreaker, clock: Clock, answer: Callable[[], None]
) -> None:
    fail(breaker, TimeoutError())
    clock.now = 10

    try:
        with breaker.guard():
            answer()
    except ValueError:
        pass

    assert not is_open(breaker)


def test_only_one_probes_at_a_time(breaker: OutageBreaker, clock: Clock) -> None:
    fail(breaker, TimeoutError())
    clock.now = 10

    with breaker.guard():
        assert is_open(breaker)

    assert not is_open(breaker)


@pytest.mark.parametrize("error", [TimeoutError(), KeyError("a bug of ours"), KeyboardInterrupt()])
def test_a_probe_that_is_not_answered_keeps_it_open_for_another_while(
    breaker: OutageBreaker, clock: Clock, error: BaseException
) -> None:
    fail(breaker, TimeoutError())
    clock.now = 10
    fail(breaker, error)

    clock.now = 19.9
    assert is_open(breaker)
    clock.now = 20
    assert not is_open(breaker)


def _raise(error: Exception) -> None:
    raise error
