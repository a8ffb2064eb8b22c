"""A budget of steps for work that grows with what a caller, a model or a trace sent."""

from __future__ import annotations

from math import inf

CHARACTERS_PER_STEP = 64


class OverBudget(Exception):
    """The work needs more steps than its budget has."""


class WorkBudget:
    """Counts steps. A step lasts about a microsecond: look at an element, apply a rule, read 64 characters."""

    __slots__ = ("limit", "spent")

    def __init__(self, limit: float = inf) -> None:
        self.limit = limit
        self.spent = 0

    def spend(self, steps: int) -> None:
        """Count steps. Raises `OverBudget` when more than the limit is spent."""
        self.spent += steps
        if self.spent > self.limit:
            raise OverBudget

    def read(self, text: str) -> None:
        """Count the steps of reading a text once."""
        self.spend(1 + len(text) // CHARACTERS_PER_STEP)


UNLIMITED = WorkBudget()
"""For work that its caller has bounded otherwise."""
