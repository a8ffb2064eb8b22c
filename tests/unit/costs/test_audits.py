"""Drawing the probes of an audit spends what it costs, so that the budget of a prompt bounds it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.audit.probes import ProbedCase, draw_probes
from app.replay.cases import load_case
from app.values.budget import WorkBudget
from tests.support.growth import work_by_function

pytestmark = pytest.mark.slow

SIZE = 60
MOST_PER_STEP = 15
"""Lines and calls of a step, which lasts about a microsecond."""
ANSWER = "It is due on Monday, and the price of it is 5."
Steps = list[dict[str, Any]]


def answer(text: str) -> dict[str, Any]:
    return {"kind": "answer", "text": text, "check": {"answer": "meaning"}}


def call(arguments: Any, result: Any = None) -> dict[str, Any]:
    return {"kind": "tool_call", "name": "t", "arguments": arguments, "result": result}


def names_under_many_keys(size: int) -> Steps:
    names = {f"k{n}": f"Ann{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}" for n in range(10 * size)}
    return [call({}, names), answer(ANSWER)]


def results_before_each_step(size: int) -> Steps:
    calls = [call({"a": "it is what we are looking for"}, json.dumps({"a": n})) for n in range(size)]
    return [*calls, answer(ANSWER)]


SHAPES: dict[str, Callable[[int], Steps]] = {
    "names under many keys": names_under_many_keys,
    "numbers without a unit": lambda n: [answer("It is about this: " + "7 " * 10 * n)],
    "items of a list": lambda n: [
        answer("Of these we have:\n" + "".join(f"- {k} is one of them: it\n" for k in range(n)))
    ],
    "long items": lambda n: [answer("We have:\n" + "".join(f"- {k} {'is one of 5 ' * n}\n" for k in range(12)))],
    "results before each step": results_before_each_step,
    "a large result before many steps": lambda n: [
        call({}, json.dumps([f"v{k} x" for k in range(n)])),
        *[answer(ANSWER)] * (n // 4),
    ],
    "values of a result": lambda n: [call({}, [f"{k}.5" for k in range(5 * n)]), answer(ANSWER)],
    "forms of one value": lambda n: [
        call({}, [f"1.{'0' * (k + 1)}" for k in range(n)]),
        answer("It is 1 of them all."),
    ],
    "words in arguments": lambda n: [call({"a": ["it is what we are looking for"] * n}), answer(ANSWER)],
    "answers": lambda n: [answer(f"{ANSWER} {k}") for k in range(n // 2)],
}


@pytest.mark.parametrize("name", SHAPES)
def test_each_step_of_the_budget_is_a_few_lines_of_work(name: str) -> None:
    case = ProbedCase(1, load_case({"turns": [{"user": "What is it about?", "steps": SHAPES[name](SIZE)}]}), "Be kind.")
    budget = WorkBudget()

    work = work_by_function(lambda: draw_probes([case], "1", budget=budget))

    assert sum(work.values()) <= MOST_PER_STEP * budget.spent
