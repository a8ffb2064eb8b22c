"""The design of an experiment, the trials that it looks at, and the decision that follows from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.experiments.drift import Watched
from app.experiments.statistics import MISSED

Verdict = Literal["passed", "failed", "inconclusive"]
Undecided = Literal["needs_review", "void"]
CaseClass = Literal["stable_pass", "stable_fail", "flaky", "regressed", "improved", "undecided"]
MIN_SIGHTED = 0.5  # the share of test cases that must be able to show a drop if no other is requested
# A smaller alpha counts as this one: no trials reach it, and parts of it would be rounded to 0, which has no logarithm.
SMALLEST_ALPHA = 1e-300


def smallest_pass_rate(requested: float | None, *, has_baseline: bool) -> float | None:
    """Return the pass rate that was asked for; without a baseline to compare with, it is 1 unless another was."""
    return requested if has_baseline or requested is not None else 1.0


@dataclass(frozen=True, slots=True)
class Design:
    """The numbers that an experiment decides by, fixed before its first replay.

    `detect` is the share of failures that must not slip through more than one time in ten. `alpha` is the chance of a
    failed verdict on a candidate that is as good as its baseline. `min_pass_rate` None asks for 1 without a baseline,
    and for nothing with one. `max_slowdown` is the greatest allowed ratio of median latencies, candidate to baseline.
    `min_sighted` is the share of test cases that must be able to show a drop. `candidates` are compared with the same
    baseline; both chances of a mistake hold for all of them together.
    """

    repeats_min: int
    repeats_max: int
    detect: float
    alpha: float
    min_pass_rate: float | None
    max_slowdown: float | None
    has_baseline: bool
    min_sighted: float = 0.0
    candidates: int = 1

    @property
    def missed(self) -> float:
        """The chance that one candidate passes by mistake."""
        return MISSED / self.candidates

    @property
    def pass_rate(self) -> float | None:
        """The smallest pass rate that is asked for, None if there is none."""
        return smallest_pass_rate(self.min_pass_rate, has_baseline=self.has_baseline)

    @property
    def alpha_each(self) -> float:
        """The part of `alpha` for each of the two tests that may fail one candidate by mistake."""
        has_both = self.has_baseline and self.pass_rate is not None and self.pass_rate < 1
        return max(SMALLEST_ALPHA, self.alpha / self.candidates / (2 if has_both else 1))


@dataclass(frozen=True, slots=True)
class Trial:
    """One replay that has ended. A replay that ended with an error is no trial.

    `undecided` is the reason why it has neither passed nor failed, None if it has.
    """

    passed: bool
    violated: bool = False
    latency_ms: float | None = None
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True)
class CaseTrials:
    """The trials of one test case, in order of ordinal and without gaps.

    `baseline` is empty without a baseline. A candidate of the same content as the baseline is played once for both:
    both fields are the same sequence then. `watched` is the test case before a run of the watch, None in other
    experiments.
    """

    candidate: Sequence[Trial]
    baseline: Sequence[Trial] = ()
    watched: Watched | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on the trials so far, or None and the trials that are wanted next.

    `classes` and `targets` have one entry per test case, in the order given. A target is the wanted number of trials,
    (candidate, baseline); once a verdict is reached, it is the number of trials that there are. `regressed` holds the
    indexes of the test cases of that class. `p_value` belongs to the whole comparison with the baseline, None before
    the first round is complete. `blind` holds the indexes of the test cases that cannot show a drop. `sighted` is the
    number of all others and of the blind ones that got better. `detectable` is a share of failures that would have
    shown nine times in ten, in the least played test case that is not blind; None until each of these has a trial.
    """

    verdict: Verdict | None
    reason: str | None
    classes: tuple[CaseClass, ...]
    regressed: tuple[int, ...]
    p_value: float | None
    targets: tuple[tuple[int, int], ...]
    detectable: float | None
    blind: tuple[int, ...] = ()
    sighted: int = 0
