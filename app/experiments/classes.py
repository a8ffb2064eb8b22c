"""Sorts test cases into classes such as "flaky", which show a reader where to look first."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from app.experiments.regression import Regression
from app.experiments.rounds import CaseRounds
from app.experiments.types import CaseClass, CaseTrials, Design


def class_of(design: Design, case: CaseTrials, is_open: bool) -> CaseClass:
    """Return the class of a test case that got neither worse nor better.

    `is_open` is true while the test case needs more trials. Without a baseline and with a pass rate of 1, one failure
    decides it all the same.
    """
    undecided = any(trial.undecided for trial in case.candidate)
    failed = sum(not trial.passed and not trial.undecided for trial in case.candidate)
    is_settled = failed and not design.has_baseline and design.pass_rate == 1
    if (is_open or undecided) and not is_settled:
        return "undecided"
    if not failed:
        return "stable_pass"
    return "stable_fail" if failed == len(case.candidate) else "flaky"


def improved(design: Design, cases: Sequence[CaseRounds]) -> Collection[int]:
    """Return the indexes of the test cases that got better.

    This is the test for a regression with candidate and baseline exchanged, in the worst case for the candidate. It
    needs a round of each test case.
    """
    if not all(case.rounds for case in cases) or not any(seen.worst.gained for case in cases for seen in case.rounds):
        return ()
    mirrored = Regression([case.rounds[0].worst.mirrored() for case in cases])
    for index, case in enumerate(cases):
        for later in case.rounds[1:]:
            mirrored.add(index, later.worst.mirrored())
    return mirrored.regressed(design.alpha_each)


def newly_violated(case: CaseTrials) -> bool:
    """Return True if the candidate has a violation and the baseline, once it was played, has none."""
    if not case.baseline or any(trial.violated for trial in case.baseline):
        return False
    return any(trial.violated for trial in case.candidate)
