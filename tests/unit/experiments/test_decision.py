"""Decides experiments from their trials."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.experiments.decision import decide
from app.experiments.rounds import round_ends
from app.experiments.types import CaseTrials, Decision, Design, Trial

PASS, FAIL, VIOLATION = Trial(passed=True), Trial(passed=False), Trial(passed=False, violated=True)
REVIEW, VOID = Trial(passed=False, undecided="needs_review"), Trial(passed=False, undecided="void")
LETTERS = {"P": PASS, "F": FAIL, "V": VIOLATION, "R": REVIEW, "O": VOID}
DESIGN = Design(4, 20, 0.5, 0.05, min_pass_rate=None, max_slowdown=None, has_baseline=True)
ALONE = replace(DESIGN, has_baseline=False)


def trials(results: str) -> list[Trial]:
    """P passes, F fails, V violates, R needs review, O is void."""
    return [LETTERS[letter] for letter in results]


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


def test_one_failure_where_the_baseline_passed_asks_for_more_of_only_this_test_case() -> None:
    decision = decide(DESIGN, [case("FPPP", "PPPP"), case("PPPP", "PPPP")])

    assert decision.verdict is None
    assert decision.targets == ((8, 8), (4, 4))


@pytest.mark.parametrize("cases", [[case("V")], [case("PPPV", "PPPP"), case("", "")], [case("V", "V")]])
def test_a_violation_of_the_candidate_fails_at_once(cases: list[CaseTrials]) -> None:
    decision = decide(DESIGN, cases)

    assert decision.verdict == "failed"
    assert decision.targets == tuple((len(each.candidate), len(each.baseline)) for each in cases)


def test_without_a_baseline_one_failure_fails_and_the_smallest_number_of_passes_passes() -> None:
    assert decide(ALONE, [case("PF")]).verdict == "failed"
    assert decide(ALONE, [case("PPPP")]).verdict == "passed"
    assert decide(ALONE, [case("PPP")]).targets == ((4, 0),)


def test_what_is_undecided_when_no_more_may_be_played_is_inconclusive_with_a_reason() -> None:
    decision = decide(DESIGN, [case("FP", "PP")], exhausted="the cost reached $0.50")

    assert (decision.verdict, decision.targets) == ("inconclusive", ((2, 2),))
    assert decision.reason == "Nothing was decided when the cost reached $0.50."


def test_where_the_candidate_keeps_failing_now_and_then_it_is_played_until_it_is_failed() -> None:
    decision = decide(DESIGN, [case("FPPP" * 5, "PPPP" * 5), case("PPPP", "PPPP")])

    assert (decision.verdict, decision.regressed) == ("failed", (0,))
    assert decision.reason == "The candidate passes less often than the baseline in 1 of 2 test cases (p < 0.05)."


def test_one_failure_that_does_not_come_back_is_passed_as_flaky() -> None:
    decision = decide(DESIGN, [case("FPPPPPPP", "PPPPPPPP"), case("PPPP", "PPPP")])

    assert (decision.verdict, decision.classes) == ("passed", ("flaky", "stable_pass"))


def test_what_neither_got_worse_nor_is_excluded_to_have_at_the_last_repeat_is_inconclusive() -> None:
    short = replace(DESIGN, repeats_max=6)

    decision = decide(short, [case("FPPPPF", "PPPPPP"), case("PPPP", "PPPP")])

    assert (decision.verdict, decision.classes) == ("inconclusive", ("undecided", "stable_pass"))
    assert decision.reason == "The candidate may still be worse in 1 of 2 test cases after 6 replays."
    assert decision.targets == ((6, 6), (4, 4))


def test_what_fails_on_both_sides_alike_is_passed() -> None:
    decision = decide(DESIGN, [case("FFFF", "FFFF"), case("FFPP" * 5, "FPFP" * 5)])

    assert (decision.verdict, decision.classes) == ("passed", ("stable_fail", "flaky"))


def test_a_candidate_that_passes_where_the_baseline_always_failed_is_improved() -> None:
    decision = decide(DESIGN, [case("PPPP", "FFFF"), case("PPPP", "PPPP")])

    assert (decision.verdict, decision.classes) == ("passed", ("improved", "stable_pass"))


def test_a_small_drop_in_many_test_cases_fails_the_whole_though_none_is_named() -> None:
    decision = decide(DESIGN, [case("FPPP", "PPPP")] * 9)

    assert (decision.verdict, decision.regressed) == ("failed", ())
    assert decision.reason == "Over all test cases, the candidate passes less often than the baseline (p < 0.05)."


def test_the_same_content_on_both_sides_passes_whatever_its_replays_did() -> None:
    shared = [trials("FPFF"), trials("PPPP")]

    assert decide(DESIGN, [CaseTrials(each, each) for each in shared]).verdict == "passed"


def test_a_new_violation_is_classed_as_regressed_once_the_baseline_was_played_without() -> None:
    decision = decide(DESIGN, [case("PV", "P"), case("V", ""), case("V", "V")])

    assert decision.classes == ("regressed", "undecided", "undecided")
    assert decision.reason == "The candidate did what it must not do in 3 of 3 test cases."


def test_the_failure_of_a_reused_replay_beyond_the_first_round_is_followed_up() -> None:
    """The baseline was played before, and of the candidate one replay more than the first round has."""
    decision = decide(DESIGN, [case("PPPPF", "P" * 20)])

    assert (decision.verdict, decision.targets) == (None, ((8, 20),))


def test_reused_replays_of_a_test_case_that_was_clear_after_the_first_round_count() -> None:
    decision = decide(DESIGN, [case("PPPP" + "F" * 16, "P" * 20)])

    assert (decision.verdict, decision.regressed) == ("failed", (0,))


def test_trials_beyond_the_largest_number_of_repeats_are_not_waited_for() -> None:
    decision = decide(replace(DESIGN, repeats_max=4), [case("PPPPF", "PPPP")])

    assert (decision.verdict, decision.targets) == ("passed", ((5, 4),))


def test_failing_stays_failed_whatever_is_played_later() -> None:
    later = case("FFFF" + "P" * 16, "PPPP" + "F" * 16)

    assert decide(DESIGN, [later]).verdict == "failed"


def test_a_smallest_pass_rate_of_1_is_missed_by_any_failure_though_the_baseline_fails_as_well() -> None:
    decision = decide(replace(DESIGN, min_pass_rate=1), [case("FPPP", "FFFF")])

    assert (decision.verdict, decision.reason) == (
        "failed",
        "A replay of the candidate failed, and every one has to pass.",
    )


def test_a_smallest_pass_rate_is_held_with_a_baseline_that_misses_it_too() -> None:
    decision = decide(replace(DESIGN, min_pass_rate=0.9), [case("FFFF", "FFFF"), case("PPPP", "PPPP")])

    assert decision.verdict == "failed"
    assert decision.reason == "The candidate passes less often than 90 % of the time, the smallest pass rate allowed."


def test_a_smallest_pass_rate_that_is_just_missed_at_the_last_repeat_is_inconclusive() -> None:
    decision = decide(replace(ALONE, min_pass_rate=0.9), [case("FPPFP" + "P" * 14 + "F")])

    assert (decision.verdict, decision.classes) == ("inconclusive", ("undecided",))


def test_a_smallest_pass_rate_that_is_kept_passes_in_spite_of_failures() -> None:
    assert decide(replace(ALONE, min_pass_rate=0.9), [case("F" + "P" * 11)]).verdict == "passed"


def test_an_experiment_that_asks_for_nothing_shows_nothing() -> None:
    assert decide(replace(ALONE, min_pass_rate=0.0), [case("PPPP")]).verdict == "inconclusive"


HALF = replace(DESIGN, min_sighted=0.5)
STEADY, BLIND = case("PPPP", "PPPP"), case("FFFF", "FFFF")


@pytest.mark.parametrize(
    ("cases", "verdict", "blind", "sighted"),
    [
        ([BLIND], "inconclusive", (0,), 0),
        ([BLIND, STEADY], "passed", (0,), 1),
        ([BLIND, STEADY, BLIND], "inconclusive", (0, 2), 1),
        ([case("PPFF", "PPFF")], "passed", (), 1),
        ([case("PFFF", "PFFF"), STEADY, STEADY], "passed", (0,), 2),  # nearly never is too rarely
        ([case("FFFF", "PFFF"), STEADY], "passed", (0,), 1),  # it is not played again for what it cannot show
        ([case("VFFF", "FFFF"), STEADY], "failed", (0,), 1),
        ([BLIND, BLIND, *[case("FFFF", "PPPP")] * 2], "failed", (0, 1), 2),
    ],
)
def test_test_cases_that_the_baseline_passes_too_rarely_are_blind(
    cases: list[CaseTrials], verdict: str, blind: tuple[int, ...], sighted: int
) -> None:
    decision = decide(HALF, cases)

    assert (decision.verdict, decision.blind, decision.sighted) == (verdict, blind, sighted)


def test_a_blind_test_case_that_got_better_shows_that() -> None:
    mended = decide(HALF, [case("PPPP", "FFFF")])
    several = decide(HALF, [case("P" * 9, "F" * 9), BLIND, STEADY, STEADY])

    assert (mended.verdict, mended.classes, mended.blind, mended.sighted) == ("passed", ("improved",), (0,), 1)
    assert (several.verdict, several.sighted, several.detectable) == ("passed", 3, pytest.approx(1 - 0.1 ** (1 / 4)))
    assert mended.detectable is None


def test_what_would_have_shown_concerns_only_test_cases_that_can_see() -> None:
    seen = case("P" * 9, "P" * 9)

    decision = decide(replace(HALF, repeats_min=4, repeats_max=9), [BLIND, seen])

    assert decision.detectable == pytest.approx(1 - 0.1 ** (1 / 9))


def test_the_reason_names_the_number_of_blind_test_cases_and_what_was_undecided_in_them() -> None:
    assert decide(HALF, [BLIND, BLIND, STEADY]).reason == (
        "2 of 3 test cases pass too rarely with the baseline to show a drop."
    )
    assert decide(HALF, [case("RRRR", "RRRO")]).reason == (
        "The test case passes too rarely with the baseline to show a drop (7 replays need review, 1 replay is void)."
    )


def test_a_pass_rate_that_is_asked_for_makes_a_test_case_see() -> None:
    asked = replace(HALF, min_pass_rate=0.5)

    assert decide(asked, [case("PPPP", "FFFF")]).blind == ()
    assert decide(replace(HALF, min_pass_rate=0.4), [BLIND]).blind == (0,)


@pytest.mark.parametrize("undecided", ["R", "O"])
def test_undecided_replays_of_the_candidate_are_no_passes_and_no_failures(undecided: str) -> None:
    unread = decide(HALF, [case(undecided * 4, "PPPP"), *[STEADY] * 4])

    assert (unread.verdict, unread.classes[0], unread.regressed) == ("inconclusive", "undecided", ())
    assert unread.reason is not None
    assert unread.reason.startswith("Too few replays were decided in 1 of 5 test cases: 4 replays ")


def test_a_few_undecided_replays_are_outweighed_by_more_that_pass() -> None:
    rare = replace(HALF, detect=0.25, repeats_min=9, repeats_max=45)

    first = decide(rare, [case("R" + "P" * 8, "P" * 9)])
    later = decide(rare, [case("R" + "P" * 26, "P" * 27)])

    assert (first.verdict, first.targets) == (None, ((18, 18),))
    assert later.verdict == "passed"


def test_where_every_replay_has_to_pass_an_undecided_one_decides_at_once() -> None:
    decision = decide(ALONE, [case("RPPP")])

    assert decision.verdict == "inconclusive"
    assert decide(ALONE, [case("RFPP")]).verdict == "failed"


def test_a_drop_is_shown_by_decided_replays_whatever_the_others_become() -> None:
    half = decide(HALF, [case("FFFFFFFR", "PPPPPPPP")])

    assert (half.verdict, half.regressed) == ("failed", (0,))


def slow(candidate: float, baseline: float) -> CaseTrials:
    return CaseTrials([Trial(passed=True, latency_ms=candidate)] * 4, [Trial(passed=True, latency_ms=baseline)] * 4)


def test_a_candidate_that_is_slower_than_allowed_fails_when_all_else_has_passed() -> None:
    watched = replace(DESIGN, max_slowdown=1.5)

    assert decide(watched, [slow(1500, 1000)]).verdict == "passed"
    assert decide(watched, [case("PPPP", "PPPP")]).verdict == "passed"
    decision = decide(watched, [slow(3000, 1000), slow(1000, 1000)])
    assert (decision.verdict, decision.regressed) == ("failed", ())
    assert decision.reason == "The candidate took 2 times as long as the baseline, and 1.5 times is allowed."


def test_an_experiment_without_test_cases_is_no_experiment() -> None:
    with pytest.raises(ValueError, match="one test case"):
        decide(DESIGN, [])


results = st.text("PPPF", max_size=24)
undecided_results = st.text("PPPFRO", max_size=24)
designs = st.builds(
    Design,
    repeats_min=st.integers(1, 6),
    repeats_max=st.integers(6, 20),
    detect=st.floats(0.05, 0.95),
    alpha=st.floats(0.001, 0.5),
    min_pass_rate=st.none() | st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    max_slowdown=st.none(),
    has_baseline=st.booleans(),
    min_sighted=st.sampled_from([0.0, 0.5, 1.0]),
    candidates=st.sampled_from([1, 3, 8]),
)


def drawn(plan: Design, parts: list[tuple[str, str]]) -> list[CaseTrials]:
    return [case(candidate, baseline if plan.has_baseline else "") for candidate, baseline in parts]


some_results = st.lists(st.tuples(results, results), min_size=1, max_size=5)


@given(designs, some_results)
def test_targets_lie_between_what_is_there_and_the_largest_number_of_repeats(
    plan: Design, parts: list[tuple[str, str]]
) -> None:
    cases = drawn(plan, parts)

    decision = decide(plan, cases)

    there = [(len(each.candidate), len(each.baseline)) for each in cases]
    for sides, wanted in zip(there, decision.targets, strict=True):
        assert all(has <= target <= max(has, plan.repeats_max) for has, target in zip(sides, wanted, strict=True))
    assert (decision.verdict is None) == (decision.targets != tuple(there))
    assert decision.p_value is None or 0 <= decision.p_value <= 1
    assert (decision.reason is None) == (decision.verdict is None)


@given(designs, st.lists(st.tuples(undecided_results, undecided_results), min_size=1, max_size=4))
def test_what_is_undecided_never_makes_a_candidate_pass_or_fail(plan: Design, parts: list[tuple[str, str]]) -> None:
    """A verdict holds for the worst case, or the best one, of what the undecided replays may become."""
    cases = drawn(plan, parts)
    worst = [
        replace(each, candidate=became(each.candidate, FAIL), baseline=became(each.baseline, PASS)) for each in cases
    ]
    best = [
        replace(each, candidate=became(each.candidate, PASS), baseline=became(each.baseline, FAIL)) for each in cases
    ]

    verdict = decide(plan, cases).verdict

    if verdict == "passed" and not decide(plan, cases).blind:
        assert decide(plan, worst).verdict != "inconclusive"
        assert decide(plan, best).verdict == "passed"
    if verdict == "failed":
        assert decide(plan, best).verdict == "failed"


def became(trials: Sequence[Trial], decided: Trial) -> list[Trial]:
    return [decided if trial.undecided else trial for trial in trials]


@given(designs, st.lists(st.tuples(undecided_results, undecided_results), min_size=1, max_size=4))
def test_an_experiment_passes_only_if_enough_test_cases_can_see(plan: Design, parts: list[tuple[str, str]]) -> None:
    decision = decide(plan, drawn(plan, parts))

    assert 0 <= len(parts) - len(decision.blind) <= decision.sighted <= len(parts)
    if decision.verdict == "passed":
        assert decision.sighted >= max(1, plan.min_sighted * len(parts))


@given(designs, some_results, st.randoms(use_true_random=False))
def test_the_order_of_the_test_cases_moves_their_classes_and_targets_along(
    plan: Design, parts: list[tuple[str, str]], shuffled: random.Random
) -> None:
    order = list(range(len(parts)))
    shuffled.shuffle(order)

    decision, moved = (decide(plan, drawn(plan, each)) for each in (parts, [parts[i] for i in order]))

    assert moved.verdict == decision.verdict
    assert moved.classes == tuple(decision.classes[i] for i in order)
    assert moved.targets == tuple(decision.targets[i] for i in order)


@given(designs, some_results)
def test_when_no_more_may_be_played_there_is_a_verdict_that_only_turns_nothing_into_inconclusive(
    plan: Design, parts: list[tuple[str, str]]
) -> None:
    decision, ended = (decide(plan, drawn(plan, parts), exhausted=why) for why in (None, "the cost reached $1"))

    assert ended.verdict == (decision.verdict or "inconclusive")


@given(designs, st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=5), st.integers(0, 999))
def test_playing_what_is_wanted_ends_with_a_verdict(plan: Design, rates: list[tuple[float, float]], seed: int) -> None:
    draw = random.Random(seed).random
    cases: list[tuple[list[Trial], list[Trial]]] = [([], []) for _ in rates]
    decisions = 0

    while (decision := decide(plan, [CaseTrials(*sides) for sides in cases])).verdict is None:
        decisions += 1
        for sides, chances, wanted in zip(cases, rates, decision.targets, strict=True):
            for side, chance, target in zip(sides, chances, wanted, strict=True):
                side.extend(PASS if draw() < chance else FAIL for _ in range(target - len(side)))

    assert decisions <= len(round_ends(plan.repeats_min, plan.repeats_max))
    assert all(len(side) <= plan.repeats_max for sides in cases for side in sides)


@pytest.mark.parametrize("alpha", [5e-324, 1e-300, 1 - 1e-16])
@pytest.mark.parametrize("rate", [None, 0, 5e-324, 0.5, 1])
def test_every_alpha_and_pass_rate_decides(alpha: float, rate: float | None) -> None:
    for results in ["", "PPPP", "FFFF", "F" * 20]:
        design = replace(DESIGN, alpha=alpha, min_pass_rate=rate)

        assert decide(design, [case(results, "P" * len(results))]).classes


def decide_once(*cases: CaseTrials, exhausted: str | None = None) -> Decision:
    return decide(DESIGN, cases, exhausted=exhausted, has_equal_sides=True)


def test_of_two_sides_that_are_one_each_test_case_is_played_once() -> None:
    begun = decide_once(case("", ""), case("P", "P"))
    over = decide_once(case("P", "P"), case("F", "F"))

    assert (begun.verdict, begun.targets, begun.classes) == (None, ((1, 1), (1, 1)), ("undecided", "stable_pass"))
    assert (over.verdict, over.reason) == ("passed", "The candidate is the same as the baseline.")
    assert (over.blind, over.sighted, over.detectable) == ((1,), 1, None)
    assert over.targets == ((1, 1), (1, 1))


def test_a_violation_fails_also_where_two_sides_are_one() -> None:
    assert decide_once(case("V", "V"), case("", "")).verdict == "failed"


@pytest.mark.parametrize("result", ["F", "R", "O"])
def test_two_sides_that_are_one_are_undecided_if_no_test_case_passes(result: str) -> None:
    assert decide_once(case(result, result)).verdict == "inconclusive"


def test_two_sides_that_are_one_are_undecided_if_no_more_may_be_played() -> None:
    decision = decide_once(case("P", "P"), case("", ""), exhausted="the cost reached $0.50")

    assert decision.verdict == "inconclusive"
