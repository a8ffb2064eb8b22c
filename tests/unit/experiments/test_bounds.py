"""Twice the test cases, at most about twice the steps, whatever their trials are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.experiments.decision import decide
from app.experiments.regression import Regression
from app.experiments.sequential import Round
from app.experiments.types import CaseTrials, Design, Trial
from tests.support.operations import calls_of, growth_of

LINEAR = 2.4
SIZE = 100
DESIGN = Design(4, 20, 0.5, 0.05, 0.5, None, has_baseline=True)

ROUNDS: dict[str, Callable[[int], Round]] = {
    "all pass": lambda n: Round(passed=4),
    "all fail": lambda n: Round(failed=4),
    "all get worse": lambda n: Round(lost=4),
    "each second gets worse": lambda n: Round(lost=4) if n % 2 else Round(gained=3, passed=1),
    "all are different": lambda n: Round(n % 5, n % 3, n % 7, n % 2 + 1),
}


@pytest.mark.parametrize("round_of", ROUNDS.values(), ids=ROUNDS)
def test_which_test_cases_got_worse_is_found_in_steps_that_grow_with_their_number(
    round_of: Callable[[int], Round],
) -> None:
    def prepare(cases: int) -> Callable[[], object]:
        regression = Regression([round_of(n) for n in range(cases)])
        return lambda: regression.regressed(0.05)

    assert growth_of(prepare, SIZE, calls_of) < LINEAR


@pytest.mark.slow
@pytest.mark.parametrize("trials", ["PPPP", "FFFF", "FFFFFFFF", "PFPF", "P"])
@pytest.mark.parametrize("baseline", ["PPPPPPPP", "FFFF", "PF"])
def test_an_experiment_is_decided_in_steps_that_grow_with_its_test_cases(trials: str, baseline: str) -> None:
    def prepare(cases: int) -> Callable[[], object]:
        candidate, before = (tuple(Trial(result == "P") for result in results) for results in (trials, baseline))
        return lambda: decide(DESIGN, [CaseTrials(candidate, before)] * cases)

    decide(DESIGN, [CaseTrials((Trial(True),), (Trial(True),))])
    assert growth_of(prepare, SIZE, calls_of) < LINEAR
