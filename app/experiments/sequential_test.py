"""The sequential test of an experiment: it looks at the trials after each round, until they decide."""

from __future__ import annotations

from collections.abc import Mapping

from app.experiments.clearing import State, state_of
from app.experiments.regression import Regression, log_threshold
from app.experiments.rounds import round_ends
from app.experiments.sequential import TrialBounds
from app.experiments.types import Design, Verdict


class SequentialTest:
    """The state of an experiment after its rounds so far.

    A round is added as a whole, so the order in which its replays end changes nothing. `number` counts the rounds.
    `states` has the state of each test case, in their order. `log_wealth` is the greatest log wealth of the bets on a
    regression after any round (see `sequential.py`), so that a candidate that has failed cannot pass later.
    """

    def __init__(self, design: Design, cases: int) -> None:
        self.number = 0
        self.states: list[State] = ["open"] * cases
        self._totals = [TrialBounds()] * cases
        self.regression: Regression | None = None
        self.log_wealth = 0.0
        self._design = design
        self._ends = round_ends(design.repeats_min, design.repeats_max)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the comparison, or None if another round is needed."""
        if self.log_wealth >= log_threshold(self._design.alpha_each):
            return "failed"
        if self.open:
            return None if self.next_end else "inconclusive"
        return "inconclusive" if "unread" in self.states else "passed"

    @property
    def open(self) -> list[int]:
        """The indexes of the test cases that need the next round."""
        return [index for index, state in enumerate(self.states) if state == "open"]

    @property
    def next_end(self) -> int | None:
        """The number of trials of each side after the next round; None after the last."""
        return self._ends[self.number] if self.number < len(self._ends) else None

    def add_round(self, rounds: Mapping[int, TrialBounds]) -> None:
        """Add the next round: its trials by the index of the test case, at least those of all open test cases."""
        self.number += 1
        for index, seen in rounds.items():
            self._totals[index] = self._totals[index].plus(seen)
            self.states[index] = state_of(self._design, self._totals[index])
        if self._design.has_baseline:
            self._bet(rounds)

    def _bet(self, rounds: Mapping[int, TrialBounds]) -> None:
        if self.regression is None:
            self.regression = Regression([rounds[index].best for index in range(len(self.states))])
        else:
            for index, seen in rounds.items():
                self.regression.add(index, seen.best)
        self.log_wealth = max(self.log_wealth, self.regression.log_wealth())
