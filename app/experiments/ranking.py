"""Ranks several candidates that were compared with the same baseline, by what is shown of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from app.experiments.types import Decision, Verdict

MOST_CANDIDATES = 8
_ORDER: dict[Verdict | None, int] = {"passed": 0, None: 1, "inconclusive": 1, "failed": 2}


def ranks(decisions: Sequence[Decision]) -> list[int]:
    """Return the rank of each candidate, from 1.

    A verdict comes first, then the number of test cases that are proven to have got better, then the number of test
    cases that got worse. Pass rates that prove nothing do not separate candidates: they share a rank.
    """
    shown = [_shown(decision) for decision in decisions]
    ordered = sorted(shown)
    return [1 + bisect_left(ordered, value) for value in shown]


def _shown(decision: Decision) -> tuple[int, int, int]:
    return _ORDER[decision.verdict], -decision.classes.count("improved"), decision.classes.count("regressed")
