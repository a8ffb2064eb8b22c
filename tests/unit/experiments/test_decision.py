"""Decides experiments from their trials."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.experiments.decision import decide
from app.experiments.types import CaseTrials, Design, Trial

PASS, FAIL, VIOLATION = Trial(passed=True), Trial(passed=False), Trial(passed=False, violated=True)
DESIGN = Design(4, 20, 0.5, 0.05, min_pass_rate=None, max_slowdown=None, has_baseline=True)
ALONE = replace(DESIGN, has_baseline=False)


def trials(results: str) -> list[Trial]:
    """P passes, F fails, V violates."""
    return [{"P": PASS, "F": FAIL, "V": VIOLATION}[letter] for letter in results]


def case(candidate: str, baseline: str = "") -> CaseTrials:
    return CaseTrials(trials(candidate), trials(baseline))


def test_at_first_the_smallest_number_of_replays_is_wanted_of_each_side() -> None:
    decision = decide(DESIGN, [case(""), case("PP", "P")])

    assert (decision.verdict, decision.targets, decision.classes) == (None, ((4, 4), (4, 4)), ("undecided",) * 2)
    assert decision.detectable is None


def test_both_sides_passing_all_the_smallest_number_of_replays_is_passed() -> None:
    decision = decide(DESIGN, [case("PPPP", "PPPP")] * 3)

    assert (decision.verdict, decision.targets) == ("passed", ((4, 4),) * 3)
    assert decision.reason == "A step that fails more than 44 % of the time would have shown."


def test_a_candidate_that_always_fails_where_the_baseline_always_passes_is_failed_at_once() -> None:
    decision = decide(DESIGN, [case("FFFF", "PPPP"), *[case("PPPP", "PPPP")] * 19])

    assert (decision.verdict, decision.regressed, decision.classes[:2]) == (
        "failed",
        (0,),
        ("regressed", "stable_pass"),
    )
    assert decision.p_value is not None
    assert decision.p_value <= 0.05


def test_one_failure_where_the_baseline_passed_asks_for_more_of_this_test_case_alone() -> None:
    decision = decide(DESIGN, [case("FPPP", "PPPP"), case("PPPP", "PPPP")])

    assert decision.verdict is None
    assert decision.targets == ((6, 6), (4, 4))


@pytest.mark.parametrize("cases", [[case("V")], [case("PPPV", "PPPP"), case("", "")], [case("V", "V")]])
def test_a_violation_of_the_candidate_fails_at_once(cases: list[CaseTrials]) -> None:
    decision = decide(DESIGN, cases)

    assert decision.verdict == "failed"
    assert decision.targets == tuple((len(each.candidate), len(each.baseline)) for each in cases)


def test_without_a_baseline_one_failure_fails_and_the_smallest_number_of_passes_passes() -> None:
    assert decide(ALONE, [case("PF")]).verdict == "failed"
    assert decide(ALONE, [case("PPPP")]).verdict == "passed"
    assert decide(ALONE, [case("PPP")]).targets == ((4, 0),)


def test_what_is_undecided_when_no_more_may_be_played_is_inconclusive_and_says_why() -> None:
    decision = decide(DESIGN, [case("FP", "PP")], exhausted="the cost reached $0.50")

    assert (decision.verdict, decision.targets) == ("inconclusive", ((2, 2),))
    assert decision.reason == "Nothing was decided when the cost reached $0.50."
