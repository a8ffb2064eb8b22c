"""The plan of a guard map, its decided sentences as they are stored, and the replays that it needs next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import msgspec
from reprise_formats.formats import plural, usd

from app.experiments.types import CaseTrials, Trial
from app.guard.decision import MutantTrials, SentenceDecision, State, decide_sentence
from app.guard.mutants import Mutant, Operator
from app.models.experiments import Contents, ExperimentRow
from app.models.replays import UNFINISHED, CandidateKind, ReplaySetup
from app.services.experiments.plan import BASELINE, FIRST_MODEL, Parameters, Plan, Series
from app.services.experiments.replayed_experiment import ReplayedExperiment, WantedReplay
from app.services.replays.frozen import FrozenCase
from app.values.structs import convert

# The arm of the first mutant; the next mutants have the next arms.
FIRST_MUTANT = FIRST_MODEL
ALPHA, DETECT = 0.05, 0.5
"""The `alpha` of the `Design` of a guard map, and its default `detect`."""
REPLAYS_DEFAULT = 2_000
"""Replays that a map may play if its request names no other number."""
CASES_KEPT = 20
"""Test cases that a decided sentence names."""


class PlannedMutant(msgspec.Struct, frozen=True):
    """A mutant: in the text, `by` replaces the characters from `begin` to `end`, which belong to a sentence.

    `sentence` is the sentence's number. `first` has the indexes of the test cases that are played first; the others
    follow in their order.
    """

    sentence: int
    operator: Operator
    begin: int
    end: int
    by: str
    first: tuple[int, ...]

    @property
    def mutant(self) -> Mutant:
        return Mutant(self.sentence, self.operator, self.begin, self.end, self.by)

    def order(self, cases: int) -> list[int]:
        """Return the indexes of so many test cases in the order in which they are played."""
        return [*self.first, *(index for index in range(cases) if index not in self.first)]


class DecidedSentence(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a guard map found about a sentence: a `SentenceDecision` with the indexes of the map.

    `mutant` is an index of `MapPlan.mutants`, `cases` has at most `CASES_KEPT` indexes of the map's test cases.
    """

    state: State
    mutant: int | None = None
    cases: tuple[int, ...] = ()
    p_value: float | None = None


class Decided(msgspec.Struct, frozen=True, omit_defaults=True):
    """The decided sentences by their numbers. The keys are texts, as in JSON."""

    sentences: dict[str, DecidedSentence] = {}


NOTHING_PASSES = (
    "The text itself passes none of the test cases, so no change of it can make one fail: "
    "correct the text or the test cases first."
)


class MutantQuestion(msgspec.Struct, frozen=True, rename="camel"):
    """The progress of asking a model for mutants, which ends before a map plays.

    `next` is the number of the first sentence that the model was not asked about, None at the end. `claim` is the claim
    of the worker that asks, and `attempts` counts such workers. `cost_usd` is the cost so far. `error` is the reason
    why the model proposed no more mutants.
    """

    model_id: int
    next: int | None = 0
    claim: str | None = None
    attempts: int = 0
    cost_usd: float = 0.0
    error: str | None = None


class MapParameters(Parameters, frozen=True, rename="camel"):
    """The parameters of a guard map, the name of the suite that it plays, and the question for a model's mutants."""

    max_replays: int = REPLAYS_DEFAULT
    suite: str | None = None
    question: MutantQuestion | None = None


def question_of(row: ExperimentRow | None) -> MutantQuestion | None:
    """Return the progress of asking a model for mutants of a map; None if no model was to be asked."""
    return convert(row.design, MapParameters).question if row and row.kind == "guard_map" else None


def open_question(row: ExperimentRow | None) -> MutantQuestion | None:
    """Return the question that a map waits for, None if it can be advanced."""
    question = question_of(row)
    return None if row is None or row.finished or question is None or question.next is None else question


@dataclass(frozen=True)
class MapPlan(Plan):
    """The plan of a guard map: the text is the arm `BASELINE`, and mutants are the arms from `FIRST_MUTANT` on."""

    parameters: MapParameters
    mutants: tuple[PlannedMutant, ...] = ()

    @classmethod
    def of(cls, row: ExperimentRow, contents: Contents) -> MapPlan:
        cases = convert(contents.cases, tuple[FrozenCase, ...])
        # A guard map compares no models, so the column has its mutants.
        mutants = convert(contents.models, tuple[PlannedMutant, ...])
        return cls(row, convert(row.design, MapParameters), cases, (), mutants)

    @cached_property
    def snapshots(self) -> dict[int, int]:
        """The id of the frozen text, by its arm. The texts of mutants are stored when they are played."""
        return {BASELINE: self.row.candidate_snapshot_id}

    @property
    def asked_usd(self) -> float:
        return self.parameters.question.cost_usd if self.parameters.question else 0.0

    @cached_property
    def played_arms(self) -> dict[int, int]:
        return {arm: arm for arm in (BASELINE, *range(FIRST_MUTANT, FIRST_MUTANT + len(self.mutants)))}

    @cached_property
    def sentences(self) -> Mapping[int, Sequence[int]]:
        """The indexes of the mutants of each sentence, in their order."""
        by_sentence: dict[int, list[int]] = {}
        for index, mutant in enumerate(self.mutants):
            by_sentence.setdefault(mutant.sentence, []).append(index)
        return by_sentence

    def setup_of(self, arm: int, snapshot_id: int) -> ReplaySetup:
        """Return the common properties of an arm's replays."""
        kind: CandidateKind = self.row.candidate_kind if arm == BASELINE else "overlay"
        return self._setup(kind, self.row.candidate_commit, snapshot_id)


class MapAssessment(NamedTuple):
    """What the replays of a guard map show so far, and which replays it needs next.

    `decided` are all decided sentences. `wanted` are the replays to add. `stopped` are the arms of the mutants of
    sentences that this call has decided: their unfinished replays can be cancelled.
    """

    decided: Decided
    wanted: Sequence[WantedReplay]
    stopped: frozenset[int]


@dataclass(frozen=True)
class ReplayedMap(ReplayedExperiment):
    """A guard map with its replays; see `MapPlan` for its arms."""

    plan: MapPlan

    @cached_property
    def decided_before(self) -> Decided:
        """The sentences that were decided before."""
        return convert(self.plan.row.summary, Decided)

    @cached_property
    def map_exhausted(self) -> str | None:
        """The reason why no more replays may be played; None if there is none."""
        most = self.plan.parameters.max_cost
        if most is not None and self.own_cost_usd >= most:
            return f"The cost reached {usd(most)}."
        if len(self.replays) >= self.plan.parameters.max_replays:
            return f"It has played {plural(self.plan.parameters.max_replays, 'replay')}, as many as it may."
        return None

    @cached_property
    def never_passed(self) -> str | None:
        """What a page states about the test cases that the unchanged text never passes; None if there are none."""
        least, cases = self.plan.parameters.repeats.min, self.plan.cases
        trials = [self.trials_of(BASELINE, case) for case in cases]
        never = sum(len(rows) >= least and all(row.status != "passed" for row in rows) for rows in trials)
        if never == len(cases):
            return NOTHING_PASSES
        return (
            f"The text itself never passes {never} of {len(cases)} test cases. Fix those first: they show nothing."
            if never
            else None
        )

    def assess_map(self, most: int) -> MapAssessment:
        """Decide the sentences in their order, until `most` replays are wanted for undecided ones.

        Once the map is exhausted, a sentence that needs more replays is decided as "undecided".
        """
        sentences = dict(self.decided_before.sentences)
        wanted: dict[tuple[Series, int], WantedReplay] = {}
        stopped: set[int] = set()
        room = self.plan.parameters.max_replays - len(self.replays)
        for number, mutants in self.plan.sentences.items():
            if str(number) in sentences:
                continue
            decision = decide_sentence(self.plan.design, [self._mutant_trials(index) for index in mutants])
            if decision.state is None:
                missing = list(self._missing_of(mutants, decision))
                if not self.map_exhausted and (missing or self._is_in_work(mutants, decision)):
                    wanted |= {(want.series, want.ordinal): want for want in missing}
                    if len(wanted) >= min(most, room):
                        break
                    continue
                if self._is_in_work(mutants, decision):
                    continue
                # Nothing more can be played: the budget is spent, or the replays ended with errors.
                decision = SentenceDecision("undecided")
            sentences[str(number)] = self._stored(mutants, decision)
            stopped.update(FIRST_MUTANT + index for index in mutants)
        order = sorted(wanted.values())
        return MapAssessment(Decided(sentences), order[: max(0, min(most, room))], frozenset(stopped))

    def _stored(self, mutants: Sequence[int], decision: SentenceDecision) -> DecidedSentence:
        """Return a decision with the indexes of the map; the decision counts only the sentence's `mutants`."""
        failed = None if decision.mutant is None else mutants[decision.mutant]
        order = self._order(mutants[decision.mutant or 0])
        cases = tuple(order[case] for case in decision.cases[:CASES_KEPT])
        return DecidedSentence(decision.state or "undecided", failed, cases, decision.p_value)

    @cached_property
    def _text_results(self) -> Sequence[tuple[Sequence[Trial], set[str | int]]]:
        """The trials of the text and its answers, by test case: all mutants are compared with them."""
        return [(self._trials(BASELINE, case), self._answers(BASELINE, case)) for case in self.plan.cases]

    def _mutant_trials(self, index: int) -> MutantTrials:
        """Return the trials of a mutant in the order in which it plays the test cases, each with those of the text."""
        arm, pairs, changed = FIRST_MUTANT + index, [], []
        for position, case_index in enumerate(self._order(index)):
            case, (trials, answers) = self.plan.cases[case_index], self._text_results[case_index]
            pairs.append(CaseTrials(self._trials(arm, case), trials))
            if not self._answers(arm, case) <= answers:
                changed.append(position)
        return MutantTrials(self.plan.mutants[index].operator, pairs, frozenset(changed))

    def _order(self, index: int) -> list[int]:
        return self.plan.mutants[index].order(len(self.plan.cases))

    def _answers(self, arm: int, case: FrozenCase) -> set[str | int]:
        """Return the digests of passing answers; without one, the replay's id, which equals the digest of no other."""
        return {
            row.answers_digest or row.replay_id
            for row in self.by_series.get(self.plan.series(arm, case), ())
            if row.status == "passed"
        }

    def _series(self, mutants: Sequence[int], decision: SentenceDecision) -> Iterator[tuple[Series, int]]:
        """Yield each series that an open decision on a sentence needs, with the number of trials that it needs of it.

        `mutants` are the indexes of the sentence's mutants.
        """
        for want in decision.wanted:
            index = mutants[want.mutant]
            case = self.plan.cases[self._order(index)[want.case]]
            yield self.plan.series(FIRST_MUTANT + index, case), want.trials
            yield self.plan.series(BASELINE, case), want.baseline

    def _missing_of(self, mutants: Sequence[int], decision: SentenceDecision) -> Iterator[WantedReplay]:
        for series, target in self._series(mutants, decision):
            for ordinal in self._missing(series, target):
                yield WantedReplay(ordinal, series)

    @cached_property
    def _unfinished(self) -> frozenset[Series]:
        unfinished = (row for row in self.replays if row.status in UNFINISHED)
        return frozenset(Series(row.arm, row.test_case_id, row.variant) for row in unfinished)

    def _is_in_work(self, mutants: Sequence[int], decision: SentenceDecision) -> bool:
        return any(series in self._unfinished for series, _ in self._series(mutants, decision))
