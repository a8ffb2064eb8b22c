"""A run of the watch: which replays it asks for, and its verdict."""

from __future__ import annotations

from app.experiments.decision import decide
from app.experiments.drift import Counts, Watched
from app.experiments.types import CaseTrials, Decision, Design, Trial

DESIGN = Design(
    repeats_min=10,
    repeats_max=100,
    detect=0.25,
    alpha=0.05,
    min_pass_rate=None,
    max_slowdown=None,
    has_baseline=False,
)
STEADY = Watched(Counts(295, 5))


def played(passed: int, failed: int = 0, before: Watched = STEADY) -> CaseTrials:
    trials = [Trial(passed=True)] * passed + [Trial(passed=False)] * failed
    return CaseTrials(trials, watched=before)


def decided(*cases: CaseTrials, exhausted: str | None = None) -> Decision:
    return decide(DESIGN, cases, exhausted=exhausted)


def test_each_test_case_is_played_for_one_round() -> None:
    begun = decided(played(0), played(7))
    assert (begun.verdict, begun.targets) == (None, ((10, 0), (10, 0)))
    ended = decided(played(10), played(10))
    assert (ended.verdict, ended.targets) == ("passed", ((10, 0), (10, 0)))
    assert ended.classes == ("stable_pass", "stable_pass")


def test_only_a_suspected_test_case_is_played_again_until_it_is_cleared() -> None:
    suspected = decided(played(10), played(8, 2))
    assert (suspected.verdict, suspected.targets) == (None, ((10, 0), (20, 0)))
    assert suspected.classes == ("stable_pass", "undecided")
    cleared = decided(played(10), played(68, 2))
    assert (cleared.verdict, cleared.classes) == ("passed", ("stable_pass", "flaky"))


def test_a_drop_fails_and_is_played_no_further() -> None:
    dropped = decided(played(10), played(20, 10))
    assert (dropped.verdict, dropped.regressed, dropped.classes[1]) == ("failed", (1,), "regressed")
    assert dropped.targets == ((10, 0), (30, 0))
    assert dropped.reason == "1 test case passed less often than in the reference."
    waiting = decided(played(3), played(20, 10))
    assert (waiting.verdict, waiting.targets) == (None, ((10, 0), (30, 0)))


def test_a_test_case_that_stays_suspected_is_inconclusive() -> None:
    still = decided(played(93, 7))
    assert (still.verdict, still.targets) == ("inconclusive", ((100, 0),))
    assert still.reason == "1 test case may pass less often than in the reference."


def test_evidence_of_earlier_runs_counts() -> None:
    before = Watched(Counts(295, 5), Counts(20, 8))
    assert decided(played(8, 2, before)).verdict == "failed"
    assert decided(played(8, 2)).verdict is None


def test_a_run_without_money_left_is_inconclusive_unless_it_has_shown_a_drop() -> None:
    stopped = decided(played(4), exhausted="the cost reached $1.00")
    assert (stopped.verdict, stopped.targets) == ("inconclusive", ((4, 0),))
    assert stopped.reason == "The run is incomplete: the cost reached $1.00."
    assert decided(played(4), played(20, 10), exhausted="the cost reached $1.00").verdict == "failed"


def test_a_reference_that_is_still_small_shows_no_drop() -> None:
    first = decided(played(0, 10, Watched()))
    assert (first.verdict, first.classes) == ("passed", ("stable_fail",))
    assert first.reason == "The reference of 1 test case is still too small to show a drop."


def test_a_replay_that_needs_review_has_not_passed() -> None:
    trials = [Trial(passed=False, undecided="needs_review")] * 10
    assert decided(CaseTrials(trials, watched=STEADY)).verdict == "failed"
