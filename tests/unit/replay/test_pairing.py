from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.case_types import CaseStep, Check, CheckedAnswer, CheckedCall, Order
from app.replay.result_types import ProducedAnswer, ProducedCall, ProducedStep
from tests.unit.replay.fakes import answer, call, compare, pair

checks = st.builds(
    Check,
    enabled=st.sampled_from([True, True, False]),
    arguments=st.sampled_from(["exact", "subset", "ignore"]),
    ignore_paths=st.sampled_from([(), ("/b",)]),
)
arguments = st.fixed_dictionaries({}, optional={"a": st.integers(0, 1), "b": st.integers(0, 1)})
recorded = st.builds(CheckedCall, name=st.sampled_from("fg"), arguments=arguments, check=checks) | st.builds(
    CheckedAnswer, text=st.sampled_from(["x", "y"])
)
produced = st.builds(ProducedCall, st.sampled_from("fg"), arguments) | st.builds(
    ProducedAnswer, text=st.sampled_from(["x", "y"])
)


def labels(steps: Sequence[CaseStep | ProducedStep], several: bool) -> list[tuple[str, str]]:
    """What steps share with the steps of the other side; `several` if a program has several answers."""
    last = max((index for index, step in enumerate(steps) if step.kind == "answer"), default=None)
    return [
        (step.kind, step.name if step.kind == "tool_call" else "last" if several and index == last else "")
        for index, step in enumerate(steps)
    ]


def both_labels(
    steps: Sequence[CaseStep], made_steps: Sequence[ProducedStep]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    several = sum(step.kind == "answer" for step in made_steps) > 1
    return labels(steps, several), labels(made_steps, several)


def made(name: str, given_arguments: Any = None) -> ProducedStep:
    return ProducedCall(name, given_arguments)


def score(steps: list[CaseStep], made_steps: list[ProducedStep], pairs: dict[int, int]) -> tuple[int, int]:
    """Count the pairs of checked steps, and those of them that pass."""
    checked = [(steps[left], made_steps[right]) for left, right in pairs.items() if steps[left].checked]
    return len(checked), sum(compare(*each).result == "passed" for each in checked)


def all_pairings(steps: list[CaseStep], made_steps: list[ProducedStep]) -> list[dict[int, int]]:
    places = [*range(len(made_steps)), *([None] * len(steps))]
    lefts, rights_labels = both_labels(steps, made_steps)
    return [
        {left: right for left, right in enumerate(rights) if right is not None}
        for rights in set(permutations(places, len(steps)))
        if all(right is None or lefts[left] == rights_labels[right] for left, right in enumerate(rights))
    ]


def rises(steps: list[CaseStep], pairs: dict[int, int]) -> bool:
    rights = [right for left, right in pairs.items() if steps[left].checked]
    return rights == sorted(rights)


@given(st.lists(recorded, max_size=4), st.lists(produced, max_size=4))
def test_under_any_order_as_many_pass_as_can_and_none_waits_for_a_step_that_is_left(
    steps: list[CaseStep], made_steps: list[ProducedStep]
) -> None:
    best = max(score(steps, made_steps, pairs)[1] for pairs in all_pairings(steps, made_steps))

    pairs = pair(steps, made_steps, "any")

    assert score(steps, made_steps, pairs)[1] == best
    lefts, rights = both_labels(steps, made_steps)
    left = {name for index, name in enumerate(rights) if index not in pairs.values()}
    assert not left & {name for index, name in enumerate(lefts) if index not in pairs}


@given(st.lists(recorded, max_size=4), st.lists(produced, max_size=4))
def test_in_order_the_subsequence_by_name_is_longest_and_then_as_many_pass_as_can(
    steps: list[CaseStep], made_steps: list[ProducedStep]
) -> None:
    rising = [pairs for pairs in all_pairings(steps, made_steps) if rises(steps, pairs)]

    pairs = dict(sorted(pair(steps, made_steps, "in_order").items()))

    assert rises(steps, pairs)
    assert score(steps, made_steps, pairs) == max(score(steps, made_steps, each) for each in rising)


@given(st.lists(recorded, max_size=6), st.lists(produced, max_size=6), st.sampled_from(["any", "in_order"]))
def test_no_produced_step_is_paired_twice_or_with_another_name(
    steps: list[CaseStep], made_steps: list[ProducedStep], order: Order
) -> None:
    pairs = pair(steps, made_steps, order)

    assert len(set(pairs.values())) == len(pairs)
    lefts, rights = both_labels(steps, made_steps)
    assert all(lefts[left] == rights[right] for left, right in pairs.items())


def test_a_failed_call_is_held_against_the_one_most_like_it() -> None:
    steps = [call("f", {"a": 1, "b": 2, "c": 3}), call("f", {"x": 1, "y": 2, "z": 3})]
    made_steps = [made("f", {"x": 1, "y": 2, "z": 0}), made("f", {"a": 1, "b": 2, "c": 0})]

    assert pair(steps, made_steps, "any") == {0: 1, 1: 0}


def test_a_strict_step_does_not_lose_its_call_to_a_lenient_one() -> None:
    steps = [call("f", {"a": 1}, arguments="ignore"), call("f", {"a": 2})]

    assert pair(steps, [made("f", {"a": 2}), made("f", {"a": 3})], "any") == {0: 1, 1: 0}


def test_a_disabled_step_gets_only_what_is_left() -> None:
    steps = [call("f", 1, enabled=False), call("f", 2)]

    assert pair(steps, [made("f", 3)], "any") == {1: 0}
    assert pair(steps, [made("f", 1), made("f", 2)], "in_order") == {0: 0, 1: 1}


def test_an_answer_that_passes_wins_over_one_to_be_judged() -> None:
    steps = [answer("x", answer="ai"), answer("y", answer="ai"), answer("z")]

    assert pair(steps, [ProducedAnswer("z")], "any") == {2: 0}
    assert pair(steps[:2], [ProducedAnswer("z")], "any") == {0: 0}


@pytest.mark.parametrize("order", ["any", "in_order"])
@pytest.mark.parametrize("before", ["Done.", "billing"])
def test_of_several_answers_of_a_program_the_last_one_is_compared(order: Order, before: str) -> None:
    produced = [ProducedAnswer(before), ProducedAnswer("We pay you 5,000 EUR.")]

    assert pair([answer("Done.")], produced, order) == {0: 1}
    assert pair([answer("billing", enabled=False), answer("Done.")], produced, order) == {0: 0, 1: 1}


@pytest.mark.slow
@pytest.mark.parametrize("order", ["any", "in_order"])
@pytest.mark.parametrize("argument", [lambda n: n, lambda n: 0, lambda n: {"n": n % 7}])
def test_hundreds_of_steps_are_no_matter(order: Order, argument: Any) -> None:
    steps = [call("f", argument(n)) for n in range(400)]
    made_steps = [made("f", argument(n)) for n in range(400)]

    assert score(steps, made_steps, pair(steps, made_steps, order)) == (400, 400)
