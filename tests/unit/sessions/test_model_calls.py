"""The calls of a session add up whatever the order, and stay few."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.sessions.model_calls import SESSION_CALLS_MAX, CallSums, ModelCalls, calls_in, difference, summed
from app.sessions.types import Usage
from tests.support.operations import growth_of

CALLS = st.builds(
    ModelCalls,
    st.sampled_from(["openai", "", "a\nb"]),
    st.sampled_from(["m", "n", "\u2028", "\x00", "\U0001f600"]),
    st.sampled_from([0, 32_000]),
    st.just(1),
    st.builds(Usage, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
)


@given(st.lists(st.lists(CALLS, max_size=4), max_size=5))
def test_lines_of_several_batches_add_up_to_the_sums_of_all_calls(batches: list[list[ModelCalls]]) -> None:
    lines = b"".join(CallSums(batch).lines for batch in batches)

    assert calls_in(lines).calls == CallSums(call for batch in batches for call in batch).calls
    assert calls_in(lines).usage == sum((call.usage for batch in batches for call in batch), Usage())


@given(st.lists(CALLS, max_size=8), st.lists(CALLS, max_size=8))
def test_calls_that_were_added_before_are_subtracted(before: list[ModelCalls], after: list[ModelCalls]) -> None:
    change = CallSums()
    change.add(after, before)

    assert calls_in(CallSums(before).lines + change.lines).calls == CallSums(after).calls


@given(st.integers(0, 5 * SESSION_CALLS_MAX), st.integers())
def test_models_beyond_the_limit_are_one_sum_in_any_order(size: int, seed: int) -> None:
    chance = Random(seed)
    numbers = chance.choices(range(3 * SESSION_CALLS_MAX), k=size)
    calls = [ModelCalls("p", f"m{n:04}", 0, 1, Usage(n, 1)) for n in numbers]
    other = chance.sample(calls, len(calls))

    assert CallSums(calls).calls == CallSums(other).calls
    assert len(CallSums(calls).calls) <= SESSION_CALLS_MAX + 1
    assert CallSums(calls).usage == sum((call.usage for call in calls), Usage())


@given(st.integers())
def test_models_with_long_names_are_one_sum_beyond_the_bytes_in_any_order(seed: int) -> None:
    chance = Random(seed)
    calls = [ModelCalls("p", f"{n:04}" + "\U0001f600" * 251, 0, 1, Usage(n, 1)) for n in range(300)]
    other = chance.sample(calls, len(calls))

    assert CallSums(calls).calls == CallSums(other).calls
    assert len(CallSums(calls).lines) < 80_000
    assert CallSums(calls).usage == sum((call.usage for call in calls), Usage())


def test_the_difference_of_the_calls_that_two_turns_keep_loses_no_name() -> None:
    before = summed(ModelCalls("p", f"b{n:03}" + "x" * 250, 0, 1, Usage(1, 1)) for n in range(100))
    after = summed(ModelCalls("p", f"a{n:03}" + "x" * 250, 0, 1, Usage(1, 1)) for n in range(100))

    change = difference(before, after)

    assert {calls.model for calls in change} == {calls.model for calls in (*before, *after)} - {""}


@pytest.mark.slow
def test_adding_calls_of_other_models_needs_work_in_step_with_them() -> None:
    def prepare(size: int) -> Callable[[], object]:
        calls = [[ModelCalls("p", f"m{size - n:06}", 0, 1, Usage(1, 1))] for n in range(size)]
        sums = CallSums()
        return lambda: [sums.add(of_turn) for of_turn in calls]

    assert growth_of(prepare, 400) < 2.5
