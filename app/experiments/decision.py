"""Decides an experiment from its trials, or says which trials are wanted next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log

from app.experiments import regression, sequential
from app.experiments.reasons import Reasons
from app.experiments.rounds import Played, played, round_ends
from app.experiments.sequential import Round
from app.experiments.slowdown import slowdown
from app.experiments.statistics import MISSED, detectable
from app.experiments.types import CaseClass, CaseTrials, Decision, Design, Verdict

LEAST_MISSED = 0.002  # the chance, at least, with which a later round may clear a test case by mistake


def decide(design: Design, cases: Sequence[CaseTrials], *, exhausted: str | None = None) -> Decision:
    """Return the verdict, or the trials that are wanted next.

    `exhausted` says why no more may be played ("the cost reached $0.50"): what is undecided then is inconclusive. The
    decision follows from the trials alone. Raises `ValueError` without test cases.
    """
    if not cases:
        raise ValueError("an experiment has one test case at least")
    return _Deciding(design, cases, exhausted).decision()


@dataclass(frozen=True)
class State:
    """The verdict after the rounds played: None while the test cases at `waiting` have not finished round `number`."""

    verdict: Verdict | None
    number: int
    log_wealth: float
    waiting: tuple[int, ...] = ()


def walk(design: Design, cases: Sequence[Played]) -> State:
    """Return the verdict of the comparison with the baseline, looked at after each round that all open cases finished.

    The wealth after a round is that of the rounds up to it, so a candidate that has failed stays failed, whatever is
    played later, and the order in which the replays of a round end changes nothing.
    """
    most, bar = 0.0, -log(_alpha(design))
    ends = round_ends(design.repeats_min, design.repeats_max)
    for number in range(1, len(ends) + 1):
        waiting = tuple(
            i for i, each in enumerate(cases) if len(each.rounds) < number and is_open(design, each.total(number - 1))
        )
        if waiting:
            return State(None, number, most, waiting)
        if all(len(each.rounds) < number for each in cases):
            return State("passed", number - 1, most)
        if design.has_baseline:
            most = max(most, regression.log_wealth([each.rounds[:number] for each in cases]))
        if most >= bar:
            return State("failed", number, most)
    left = any(is_open(design, each.total(len(ends))) for each in cases)
    return State("inconclusive" if left else "passed", len(ends), most)


def is_open(design: Design, total: Round) -> bool:
    """Return whether these trials leave open that the candidate is worse than the design allows."""
    if total.pairs < design.repeats_min:
        return True
    rate = _pass_rate(design)
    return (design.has_baseline and _may_have_dropped(design, total)) or (
        rate is not None and _may_be_below(rate, total)
    )


def _may_have_dropped(design: Design, total: Round) -> bool:
    """Return whether the pass rate may have dropped by `detect`, which must be overlooked one time in ten at most.

    A bet that stakes all on "never worse than the baseline" is won after the smallest number of repeats: that many
    without a loss are as improbable as `detect` promises. What it leaves of the one in ten is for bets that survive a
    loss. All test cases must be cleared, so nothing is corrected for their number (Berger, "Multiparameter hypothesis
    testing and acceptance sampling", Technometrics 24, 1982).
    """
    if not total.lost:
        return False
    spent = (1 - design.detect) ** design.repeats_min
    stake = 1 - design.detect
    tied = total.failed + total.passed
    gains = ((-1.0, total.lost), (design.detect / stake, tied), ((1 + design.detect) / stake, total.gained))
    return sequential.log_wealth(gains) < -log(max(MISSED - spent, LEAST_MISSED))


def _may_be_below(rate: float, total: Round) -> bool:
    failed = total.lost + total.failed
    if not failed or not rate:
        return False
    return sequential.log_wealth(((-1.0, failed), ((1 - rate) / rate, total.pairs - failed))) < -log(MISSED)


def is_below(design: Design, totals: Sequence[Round]) -> bool:
    """Return whether the candidate is shown to pass less often than the smallest pass rate, in any test case.

    The wealth of all test cases is averaged (Vovk and Wang 2021). With the rate 1 any failure shows it.
    """
    rate = _pass_rate(design)
    if rate is None or rate == 1:
        return rate == 1 and any(each.lost + each.failed for each in totals)
    logs = [_log_below(rate, each) for each in totals]
    return sequential.log_mean(logs, [1 / len(logs)] * len(logs)) >= -log(_alpha(design))


def _log_below(rate: float, total: Round) -> float:
    failed = total.lost + total.failed
    return sequential.log_wealth(((rate / (1 - rate), failed), (-1.0, total.pairs - failed)))


def _pass_rate(design: Design) -> float | None:
    return design.min_pass_rate if design.has_baseline or design.min_pass_rate is not None else 1.0


def _alpha(design: Design) -> float:
    """Return the share of `alpha` for each of the tests that may fail a candidate by mistake."""
    rate = _pass_rate(design)
    return design.alpha / 2 if design.has_baseline and rate is not None and rate < 1 else design.alpha


@dataclass(frozen=True)
class _Deciding:
    design: Design
    cases: Sequence[CaseTrials]
    exhausted: str | None

    @cached_property
    def played(self) -> list[Played]:
        return [played(self.design, case) for case in self.cases]

    @cached_property
    def totals(self) -> list[Round]:
        return [each.total(len(each.rounds)) for each in self.played]

    @cached_property
    def state(self) -> State:
        return walk(self.design, self.played)

    @cached_property
    def reasons(self) -> Reasons:
        return Reasons(self.design, len(self.cases), self.detectable)

    @cached_property
    def detectable(self) -> float | None:
        return detectable(min(len(case.candidate) for case in self.cases))

    @cached_property
    def regressed(self) -> tuple[int, ...]:
        return self._shown([each.rounds[: self.state.number] for each in self.played])

    @cached_property
    def improved(self) -> tuple[int, ...]:
        return self._shown([tuple(r.mirrored() for r in each.rounds) for each in self.played])

    def _shown(self, rounds: list[tuple[Round, ...]]) -> tuple[int, ...]:
        is_ready = self.design.has_baseline and all(rounds)
        return regression.regressed(rounds, _alpha(self.design)) if is_ready else ()

    @cached_property
    def violated(self) -> list[int]:
        return [i for i, case in enumerate(self.cases) if any(trial.violated for trial in case.candidate)]

    @cached_property
    def p_value(self) -> float | None:
        is_ready = self.design.has_baseline and all(each.rounds for each in self.played)
        return exp(-self.state.log_wealth) if is_ready else None

    def decision(self) -> Decision:
        verdict, reason = self._verdict()
        return Decision(
            verdict=verdict,
            reason=reason,
            classes=tuple(map(self._class, range(len(self.cases)))),
            regressed=self.regressed,
            p_value=self.p_value,
            targets=tuple(self._target(i, is_decided=verdict is not None) for i in range(len(self.cases))),
            detectable=self.detectable,
        )

    def _verdict(self) -> tuple[Verdict | None, str | None]:
        if self.violated:
            return "failed", self.reasons.violated(len(self.violated))
        if is_below(self.design, self.totals):
            return "failed", self.reasons.below(_pass_rate(self.design) or 0)
        if self.state.verdict == "failed":
            return "failed", self.reasons.regressed(len(self.regressed), self.p_value or 0)
        if self.state.verdict == "passed":
            return self._passed()
        if self.exhausted is not None:
            return "inconclusive", self.reasons.exhausted(self.exhausted)
        if self.state.verdict == "inconclusive":
            return "inconclusive", self.reasons.undecided(self._open())
        return None, None

    def _passed(self) -> tuple[Verdict, str]:
        ratio = slowdown(self.cases) if self.design.max_slowdown is not None else None
        if ratio is not None and self.design.max_slowdown is not None and ratio > self.design.max_slowdown:
            return "failed", self.reasons.slow(ratio, self.design.max_slowdown)
        return "passed", self.reasons.passed()

    def _open(self) -> int:
        return sum(is_open(self.design, total) for total in self.totals)

    def _target(self, index: int, *, is_decided: bool) -> tuple[int, int]:
        case = self.cases[index]
        there = len(case.candidate), len(case.baseline)
        if is_decided or index not in self.state.waiting:
            return there
        wanted = round_ends(self.design.repeats_min, self.design.repeats_max)[self.state.number - 1]
        return max(wanted, there[0]), max(wanted, there[1]) if self.design.has_baseline else there[1]

    def _class(self, index: int) -> CaseClass:
        case, total = self.cases[index], self.totals[index]
        if index in self.regressed or self._newly_violated(case):
            return "regressed"
        if index in self.improved:
            return "improved"
        if is_open(self.design, total):
            return "undecided"
        failed = sum(not trial.passed for trial in case.candidate)
        if failed:
            return "stable_fail" if failed == len(case.candidate) else "flaky"
        return "stable_pass"

    def _newly_violated(self, case: CaseTrials) -> bool:
        both = bool(case.baseline) and any(trial.violated for trial in case.candidate)
        return both and not any(trial.violated for trial in case.baseline)
