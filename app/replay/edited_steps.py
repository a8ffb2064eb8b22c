"""The steps of a test case while some of them are replaced."""

from __future__ import annotations

from msgspec.structs import replace

from app.replay.case_types import CaseStep, TestCase


class EditedSteps:
    """Replaces steps of a test case. A replacement costs the same however many steps the test case has."""

    def __init__(self, case: TestCase) -> None:
        self._case = case
        self._played = len(case.played_turns)
        self._checked = sum(step.checked for turn in case.played_turns for step in turn.steps)
        # The steps of the turns that have changed.
        self._turns: dict[int, list[CaseStep]] = {}

    def get(self, turn: int, n: int) -> CaseStep | None:
        """Return the current step, None if the test case has none there."""
        if not 0 <= turn < len(self._case.turns):
            return None
        steps = self._turns.get(turn, self._case.turns[turn].steps)
        return steps[n] if 0 <= n < len(steps) else None

    def put(self, turn: int, n: int, step: CaseStep) -> None:
        """Replace a step that is there."""
        steps = self._turns.setdefault(turn, [*self._case.turns[turn].steps])
        if turn < self._played:
            self._checked += step.checked - steps[n].checked
        steps[n] = step

    def is_last_checked(self, turn: int, step: CaseStep) -> bool:
        """Return True if the test case would check nothing without this step of the turn."""
        return turn < self._played and step.checked and self._checked == 1

    def case(self) -> TestCase:
        """Return the test case with the replaced steps."""
        turns = [*self._case.turns]
        for index, steps in self._turns.items():
            turns[index] = replace(turns[index], steps=tuple(steps))
        return replace(self._case, turns=tuple(turns))
