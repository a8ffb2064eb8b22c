"""An experiment with its replays: the decisions that follow from their results, and the replays that it needs next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import NamedTuple

from reprise_formats.formats import plural, usd

from app.experiments.decision import decide
from app.experiments.types import CaseTrials, Decision, Trial, Undecided
from app.models.experiment_replays import COUNTED, PlayedRow
from app.models.replays import UNFINISHED
from app.services.experiments.plan import BASELINE, Plan, Series
from app.services.replays.frozen import FrozenCase

# Replays of one experiment, all arms together.
REPLAYS_MAX = 10_000
# The statuses of replays that have neither passed nor failed.
UNDECIDED: dict[str, Undecided] = {"needs_review": "needs_review", "void": "void"}
# Results of earlier replays are reused for this time.
REUSED_FOR = timedelta(days=7)
# A side is given up after this many replays with an error and none with a result.
FAILED_REPLAYS_MAX = 20


class WantedReplay(NamedTuple):
    """A replay to add; lower ordinals are played first, across all test cases."""

    ordinal: int
    series: Series


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the replays of an experiment show so far, and which replays it needs next.

    `decisions` has the decision on each compared arm (see `Plan`). `wanted` are the replays to add, in playing order.
    `arm_without_result` is an arm with replays that all ended with errors, so that nothing can be compared; None if
    there is none.
    """

    decisions: Mapping[int, Decision]
    wanted: Sequence[WantedReplay]
    arm_without_result: int | None

    @property
    def is_decided(self) -> bool:
        return _is_decided(self.decisions)


@dataclass(frozen=True)
class ReplayedExperiment:
    """An experiment with its replays, by arm and test case in order of ordinal."""

    plan: Plan
    replays: Sequence[PlayedRow]

    @cached_property
    def by_series(self) -> Mapping[Series, Sequence[PlayedRow]]:
        """The replays of each series in order of ordinal; a series without a replay is not in it."""
        series: defaultdict[Series, list[PlayedRow]] = defaultdict(list)
        for replay in self.replays:
            series[Series(replay.arm, replay.test_case_id, replay.variant)].append(replay)
        return series

    @cached_property
    def in_work(self) -> int:
        """The number of replays that have not ended."""
        return sum(replay.status in UNFINISHED for replay in self.replays)

    @property
    def ended(self) -> int:
        return len(self.replays) - self.in_work

    @cached_property
    def own_cost_usd(self) -> float:
        """The cost of this experiment in USD: of the replays that were played for it, and of its questions."""
        played = (replay for replay in self.replays if not replay.reused)
        return self.plan.asked_usd + sum(replay.prompt_cost_usd + replay.completion_cost_usd for replay in played)

    @cached_property
    def violated_arms(self) -> frozenset[int]:
        """The arms of compared contents with a violation, which decides them: no other replay of them is needed.

        Without the arm of the baseline: other contents are compared with its replays. A watch counts all its replays.
        """
        if self.plan.parameters.watched_by is not None:
            return frozenset()
        counted = {replay.arm for replay in self.replays if replay.violated and replay.status in COUNTED}
        return frozenset(counted - {self.plan.played_arms.get(BASELINE)})

    @cached_property
    def _errors(self) -> int:
        counted = (replay for replay in self.replays if replay.arm not in self.violated_arms)
        return sum(map(is_error, counted))

    def trials_of(self, arm: int, case: FrozenCase) -> list[PlayedRow]:
        """Return the replays of a series that count as trials, in order of ordinal.

        They stop before the first unfinished replay: otherwise the faster of concurrent replays would count first. A
        candidate's replay with a violation counts at once, because later replays can't change its meaning.
        """
        trials: list[PlayedRow] = []
        waits = False
        for replay in self.by_series.get(self.plan.series(arm, case), ()):
            waits = waits or replay.status in UNFINISHED
            if replay.status in COUNTED and (not waits or (replay.violated and arm != BASELINE)):
                trials.append(replay)
        return trials

    @cached_property
    def _cases(self) -> Mapping[int, list[CaseTrials]]:
        """The trials of the test cases by compared arm."""
        has_baseline = BASELINE in self.plan.snapshots
        baselines = [self._trials(BASELINE, case) if has_baseline else () for case in self.plan.cases]
        return {
            arm: [
                CaseTrials(self._trials(arm, case), baseline, case.watched)
                for case, baseline in zip(self.plan.cases, baselines, strict=True)
            ]
            for arm in self.plan.compared
        }

    def _trials(self, arm: int, case: FrozenCase) -> tuple[Trial, ...]:
        return tuple(map(_trial, self.trials_of(arm, case)))

    def decisions(self, exhausted: str | None = None) -> dict[int, Decision]:
        """Return the decision by compared arm; `exhausted` is the reason why no more replays may be played."""
        plan = self.plan
        return {
            arm: decide(plan.design, cases, exhausted=exhausted, has_equal_sides=plan.has_equal_sides)
            for arm, cases in self._cases.items()
        }

    @property
    def _exhausted(self) -> str | None:
        """The reason why no more replays may be played; None if there is none."""
        most = self.plan.parameters.max_cost
        if most is not None and self.own_cost_usd >= most:
            return f"the cost reached {usd(most)}"
        if len(self.replays) >= REPLAYS_MAX and not self.in_work:
            return f"it had {REPLAYS_MAX:,} replays, the most that an experiment may have"
        return None

    @cached_property
    def assessment(self) -> Assessment:
        """The decisions so far and the replays that are needed next.

        If nothing is left to play and an arm is undecided, the decisions are final and have the reason.
        """
        exhausted = self._exhausted
        decisions = self.decisions(exhausted)
        wanted = self._wanted(decisions)
        is_over = not wanted and not self.in_work
        if is_over and not _is_decided(decisions):
            decisions = self.decisions(self._unplayable)
        # Replays that were stopped by a budget are not errors.
        arm_without_result = self._arm_without_result(is_over=is_over) if exhausted is None else None
        return Assessment(decisions, wanted, arm_without_result)

    def _wanted(self, decisions: Mapping[int, Decision]) -> list[WantedReplay]:
        """Return the replays to add for undecided comparisons, in playing order.

        A replay that ended with an error is not a trial; another one replaces it. A series gets at most as many
        replacements as it needs trials.
        """
        targets: defaultdict[Series, int] = defaultdict(int)
        for arm, decision in decisions.items():
            for case, (candidate, baseline) in zip(self.plan.cases, decision.targets, strict=True):
                for arm_, target in ((arm, candidate), (BASELINE, baseline)):
                    if decision.verdict is None and arm_ in self.plan.played_arms:
                        series = self.plan.series(arm_, case)
                        targets[series] = max(targets[series], target)
        wanted = [WantedReplay(n, series) for series, target in targets.items() for n in self._missing(series, target)]
        order = {case: index for index, case in enumerate(self.plan.cases)}
        wanted.sort(key=lambda replay: (replay.ordinal, order[self.plan.case(replay.series)], replay.series.arm))
        return wanted[: max(0, REPLAYS_MAX - len(self.replays))]

    def _missing(self, series: Series, target: int) -> range:
        rows = self.by_series.get(series, ())
        errors = sum(map(is_error, rows))
        missing = max(0, min(target - (len(rows) - errors), 2 * target - len(rows)))
        next_ordinal = rows[-1].ordinal + 1 if rows else 0
        return range(next_ordinal, next_ordinal + missing)

    @property
    def _unplayable(self) -> str:
        """The reason given when replays ended with errors and no more can be played."""
        return f"{plural(self._errors, 'replay')} ended without a result"

    def _arm_without_result(self, *, is_over: bool) -> int | None:
        """Return an arm with only failed replays, if there is no verdict without it.

        This is the baseline, or the first candidate if all candidates have only failed replays.
        """
        candidates = self.plan.candidate_arms
        if all(self._has_only_errors(arm, is_over=is_over) for arm in candidates):
            return candidates[0]
        return BASELINE if self._has_only_errors(BASELINE, is_over=is_over) else None

    def _has_only_errors(self, arm: int, *, is_over: bool) -> bool:
        """Return True for an arm without a result that has `FAILED_REPLAYS_MAX` failed replays, or one if `is_over`."""
        if arm not in self.plan.snapshots:
            return False
        rows = [row for case in self.plan.cases for row in self.by_series.get(self.plan.series(arm, case), ())]
        failed = sum(map(is_error, rows))
        only_errors = failed == len(rows) if is_over else failed >= FAILED_REPLAYS_MAX
        return bool(rows) and only_errors and not any(row.status in COUNTED for row in rows)


def _is_decided(decisions: Mapping[int, Decision]) -> bool:
    return all(decision.verdict is not None for decision in decisions.values())


def is_error(row: PlayedRow) -> bool:
    """Return whether a replay has ended without a result: with an error, cancelled by a person, or removed."""
    return row.status not in UNFINISHED and row.status not in COUNTED


def latency_ms(row: PlayedRow) -> float | None:
    """Return the milliseconds from the first claim to the end; None for a replay that was interrupted."""
    if row.attempts != 1 or row.started_at is None or row.finished_at is None:
        return None
    return (row.finished_at - row.started_at).total_seconds() * 1000


def _trial(row: PlayedRow) -> Trial:
    undecided = UNDECIDED.get(row.status or "")
    return Trial(row.status == "passed", violated=row.violated, latency_ms=latency_ms(row), undecided=undecided)
