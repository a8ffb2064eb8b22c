"""A budget of steps, for work whose cost a caller decides."""

from __future__ import annotations

CHARACTERS_PER_STEP = 64
# About half a second of processor time at worst, and an answer of a megabyte at ordinary schemas.
STEPS_MAX = 400_000


class TooMuch(Exception):
    """The budget is used up, and the work was given up."""


class Meter:
    """Counts steps: an element looked at, a rule applied, or some dozens of characters compared."""

    __slots__ = ("budget", "spent")

    def __init__(self, budget: int) -> None:
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
