"""The standing of an experiment: what its replays have found, and which ones it wants next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from reprise_client.formats import plural, usd

from app.experiments.decision import decide
from app.experiments.types import CaseTrials, Decision, Trial
from app.models.experiment_replays import COUNTED, PlayedRow
from app.models.replays import UNFINISHED
from app.services.experiments.plan import BASELINE, CANDIDATE, Plan, Series
from app.services.replays.frozen import FrozenCase

# The replays of one experiment, all arms together.
REPLAYS_MAX = 10_000
# Replays with an error after which a side that has no other result is given up.
ERRORS_ALONE = 20


class Wanted(NamedTuple):
    """A replay that is to be added; those of the first ordinals are played first, over all test cases."""

    ordinal: int
    series: Series


@dataclass(frozen=True, slots=True)
class Outlook:
    """The next change of an experiment, as it follows from its replays.

    `decisions` are those on each compared arm; `wanted` the replays to add, in the order in which they are to be
    played; `fruitless` an arm that has no result and gets none, None if there is no such arm.
    """

    decisions: Mapping[int, Decision]
    wanted: Sequence[Wanted]
    fruitless: int | None

    @property
    def is_decided(self) -> bool:
        return _is_decided(self.decisions)


@dataclass(frozen=True)
class Standing:
    """An experiment with its replays, by arm and test case in order of ordinal."""

    plan: Plan
    replays: Sequence[PlayedRow]

    @cached_property
    def by_series(self) -> Mapping[Series, Sequence[PlayedRow]]:
        found: defaultdict[Series, list[PlayedRow]] = defaultdict(list)
        for each in self.replays:
            found[Series(each.arm, each.test_case_id)].append(each)
        return found

    @cached_property
    def in_work(self) -> int:
        """The number of replays that have not ended."""
        return sum(each.status in UNFINISHED for each in self.replays)

    @property
    def ended(self) -> int:
        return len(self.replays) - self.in_work

    @cached_property
    def own_cost_usd(self) -> float:
        """The cost of the replays that were played for this experiment."""
        own = (each for each in self.replays if not each.reused)
        return sum(each.prompt_cost_usd + each.completion_cost_usd for each in own)

    @cached_property
    def _errors(self) -> int:
        return sum(_is_error(each) for each in self.replays)

    def found(self, arm: int, case: FrozenCase) -> list[PlayedRow]:
        """Return the replays of a series that are trials, in order of ordinal.

        They end before the first that is in work: of replays that run side by side the quick ones must not count
        first. A candidate's with a violation counts at once, for nothing that comes can change what it means.
        """
        trials: list[PlayedRow] = []
        waits = False
        for each in self.by_series.get(self.plan.series(arm, case), ()):
            waits = waits or each.status in UNFINISHED
            if each.status in COUNTED and (not waits or (each.violated and arm != BASELINE)):
                trials.append(each)
        return trials

    @cached_property
    def _cases(self) -> Mapping[int, list[CaseTrials]]:
        """The trials of the test cases by compared arm."""
        has_baseline = BASELINE in self.plan.snapshots
        baselines = [self._trials(BASELINE, case) if has_baseline else () for case in self.plan.cases]
        return {
            arm: [
                CaseTrials(self._trials(arm, case), baseline)
                for case, baseline in zip(self.plan.cases, baselines, strict=True)
            ]
            for arm in self.plan.compared
        }

    def _trials(self, arm: int, case: FrozenCase) -> tuple[Trial, ...]:
        return tuple(map(_trial, self.found(arm, case)))

    def decisions(self, exhausted: str | None = None) -> dict[int, Decision]:
        """Return the decision on each compared arm; `exhausted` says why no more may be played."""
        return {arm: decide(self.plan.design, cases, exhausted=exhausted) for arm, cases in self._cases.items()}

    @property
    def _exhausted(self) -> str | None:
        """The reason why no more may be played; None while there is none."""
        most = self.plan.numbers.max_cost
        if most is not None and self.own_cost_usd >= most:
            return f"the cost reached {usd(most)}"
        if len(self.replays) >= REPLAYS_MAX and not self.in_work:
            return f"it had {REPLAYS_MAX:,} replays, the most that an experiment may have"
        return None

    @cached_property
    def outlook(self) -> Outlook:
        exhausted = self._exhausted
        decisions = self.decisions(exhausted)
        wanted = self._wanted(decisions)
        is_over = not wanted and not self.in_work
        if is_over and not _is_decided(decisions):
            decisions = self.decisions(self._unplayable)
        # Replays that a budget stopped are no errors.
        fruitless = self._fruitless(is_over=is_over) if exhausted is None else None
        return Outlook(decisions, wanted, fruitless)

    def _wanted(self, decisions: Mapping[int, Decision]) -> list[Wanted]:
        """Return the replays to add for what is not decided, in the order in which they are to be played.

        A replay that ended with an error is no trial, and another one is played in its place: at most as many in a
        series as trials are wanted in it.
        """
        targets: defaultdict[Series, int] = defaultdict(int)
        for arm, decision in decisions.items():
            for case, (own, baseline) in zip(self.plan.cases, decision.targets, strict=True):
                for each, target in ((arm, own), (BASELINE, baseline)):
                    if decision.verdict is None and each in self.plan.played_arms:
                        series = self.plan.series(each, case)
                        targets[series] = max(targets[series], target)
        found = [Wanted(n, series) for series, target in targets.items() for n in self._missing(series, target)]
        order = {case.test_case_id: index for index, case in enumerate(self.plan.cases)}
        found.sort(key=lambda each: (each.ordinal, order[each.series.test_case_id], each.series.arm))
        return found[: max(0, REPLAYS_MAX - len(self.replays))]

    def _missing(self, series: Series, target: int) -> range:
        rows = self.by_series.get(series, ())
        errors = sum(map(_is_error, rows))
        missing = max(0, min(target - (len(rows) - errors), 2 * target - len(rows)))
        next_ordinal = rows[-1].ordinal + 1 if rows else 0
        return range(next_ordinal, next_ordinal + missing)

    @property
    def _unplayable(self) -> str:
        """The reason why no more can be played of what ended with errors."""
        return f"{plural(self._errors, 'replay')} ended without a result"

    def _fruitless(self, *, is_over: bool) -> int | None:
        """Return an arm whose replays all ended with an error: `ERRORS_ALONE` of them, or all if it `is_over`."""
        for arm in (CANDIDATE, BASELINE):
            rows = [
                row
                for case in self.plan.cases
                for row in (self.by_series.get(self.plan.series(arm, case), ()) if arm in self.plan.snapshots else ())
            ]
            failed = sum(map(_is_error, rows))
            alone = failed == len(rows) if is_over else failed >= ERRORS_ALONE
            if rows and alone and not any(row.status in COUNTED for row in rows):
                return arm
        return None


def _is_decided(decisions: Mapping[int, Decision]) -> bool:
    return all(decision.verdict is not None for decision in decisions.values())


def _is_error(row: PlayedRow) -> bool:
    """Return whether a replay has ended without a result: with an error, cancelled by a person, or removed."""
    return row.status not in UNFINISHED and row.status not in COUNTED


def latency_ms(row: PlayedRow) -> float | None:
    """Return the time from the first claim to the end; None for a replay that was interrupted."""
    if row.attempts != 1 or row.started_at is None or row.finished_at is None:
        return None
    return (row.finished_at - row.started_at).total_seconds() * 1000


def _trial(row: PlayedRow) -> Trial:
    return Trial(row.status == "passed", violated=row.violated, latency_ms=latency_ms(row))
