"""Explains in one plain sentence why an experiment has its verdict."""

from __future__ import annotations

from dataclasses import dataclass

from reprise_client.formats import p_value, percent

from app.experiments.statistics import detectable
from app.experiments.types import Design


@dataclass(frozen=True)
class Reasons:
    """The sentences on an experiment with so many test cases, each played at least `least` times."""

    design: Design
    cases: int
    least: int

    @property
    def detectable(self) -> float | None:
        return detectable(self.least)

    def violated(self, count: int) -> str:
        return f"The candidate did what it must not do in {self._of(count)}."

    def below(self, rate: float) -> str:
        if rate == 1:
            return "A replay of the candidate failed, and every one has to pass."
        return f"The candidate passes less often than {percent(rate)} of the time, the smallest pass rate allowed."

    def regressed(self, count: int, p: float) -> str:
        if not count:
            return f"Over all test cases, the candidate passes less often than the baseline ({p_value(p)})."
        return f"The candidate passes less often than the baseline in {self._of(count)} ({p_value(p)})."

    def slow(self, ratio: float, allowed: float) -> str:
        return f"The candidate took {ratio:.3g} times as long as the baseline, and {allowed:.3g} times is allowed."

    def undecided(self, count: int) -> str:
        return f"The candidate may still be worse in {self._of(count)} after {self.design.repeats_max} replays."

    def exhausted(self, why: str) -> str:
        return f"Nothing was decided when {why}."

    def passed(self) -> str:
        return f"A step that fails more than {percent(self.detectable or 1)} of the time would have shown."

    def _of(self, count: int) -> str:
        return "the test case" if self.cases == 1 else f"{count} of {self.cases} test cases"
