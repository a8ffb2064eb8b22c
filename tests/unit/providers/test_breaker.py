"""The circuit breaker of calls: what opens it, for whom, and what closes it, on a clock of the test's own."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import ProviderError, ProviderTimeout
from app.providers.breaker import (
    CALLS_MIN,
    CALLS_PER_MODEL,
    CALLS_REMEMBERED,
    CIRCUITS_MAX,
    COOL_DOWN_S,
    WINDOW_S,
    CallBreaker,
)
from app.providers.failures import ProviderFailure

UPSTREAM = ("OPENAI", "fingerprint", None)
OTHER = ("OPENAI", "another", None)


def outage():
    return ProviderFailure("down", retryable=True, outage=True)


def refusal():
    return ProviderFailure("429")


class Calls:
    """Calls through a breaker, and the time at which they end."""

    def __init__(self):
        self.now = 0.0
        self.breaker = CallBreaker(lambda: self.now)

    def end(self, error=None, model="gpt", upstream=UPSTREAM):
        with self.breaker.guard(upstream, "OPENAI", model):
            if error is not None:
                raise error

    def fail(self, times, error=outage, **called):
        for _ in range(times):
            made = error()
            with pytest.raises(type(made)) as raised:
                self.end(made, **called)
            assert raised.value is made, "it was not let through"

    def is_refused(self, **called):
        try:
            with self.breaker.guard(called.pop("upstream", UPSTREAM), "OPENAI", called.pop("model", "gpt")):
                raise ProviderTimeout("says nothing")
        except ProviderTimeout:
            return False
        except ProviderError:
            return True


@pytest.fixture
def calls():
    return Calls()


def test_two_failing_runs_refuse_nothing(calls):
    calls.fail(2)

    assert not calls.is_refused()
    assert not calls.is_refused(model="another")


def test_a_model_is_refused_after_ten_calls_half_of_them_outages(calls):
    for _ in range(CALLS_MIN // 2):
        calls.end()
    calls.fail(CALLS_MIN // 2 - 1)
    assert not calls.is_refused()

    calls.fail(1)

    with pytest.raises(ProviderError, match=r"Most of the latest calls of gpt of OPENAI failed"):
        calls.end()


def test_fewer_outages_than_half_refuse_nothing(calls):
    for _ in range(20):
        calls.fail(1)
        calls.end()
        calls.end()

    assert not calls.is_refused()


def test_one_model_refuses_no_other_model_nor_upstream(calls):
    calls.fail(CALLS_MIN)

    assert calls.is_refused()
    assert not calls.is_refused(model="another")
    assert not calls.is_refused(upstream=OTHER)


def test_two_models_refuse_no_third(calls):
    calls.fail(CALLS_MIN)
    calls.fail(CALLS_MIN, model="second")

    assert not calls.is_refused(model="third")


def test_three_models_that_are_down_refuse_the_upstream(calls):
    for model in ("first", "second"):
        calls.fail(CALLS_PER_MODEL, model=model)
    calls.fail(CALLS_MIN - 2 * CALLS_PER_MODEL, model="third")

    assert calls.is_refused(model="fourth")
    assert not calls.is_refused(model="fourth", upstream=OTHER)


def test_models_that_answer_keep_the_upstream_open(calls):
    for model in ("well", "as well", "better"):
        for _ in range(CALLS_PER_MODEL):
            calls.end(model=model)
    calls.fail(CALLS_MIN)
    calls.fail(CALLS_MIN, model="second")

    assert not calls.is_refused(model="third")


def test_what_is_older_than_the_window_is_forgotten(calls):
    calls.fail(CALLS_MIN - 1)
    calls.now += WINDOW_S + 1
    calls.fail(1)

    assert not calls.is_refused()


@pytest.mark.parametrize("error", [lambda: ValueError("a bug of ours"), lambda: ProviderTimeout("slow")])
def test_errors_that_are_no_sign_of_the_vendors_health_do_not_count(calls, error):
    calls.fail(50, error)
    calls.fail(CALLS_MIN - 1)

    assert not calls.is_refused()


def test_a_refusal_shows_that_the_vendor_is_up(calls):
    calls.fail(CALLS_MIN, refusal)
    calls.fail(CALLS_MIN - 1)

    assert not calls.is_refused()


def test_one_good_probe_closes_it(calls):
    calls.fail(CALLS_MIN)
    calls.now += COOL_DOWN_S

    calls.end()

    assert not calls.is_refused()
    calls.fail(CALLS_MIN - 2)
    assert not calls.is_refused()


def test_only_one_probes_at_a_time(calls):
    calls.fail(CALLS_MIN)
    calls.now += COOL_DOWN_S

    with calls.breaker.guard(UPSTREAM, "OPENAI", "gpt"):
        assert calls.is_refused()

    assert not calls.is_refused()


def test_a_probe_that_hangs_keeps_no_other_from_probing(calls):
    calls.fail(CALLS_MIN)
    calls.now += COOL_DOWN_S

    with calls.breaker.guard(UPSTREAM, "OPENAI", "gpt"):
        calls.now += COOL_DOWN_S
        calls.end()

    assert not calls.is_refused()


@pytest.mark.parametrize("error", [outage, lambda: ProviderTimeout("slow"), lambda: KeyboardInterrupt()])
def test_a_probe_without_success_keeps_it_open_for_another_while(calls, error):
    calls.fail(CALLS_MIN)
    calls.now += COOL_DOWN_S
    calls.fail(1, error)

    calls.now += COOL_DOWN_S - 0.1
    assert calls.is_refused()
    calls.now += 0.1
    calls.end()
    assert not calls.is_refused()


def test_a_call_that_began_before_neither_opens_nor_closes_it_again(calls):
    with calls.breaker.guard(UPSTREAM, "OPENAI", "gpt"):
        calls.fail(CALLS_MIN)

    assert calls.is_refused()


def test_keys_that_come_and_go_fill_no_memory(calls):
    for number in range(CIRCUITS_MAX):
        calls.end(upstream=number)
    calls.fail(5 * CALLS_REMEMBERED, refusal)

    assert len(calls.breaker._circuits) == CIRCUITS_MAX
    assert max(len(circuit.ended) for circuit in calls.breaker._circuits.values()) == CALLS_REMEMBERED


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([None, outage, refusal]), st.floats(0, 30))))
def test_nothing_that_happens_to_two_models_refuses_a_third(happened):
    calls = Calls()
    for model, error, pause in happened:
        calls.now += pause
        with suppress(ProviderError):
            calls.end(error and error(), model=model)
        assert not calls.is_refused(model="third")


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans(), st.floats(0, 30)), max_size=60))
def test_a_model_is_refused_only_after_a_window_of_calls_and_soon_after_one_that_failed(happened):
    calls, ends = Calls(), []
    for model, fails, pause in happened:
        calls.now += pause
        try:
            calls.end(outage() if fails else None, model=model)
            ends.append((calls.now, False))
        except ProviderFailure:
            ends.append((calls.now, True))
        except ProviderError:
            # A probe that failed keeps a circuit open, however long ago it opened.
            assert most_in_a_window(ends) >= CALLS_MIN
            assert any(failed and calls.now - at < COOL_DOWN_S for at, failed in ends)


def most_in_a_window(ends):
    return max(sum(0 <= end - at <= WINDOW_S for at, _ in ends) for end, _ in ends)
