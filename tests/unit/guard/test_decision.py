"""What the tests show about a sentence, on a simulated model that fails 5 % of its replays by chance.

The share of right answers is the goal of the guard map: 95 % of the guarded, unguarded and inert sentences.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from app.experiments.statistics import default_repeats
from app.experiments.types import CaseTrials, Design, Trial
from app.guard.decision import MutantTrials, SentenceDecision, decide_sentence
from app.guard.mutants import Operator

FLAKY = 0.05
CASES = 8
SENTENCES = 100
LEAST, MOST = default_repeats(0.5)
DESIGN = Design(LEAST, MOST, 0.5, 0.05, None, None, has_baseline=True)
OPERATORS: tuple[Operator, ...] = ("without", "turned", "number")


@dataclass
class Simulated:
    """A sentence: the test case that it is guarded by, if any, and whether answers change without it."""

    chance: random.Random
    guarding: int | None
    alters: bool
    fails: float = 1 - FLAKY
    text: list[list[Trial]] = field(default_factory=lambda: [[] for _ in range(CASES)])
    played: dict[tuple[int, int], list[Trial]] = field(default_factory=dict)
    replays: int = 0

    def decided(self, operators: tuple[Operator, ...] = OPERATORS) -> SentenceDecision:
        while True:
            decision = decide_sentence(DESIGN, [self._trials(i, operator) for i, operator in enumerate(operators)])
            if decision.state is not None:
                return decision
            assert decision.wanted
            for want in decision.wanted:
                rate = self.fails if want.case == self.guarding else FLAKY
                self._play(self.text[want.case], want.baseline, FLAKY)
                self._play(self.played.setdefault((want.mutant, want.case), []), want.trials, rate)

    def _play(self, trials: list[Trial], number: int, rate: float) -> None:
        while len(trials) < number:
            trials.append(Trial(self.chance.random() >= rate))
            self.replays += 1

    def _trials(self, mutant: int, operator: Operator) -> MutantTrials:
        cases = [CaseTrials(self.played.get((mutant, case), []), self.text[case]) for case in range(CASES)]
        return MutantTrials(operator, cases, frozenset({0}) if self.alters else frozenset())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("state", ["guarded", "unguarded", "inert"])
def test_at_least_95_of_100_sentences_get_the_right_state(state: str, seed: int) -> None:
    chance = random.Random(f"{state} {seed}")
    counts: Counter[str | None] = Counter()
    for number in range(SENTENCES):
        guarding = number % CASES if state == "guarded" else None
        counts[Simulated(chance, guarding, alters=state != "inert").decided().state] += 1
    assert counts[state] >= 0.95 * SENTENCES, counts


def test_the_guarding_test_is_named() -> None:
    right = 0
    for seed in range(50):
        decision = Simulated(random.Random(seed), seed % CASES, alters=True).decided()
        right += list(decision.cases) == [seed % CASES]
    assert right >= 45


def test_an_inert_sentence_needs_no_other_mutant() -> None:
    simulated = Simulated(random.Random(1), None, alters=False)
    assert simulated.decided().state == "inert"
    assert {mutant for mutant, _ in simulated.played} == {0}


def test_a_sentence_that_fails_at_once_is_played_on_few_test_cases() -> None:
    simulated = Simulated(random.Random(1), 0, alters=True, fails=1.0)
    assert simulated.decided().state == "guarded"
    assert {case for _, case in simulated.played} <= {0, 1, 2}


def test_a_test_that_the_text_fails_shows_nothing() -> None:
    failed = [Trial(False)] * MOST
    mutant = MutantTrials("without", [CaseTrials(failed, failed)], frozenset({0}))
    assert decide_sentence(DESIGN, [mutant]).state == "undecided"


def test_a_violation_of_the_text_does_not_guard_a_sentence() -> None:
    violated = [Trial(False, violated=True)] * MOST
    passed = [Trial(True)] * MOST
    mutants = [MutantTrials("without", [CaseTrials(violated, violated), CaseTrials(passed, passed)], frozenset({1}))]
    assert decide_sentence(DESIGN, mutants).state == "unguarded"


def test_a_violation_of_a_mutant_guards_a_sentence() -> None:
    violated, passed = [Trial(False, violated=True)], [Trial(True)]
    mutants = [MutantTrials("without", [CaseTrials(violated, passed)])]
    decision = decide_sentence(DESIGN, mutants)
    assert (decision.state, list(decision.cases)) == ("guarded", [0])
