"""Decides an experiment from its trials, or returns which trials are needed next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp

from app.experiments.classes import class_of, improved, newly_violated
from app.experiments.clearing import is_below
from app.experiments.reasons import Reasons
from app.experiments.rounds import CaseRounds, rounds_of
from app.experiments.sequential_test import SequentialTest
from app.experiments.statistics import percentile
from app.experiments.types import CaseClass, CaseTrials, Decision, Design, Trial, Undecided, Verdict
from app.experiments.watching import decide_watch


def decide(
    design: Design, cases: Sequence[CaseTrials], *, exhausted: str | None = None, has_equal_sides: bool = False
) -> Decision:
    """Return the verdict, or the trials that are needed next. It depends only on the trials.

    `exhausted` is the reason why no more may be played ("the cost reached $0.50"): undecided test cases are then
    inconclusive. A violation of the candidate fails at once. If the candidate equals the baseline, each test case is
    played once. Raises `ValueError` without test cases, as nothing was tested.
    """
    if not cases:
        raise ValueError("an experiment has one test case at least")
    if cases[0].watched is not None:
        return decide_watch(design, cases, exhausted=exhausted)
    kind = _EqualSides if has_equal_sides else _Experiment
    return kind(design, cases, exhausted).decision()


@dataclass(frozen=True)
class _Experiment:
    design: Design
    cases: Sequence[CaseTrials]
    exhausted: str | None

    def decision(self) -> Decision:
        verdict, reason = self._verdict()
        return Decision(
            verdict=verdict,
            reason=reason,
            classes=self._classes,
            regressed=self._regressed,
            p_value=exp(-self._test.log_wealth) if self._test.regression else None,
            targets=tuple(self._target(index, is_decided=verdict is not None) for index in range(len(self.cases))),
            detectable=self._detectable,
            blind=tuple(self._blind),
            sighted=self._sighted,
        )

    @cached_property
    def _played(self) -> list[CaseRounds]:
        return [rounds_of(self.design, case) for case in self.cases]

    @cached_property
    def _test(self) -> SequentialTest:
        """The test after all complete rounds. Reused replays may give a test case more rounds."""
        test = SequentialTest(self.design, len(self.cases))
        while test.verdict != "failed" and test.next_end and not self._waiting(test):
            rounds = {i: case.rounds[test.number] for i, case in enumerate(self._played) if case.has(test.number)}
            if not rounds:
                break
            test.add_round(rounds)
        return test

    def _waiting(self, test: SequentialTest) -> list[int]:
        """Return the indexes of the test cases that need the next round and lack trials of it.

        These are open test cases, and cleared ones in which the candidate may have failed since the last round.
        """
        if not test.next_end:
            return []
        lacking = ((index, case) for index, case in enumerate(self._played) if not case.has(test.number))
        needed = set(test.open)
        return [index for index, case in lacking if index in needed or self._failed_since(test, index, case)]

    def _failed_since(self, test: SequentialTest, index: int, case: CaseRounds) -> bool:
        """Return True if the candidate may have failed since the last round in a test case that was cleared."""
        return test.states[index] == "clear" and bool(case.rest.worst.candidate_failures)

    @cached_property
    def _open(self) -> set[int]:
        return {*self._test.open, *self._unfinished}

    @cached_property
    def _unfinished(self) -> frozenset[int]:
        """The indexes of the test cases that need trials until the end of the next round."""
        return frozenset(self._waiting(self._test))

    @cached_property
    def _classes(self) -> tuple[CaseClass, ...]:
        regressed = self._test.regression.regressed(self.design.alpha_each) if self._test.regression else ()
        worse = {*regressed, *(i for i, case in enumerate(self.cases) if newly_violated(case))}
        better = self._improved
        return tuple(
            "regressed" if i in worse else "improved" if i in better else class_of(self.design, case, i in self._open)
            for i, case in enumerate(self.cases)
        )

    @cached_property
    def _improved(self) -> frozenset[int]:
        return frozenset(improved(self.design, self._played))

    @cached_property
    def _blind(self) -> list[int]:
        return [index for index, state in enumerate(self._test.states) if state == "blind"]

    @property
    def _sighted(self) -> int:
        """The number of test cases that can show a drop, or that have got better."""
        return len(self.cases) - len(self._unseen)

    @property
    def _unseen(self) -> list[CaseTrials]:
        return [self.cases[index] for index in self._blind if index not in self._improved]

    @cached_property
    def _regressed(self) -> tuple[int, ...]:
        return tuple(index for index, verdict_of_case in enumerate(self._classes) if verdict_of_case == "regressed")

    @cached_property
    def _reasons(self) -> Reasons:
        blind = set(self._blind)
        runs = [len(case.candidate) for index, case in enumerate(self.cases) if index not in blind]
        return Reasons(self.design, len(self.cases), min(runs, default=0))

    def _verdict(self) -> tuple[Verdict | None, str | None]:
        if failure := self._failure():
            return "failed", failure
        if obstacle := self._obstacle():
            return "inconclusive", obstacle
        if self._is_cleared and not self._open:
            return self._passed()
        if self.exhausted is not None:
            return "inconclusive", self._reasons.exhausted(self.exhausted)
        if self._test.verdict == "inconclusive":
            return "inconclusive", self._reasons.undecided(len(self._open))
        return None, None

    def _failure(self) -> str | None:
        violated = sum(any(trial.violated for trial in case.candidate) for case in self.cases)
        if violated:
            return self._reasons.violated(violated)
        rate = self.design.pass_rate
        if rate is not None and is_below(rate, [_counts(case) for case in self.cases], self.design.alpha_each):
            return self._reasons.below(rate)
        if self._test.verdict == "failed":
            return self._reasons.regressed(len(self._regressed), exp(-self._test.log_wealth))
        return None

    def _obstacle(self) -> str | None:
        """Return the reason why the experiment cannot pass, whatever is played next; None if there is none."""
        unread = [case for case, state in zip(self.cases, self._test.states, strict=True) if state == "unread"]
        if unread:
            return self._reasons.unread(len(unread), _undecided(unread))
        if self._sighted and self._sighted >= self.design.min_sighted * len(self.cases):
            return None
        return self._reasons.blind(len(self._unseen), _undecided(self._unseen))

    @property
    def _is_cleared(self) -> bool:
        return self._test.verdict == "passed"

    @property
    def _detectable(self) -> float | None:
        return self._reasons.detectable

    def _passed(self) -> tuple[Verdict, str]:
        ratio, allowed = _slowdown(self.cases), self.design.max_slowdown
        if ratio is not None and allowed is not None and ratio > allowed:
            return "failed", self._reasons.slow(ratio, allowed)
        return "passed", self._reasons.passed()

    def _target(self, index: int, *, is_decided: bool) -> tuple[int, int]:
        candidate, baseline = len(self.cases[index].candidate), len(self.cases[index].baseline)
        wanted = self._test.next_end
        if is_decided or wanted is None or index not in self._unfinished:
            return candidate, baseline
        return max(wanted, candidate), max(wanted, baseline) if self.design.has_baseline else baseline


class _EqualSides(_Experiment):
    """An experiment in which the candidate equals the baseline: each test case is played once, for violations."""

    _is_cleared = True
    _detectable = None

    @cached_property
    def _open(self) -> set[int]:
        return {index for index, case in enumerate(self.cases) if not case.candidate}

    @cached_property
    def _blind(self) -> list[int]:
        trials = [case.candidate for case in self.cases]
        return [index for index, played in enumerate(trials) if played and not any(trial.passed for trial in played)]

    def _passed(self) -> tuple[Verdict, str]:
        return "passed", self._reasons.same()

    def _target(self, index: int, *, is_decided: bool) -> tuple[int, int]:
        candidate, baseline = len(self.cases[index].candidate), len(self.cases[index].baseline)
        return (candidate, baseline) if is_decided else (max(1, candidate), max(1, baseline))


def _undecided(cases: Sequence[CaseTrials]) -> Counter[Undecided]:
    """Count the replays of both sides that have neither passed nor failed, by the reason."""
    trials = (trial for case in cases for trial in (*case.candidate, *case.baseline))
    return Counter(trial.undecided for trial in trials if trial.undecided)


def _counts(case: CaseTrials) -> tuple[int, int]:
    """Return the failures and the passes of the candidate. What is undecided may have passed."""
    passed = sum(trial.passed or bool(trial.undecided) for trial in case.candidate)
    return len(case.candidate) - passed, passed


def _slowdown(cases: Sequence[CaseTrials]) -> float | None:
    """Return the ratio of the sums of the test cases' median latencies, candidate to baseline.

    A test case counts if latencies of both sides are known; None if there is none.
    """
    medians = [(_median(case.candidate), _median(case.baseline)) for case in cases]
    known = [(candidate, baseline) for candidate, baseline in medians if candidate is not None and baseline]
    return sum(pair[0] for pair in known) / sum(pair[1] for pair in known) if known else None


def _median(trials: Sequence[Trial]) -> float | None:
    return percentile([trial.latency_ms for trial in trials if trial.latency_ms is not None], 0.5)
