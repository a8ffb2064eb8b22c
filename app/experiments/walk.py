"""Plays an experiment round by round until it is decided."""

from __future__ import annotations

from collections.abc import Mapping

from app.experiments.clearing import State, state_of
from app.experiments.regression import Regression, log_bar
from app.experiments.rounds import round_ends
from app.experiments.sequential import TrialBounds
from app.experiments.types import Design, Verdict


class Walk:
    """The state of an experiment after its rounds so far.

    A round is looked at as a whole, so the order in which its replays end changes nothing. `states` are those of the
    test cases, in their order.
    """

    def __init__(self, design: Design, cases: int) -> None:
        self.number = 0  # of rounds
        self.states: list[State] = ["open"] * cases
        self._totals = [TrialBounds()] * cases
        self.regression: Regression | None = None
        self.log_wealth = 0.0  # the greatest after any round: a candidate that has failed stays failed
        self._design = design
        self._ends = round_ends(design.repeats_min, design.repeats_max)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the comparison, or None if another round is needed."""
        if self.log_wealth >= log_bar(self._design.alpha_each):
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

    def play(self, rounds: Mapping[int, TrialBounds]) -> None:
        """Add the next round of the test cases at these indexes, in their order, which hold all open ones."""
        self.number += 1
        for index, seen in rounds.items():
            self._totals[index] = self._totals[index].plus(seen)
            self.states[index] = state_of(self._design, self._totals[index])
        if self._design.has_baseline:
            self._bet(rounds)

    def _bet(self, rounds: Mapping[int, TrialBounds]) -> None:
        if self.regression is None:
            self.regression = Regression([rounds[index].shown for index in range(len(self.states))])
        else:
            for index, seen in rounds.items():
                self.regression.add(index, seen.shown)
        self.log_wealth = max(self.log_wealth, self.regression.log_wealth())
