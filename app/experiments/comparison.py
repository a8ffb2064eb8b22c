"""Two versions side by side: estimates with their intervals, and the findings about their difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean, stdev
from typing import Literal

from app.experiments.statistics import wilson_interval
from app.sessions.figures import Sketch, quantile, quantile_interval

Change = Literal["lower", "higher", "unclear"]
MEAN_MIN = 5
"""The fewest values of a mean with an interval."""
_Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the bounds of its 95 % interval; each is None if there is too little data."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


def estimated_share(part: int, whole: int) -> Estimate:
    """Return the share, 0 to 1, with Wilson's interval."""
    return Estimate(part / whole, *wilson_interval(part, whole)) if whole > 0 else Estimate()


def estimated_quantile(sketch: Sketch, share: float, *, per: float = 1) -> Estimate:
    """Return the quantile of a sketch with its interval.

    `per`: stored units per reported unit (1000 for ms → s).
    """
    value, bounds = quantile(sketch, share), quantile_interval(sketch, share)
    if value is None:
        return Estimate()
    return Estimate(value / per, *(bound / per for bound in bounds)) if bounds else Estimate(value / per)


def estimated_mean(values: Sequence[float]) -> Estimate:
    """Return the mean with its interval: Wilson's where all values are 0 or 1, else Student's.

    There is none for fewer than `MEAN_MIN` values, nor where all are equal.
    """
    if not values:
        return Estimate()
    mean = fmean(values)
    if all(value in (0, 1) for value in values):
        return Estimate(mean, *wilson_interval(round(sum(values)), len(values)))
    spread = stdev(values) if len(values) >= MEAN_MIN else 0.0
    half = student(len(values) - 1) * spread / sqrt(len(values)) if spread else 0.0
    return Estimate(mean, mean - half, mean + half) if half else Estimate(mean)


def student(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t, within 0.5 % from 4 degrees of freedom on.

    Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), 26.7.5.
    """
    z, n = _Z, freedom
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / float(n) ** power for power, term in enumerate(terms, start=1))


@dataclass(frozen=True, slots=True)
class Finding:
    """A figure of two versions. `better` is the change for the better, None for a score, which has none."""

    name: str
    before: Estimate
    after: Estimate
    better: Change | None = None
    score: bool = False

    @property
    def change(self) -> Change | None:
        """The change where the intervals do not overlap; None where one of them is not known."""
        before, after = self.before, self.after
        if before.low is None or before.high is None or after.low is None or after.high is None:
            return None
        if after.high < before.low:
            return "lower"
        return "higher" if after.low > before.high else "unclear"

    @property
    def improved(self) -> bool | None:
        """True for a change for the better, False for the worse; None without a clear change, and for a score."""
        return None if self.change in (None, "unclear") or self.better is None else self.change == self.better


# The words of a lower and of a higher figure.
_WORDS = {
    "failedSessions": ("fewer sessions with errors", "more sessions with errors"),
    "failedTools": ("fewer sessions with failed tools", "more sessions with failed tools"),
    "turnMs": ("faster turns", "slower turns"),
    "sessionCost": ("cheaper sessions", "dearer sessions"),
    "failedRuns": ("fewer failed runs", "more failed runs"),
    "replaysPassed": ("fewer replays that pass", "more replays that pass"),
}


def summary(findings: Sequence[Finding]) -> str:
    """Return one or two sentences: what got better or worse in the later version, or why that is not known."""
    known = [finding for finding in findings if finding.change]
    if not known:
        return "Too little was recorded of one of the versions to compare them."
    clear = [finding for finding in known if finding.change != "unclear"]
    if not clear:
        return "The figures show no difference: the intervals of the two versions overlap in all of them."
    rest = "" if len(clear) == len(known) else " The other figures show no difference."
    return _changes(clear) + rest


def _changes(clear: Sequence[Finding]) -> str:
    better, worse, other = (
        ", ".join(_words(finding) for finding in clear if finding.improved is direction)
        for direction in (True, False, None)
    )
    parts = [f"better: {better}" if better else "", f"worse: {worse}" if worse else ""]
    changes = "; and ".join(filter(None, parts))
    if not changes:
        return f"It changed: {other}."
    return f"It got {changes}.{f' It changed: {other}.' if other else ''}"


def _words(finding: Finding) -> str:
    if finding.score:
        return f"a {finding.change} score of {finding.name}"
    return _WORDS[finding.name][finding.change == "higher"]
