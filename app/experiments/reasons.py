"""Explains in one plain sentence why an experiment has its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reprise_formats.formats import p_value, percent, plural

from app.experiments.statistics import detectable
from app.experiments.types import Design, Undecided


@dataclass(frozen=True)
class Reasons:
    """The sentences on an experiment with `cases` test cases.

    `least` is the fewest trials that the candidate has in any test case that can show a drop.
    """

    design: Design
    cases: int
    least: int

    @property
    def detectable(self) -> float | None:
        """The rate of failures, from 0 to 1, that `least` trials miss with the chance `missed`; None without trials."""
        return detectable(self.least, self.design.missed)

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

    def unread(self, count: int, undecided: Mapping[Undecided, int]) -> str:
        return f"Too few replays were decided in {self._of(count)}: {_counted(undecided)}."

    def blind(self, count: int, undecided: Mapping[Undecided, int]) -> str:
        """Explain that too many test cases cannot show a drop."""
        rarely = "passes too rarely" if count == 1 else "pass too rarely"
        against = " with the baseline" if self.design.has_baseline else ""
        because = f" ({_counted(undecided)})" if undecided else ""
        cases = "The test case" if self.cases == 1 else f"{count} of {self.cases} test cases"
        return f"{cases} {rarely}{against} to show a drop{because}."

    def exhausted(self, why: str) -> str:
        return f"Nothing was decided when {why}."

    def passed(self) -> str:
        return f"A step that fails more than {percent(self.detectable or 1)} of the time would have shown."

    def same(self) -> str:
        return "The candidate is the same as the baseline."

    def _of(self, count: int) -> str:
        return "the test case" if self.cases == 1 else f"{count} of {self.cases} test cases"


def _counted(undecided: Mapping[Undecided, int]) -> str:
    """Return the undecided replays in words: "9 replays need review, 1 replay is void"."""
    review, void = undecided.get("needs_review", 0), undecided.get("void", 0)
    parts = [
        f"{plural(review, 'replay')} {'needs' if review == 1 else 'need'} review" if review else "",
        f"{plural(void, 'replay')} {'is' if void == 1 else 'are'} void" if void else "",
    ]
    return ", ".join(filter(None, parts))
