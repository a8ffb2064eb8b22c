"""The checker of histories accepts what an object that does one call at a time can answer, and nothing else."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import pytest

from tests.histories.checker import NEVER, Call, GrowingSet, Model, Once, Register, contradiction

SEEDS = range(300)


def call(argument: Any, result: Any, began: float, ended: float) -> Call:
    return Call("an object", argument, result, began, ended)


@pytest.mark.parametrize(
    ("model", "calls"),
    [
        pytest.param(Register(), [call("a", None, 0, 1), call(None, None, 2, 3)], id="an acknowledged write is lost"),
        pytest.param(
            Register(),
            [call("a", None, 0, 1), call("b", None, 2, 3), call(None, "a", 4, 5)],
            id="a read is old",
        ),
        pytest.param(
            Register(),
            [call("a", None, 0, 1), call("b", None, 2, NEVER), call(None, "b", 3, 4), call(None, "a", 5, 6)],
            id="a write without an answer is shown and then undone",
        ),
        pytest.param(Register(), [call(None, "a", 0, 1), call("a", None, 2, 3)], id="a read knows the future"),
        pytest.param(GrowingSet(), [call("a", None, 0, 1), call(None, (), 2, 3)], id="an added element is lost"),
        pytest.param(GrowingSet(), [call("a", None, 0, 1), call(None, ("a", "a"), 2, 3)], id="an element is doubled"),
        pytest.param(
            GrowingSet(),
            [call("a", None, 0, 9), call(None, ("a",), 1, 2), call(None, (), 3, 4)],
            id="an element disappears",
        ),
        pytest.param(
            GrowingSet(),
            [call("a", None, 0, 9), call("b", None, 0, 9), call(None, ("a",), 1, 2), call(None, ("b",), 3, 4)],
            id="two reads show different orders",
        ),
        pytest.param(Once(), [call("k", 1, 0, 1), call("k", 2, 2, 3)], id="work is started twice"),
        pytest.param(Once(), [call("k", 1, 0, 1), call(None, (1, 2), 2, 3)], id="work was started twice unnoticed"),
        pytest.param(Once(), [call("k", 1, 0, 1), call(None, (), 2, 3)], id="accepted work is lost"),
    ],
)
def test_a_history_that_no_order_explains_is_a_contradiction(model: Model, calls: list[Call]) -> None:
    assert contradiction(calls, model)


@pytest.mark.parametrize(
    ("model", "calls"),
    [
        pytest.param(Register(), [call("a", None, 0, NEVER), call(None, None, 2, 3)], id="no answer, no effect"),
        pytest.param(
            Register(),
            [call("a", None, 0, NEVER), call(None, None, 2, 3), call("b", None, 4, 5), call(None, "a", 6, 7)],
            id="no answer, a late effect",
        ),
        pytest.param(Register("old"), [call("a", None, 0, 5), call(None, "old", 1, 2)], id="a read before the write"),
        pytest.param(GrowingSet(), [call("a", None, 0, 5), call(None, ("a",), 1, 2)], id="shown before its answer"),
        pytest.param(
            GrowingSet(), [call("a", None, 0, 1), call("a", None, 2, 3), call(None, ("a",), 4, 5)], id="resent"
        ),
        pytest.param(Once(), [call("k", None, 0, NEVER), call(None, (7,), 2, 3)], id="started without an answer"),
        pytest.param(Once(), [call("k", None, 0, NEVER), call(None, (), 2, 3)], id="never started"),
    ],
)
def test_a_history_that_an_order_explains_is_none(model: Model, calls: list[Call]) -> None:
    assert contradiction(calls, model) is None


def history(chooser: random.Random, model: Model, size: int, clients: int) -> list[Call]:
    """Return calls as clients of a real object would record them: each has its effect at a moment of its duration."""
    moments = []
    for client in range(clients):
        now = chooser.random()
        for _ in range(size // clients):
            began, effect, ended = sorted(now + chooser.random() for _ in range(3))
            moments.append((effect, client, began, ended))
            now = ended
    state, calls = model.initial, []
    for number, (_, _, began, ended) in enumerate(sorted(moments)):
        if chooser.random() < 0.5:
            result = tuple(sorted(state)) if isinstance(model, GrowingSet) else state
            calls.append(call(None, result, began, ended))
            continue
        first = state[0] if isinstance(model, Once) and state else number
        write = call(number, first if isinstance(model, Once) else None, began, ended)
        answered = chooser.random() < 0.8
        if answered or chooser.random() < 0.5:
            state = model.after(state, write)
        calls.append(write if answered else call(number, None, began, NEVER))
    return calls


@pytest.mark.parametrize("model", [Register(), GrowingSet(), Once()], ids=["register", "set", "once"])
def test_no_history_of_a_real_object_is_a_contradiction(model: Model) -> None:
    for seed in SEEDS:
        chooser = random.Random(seed)
        calls = history(chooser, model, size=chooser.randrange(4, 80), clients=chooser.randrange(1, 7))
        assert contradiction(calls, model) is None, seed


def explained(calls: list[Call], model: Model) -> bool:
    """Try every order, with each choice of unanswered calls that had an effect."""
    lost = [call for call in calls if not call.answered and not call.reads]
    answered = [call for call in calls if call.answered]
    for choice in range(1 << len(lost)):
        chosen = answered + [call for place, call in enumerate(lost) if choice >> place & 1]
        if any(is_valid(order, model) for order in permutations(chosen)):
            return True
    return False


def is_valid(order: tuple[Call, ...], model: Model) -> bool:
    state, latest_beginning = model.initial, 0.0
    for made in order:
        if made.ended < latest_beginning or not model.allows(state, made):
            return False
        latest_beginning = max(latest_beginning, made.began)
        state = state if made.reads else model.after(state, made)
    return True


@pytest.mark.parametrize("model", [Register(), GrowingSet()], ids=["register", "set"])
def test_the_search_decides_as_a_trial_of_all_orders(model: Model) -> None:
    decided = set()
    for seed in SEEDS:
        chooser = random.Random(seed)
        calls = history(chooser, model, size=6, clients=3)
        answers = [made.result for made in calls if made.reads]
        # A read gets the answer of another one: often that can't be explained.
        mixed = [call(None, chooser.choice(answers), c.began, c.ended) if c.reads else c for c in calls]
        is_explained = explained(mixed, model)
        assert (contradiction(mixed, model) is None) == is_explained, seed
        decided.add(is_explained)
    assert decided == {True, False}
