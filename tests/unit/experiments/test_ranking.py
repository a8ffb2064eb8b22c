"""Several candidates are ranked by what is shown, and corrected for their number."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.experiments.decision import decide
from app.experiments.ranking import MOST_CANDIDATES, ranks
from app.experiments.statistics import default_repeats, detectable
from app.experiments.types import CaseClass, CaseTrials, Decision, Design, Trial, Verdict
from tests.unit.experiments.simulation import ALPHA, design, exactly


def decided(verdict: Verdict | None, *classes: CaseClass) -> Decision:
    return Decision(verdict, None, classes, (), None, (), None)


def test_a_verdict_comes_first_then_what_got_better_then_what_got_worse() -> None:
    candidates = [
        decided("failed", "improved", "improved", "regressed"),
        decided("inconclusive", "stable_pass"),
        decided("passed", "flaky", "stable_pass"),
        decided("passed", "improved", "stable_pass"),
        decided("failed", "improved", "improved", "stable_pass"),
        decided(None, "stable_pass"),
    ]

    assert ranks(candidates) == [6, 3, 2, 1, 5, 3]


def test_pass_rates_that_prove_nothing_do_not_separate_candidates() -> None:
    assert ranks([decided("passed", "flaky", "flaky"), decided("passed", "stable_pass", "flaky")]) == [1, 1]


@given(st.lists(st.sampled_from([decided("passed", "improved"), decided("passed", "flaky"), decided("failed")])))
def test_the_order_of_candidates_does_not_change_their_ranks(candidates: list[Decision]) -> None:
    assert ranks(candidates[::-1]) == ranks(candidates)[::-1]
    assert min(ranks(candidates), default=1) == 1


def several(detect: float, candidates: int) -> Design:
    least, most = default_repeats(detect, candidates)
    return replace(design(detect), repeats_min=least, repeats_max=most, candidates=candidates)


@pytest.mark.slow
@pytest.mark.parametrize("candidates", [2, 3, MOST_CANDIDATES])
@pytest.mark.parametrize("detect", [0.25, 0.5])
def test_each_of_several_broken_candidates_passes_so_rarely_that_any_does_one_time_in_ten_at_most(
    detect: float, candidates: int
) -> None:
    plan = several(detect, candidates)

    assert exactly(plan, detect, 1).chances["passed"] <= 0.1 / candidates
    assert (detectable(plan.repeats_min, plan.missed) or 1) <= detect + 1e-9


@pytest.mark.slow
def test_of_several_candidates_as_good_as_the_baseline_any_fails_with_the_chance_alpha_at_most() -> None:
    """All are compared with the same trials of the baseline, so that their verdicts depend on each other."""
    plan, draw, failed, experiments = several(0.5, 3), random.Random(7).random, 0, 400
    for _ in range(experiments):
        baseline = [[Trial(draw() < 0.8) for _ in range(plan.repeats_max)] for _ in range(2)]
        candidates = [[[Trial(draw() < 0.8) for _ in range(plan.repeats_max)] for _ in range(2)] for _ in range(3)]
        failed += any(
            decide(plan, [CaseTrials(*sides) for sides in zip(candidate, baseline, strict=True)]).verdict == "failed"
            for candidate in candidates
        )

    assert failed / experiments <= ALPHA
