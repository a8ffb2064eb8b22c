"""Clears a test case: excludes that its pass rate dropped by `detect`, or is below the smallest allowed rate.

An experiment passes only if all its test cases are cleared, so nothing is corrected for their number: Berger,
"Multiparameter hypothesis testing and acceptance sampling" (Technometrics 24, 1982).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import comb, log
from typing import Literal

from app.experiments.rounds import round_ends
from app.experiments.sequential import Round, TrialBounds, log_mean, log_wealth
from app.experiments.types import Design

# open: the test case needs more trials. clear: a drop is excluded. blind: the test case cannot show a drop, because the
# baseline passes too rarely. unread: too many trials of the candidate need review or are void to exclude a drop.
State = Literal["open", "clear", "blind", "unread"]
_THRESHOLDS = tuple(log(bar) for bar in (5, 10, 20, 40, 80, 160, 320, 640))


def state_of(design: Design, seen: TrialBounds) -> State:
    """Return the state of a test case after the pairs of its rounds."""
    if seen.best.pairs < design.repeats_min:
        return "open"
    if _is_blind(design, seen.best):
        return "blind"
    if not is_open(design, seen.worst):
        return "clear"
    may_clear = design.pass_rate != 1 and seen.undecided < design.detect * seen.best.pairs
    return "unread" if seen.undecided and not may_clear else "open"


def _is_blind(design: Design, total: Round) -> bool:
    """Return True if the pass rate that the candidate must keep is too low to fall by `detect`."""
    asked = design.pass_rate or 0.0
    passed = total.lost + total.passed if design.has_baseline else 0
    return asked < design.detect and passed < design.detect * total.pairs


def is_open(design: Design, total: Round) -> bool:
    """Return True while the trials do not exclude that the candidate is worse than the design allows."""
    if total.pairs < design.repeats_min:
        return True
    if design.has_baseline and total.lost and _log_wealth_drop(design.detect, total) < _threshold(design):
        return True
    rate = design.pass_rate
    return rate is not None and _may_be_below(design, rate, total)


def _log_wealth_drop(detect: float, total: Round) -> float:
    """Return the log wealth of bets against a drop by `detect` or more, on the difference in each pair."""
    kept = 1 - detect
    tied = total.failed + total.passed
    return log_wealth(((-1.0, total.lost), (detect / kept, tied), ((1 + detect) / kept, total.gained)))


@lru_cache(1024)
def _threshold(design: Design) -> float:
    """Return the log wealth that clears a test case which has lost a pair.

    A test case that loses no pair in the first round is cleared at once: under a drop by `detect` that happens one time
    in ten at most, with the default repeats. The bar is the lowest by which both ways together clear such a drop one
    time in ten at most. It is computed for a baseline that always passes; others are cleared by mistake less often.
    """
    lowest = bisect_left(_THRESHOLDS, True, key=lambda bar: _cleared(design, bar) <= design.missed)
    return _THRESHOLDS[min(lowest, len(_THRESHOLDS) - 1)]


def _cleared(design: Design, bar: float) -> float:
    """Return the chance that a candidate which fails with the chance `detect` is cleared after any round."""
    open_by_lost, cleared, played = {0: 1.0}, 0.0, 0
    for end in round_ends(design.repeats_min, design.repeats_max):
        after = dict[int, float]()
        for lost, chance in _outcomes(open_by_lost, end - played, design.detect):
            if not lost or _log_wealth_drop(design.detect, Round(lost, passed=end - lost)) >= bar:
                cleared += chance
            else:
                after[lost] = after.get(lost, 0.0) + chance
        open_by_lost, played = after, end
    return cleared


def _outcomes(chances: dict[int, float], trials: int, rate: float) -> Iterator[tuple[int, float]]:
    for lost, chance in chances.items():
        for more in range(trials + 1):
            yield lost + more, chance * comb(trials, more) * rate**more * (1 - rate) ** (trials - more)


def _may_be_below(design: Design, rate: float, total: Round) -> bool:
    """Return True while the candidate passes less often than `rate`, or may by the share `detect` of it."""
    failed, lower = total.candidate_failures, rate * (1 - design.detect)
    passed = total.pairs - failed
    if not failed or not lower:
        return False
    return passed / total.pairs < rate or log_wealth(((-1.0, failed), ((1 - lower) / lower, passed))) < _threshold(
        design
    )


def is_below(rate: float, counts: Sequence[tuple[int, int]], alpha: float) -> bool:
    """Return True if the candidate is shown to pass less often than `rate` in any test case.

    `counts` are its failures and passes in each. With the rate 1 any failure shows it; else the chance of a mistake is
    `alpha` at most. The wealth of all test cases is averaged: Vovk and Wang, "E-values: calibration, combination and
    applications" (Annals of Statistics 49, 2021).
    """
    if rate == 1:
        return any(failed for failed, _ in counts)
    logs = [log_wealth(((rate / (1 - rate), failed), (-1.0, passed))) for failed, passed in counts]
    return log_mean(logs, [1 / len(logs)] * len(logs)) >= -log(alpha)
