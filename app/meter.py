"""Bounds work whose cost depends on a caller's input by a budget of steps."""

from __future__ import annotations

from math import inf

CHARACTERS_PER_STEP = 64


class TooMuch(Exception):
    """The budget is used up, and the work was given up."""


class Meter:
    """Counts steps, each about a microsecond: an element looked at, a rule applied, some dozens of characters read."""

    __slots__ = ("budget", "spent")

    def __init__(self, budget: float = inf) -> None:
        self.budget = budget
        self.spent = 0

    def spend(self, steps: int) -> None:
        """Raises `TooMuch` once more than the budget was spent."""
        self.spent += steps
        if self.spent > self.budget:
            raise TooMuch

    def read(self, text: str) -> None:
        """Spend what one look at all of a text costs."""
        self.spend(1 + len(text) // CHARACTERS_PER_STEP)
