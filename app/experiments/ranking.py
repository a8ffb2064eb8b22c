"""Ranks several candidates that were compared with the same baseline, by their decisions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from app.experiments.types import Decision, Verdict

MOST_CANDIDATES = 8
_ORDER: dict[Verdict | None, int] = {"passed": 0, None: 1, "inconclusive": 1, "failed": 2}


def ranks(decisions: Sequence[Decision]) -> list[int]:
    """Return the rank of each candidate, from 1.

    Candidates are ordered by their verdict, then by how many test cases have provably got better (the most first), then
    by how many have got worse. Candidates that differ only in their pass rates share a rank.
    """
    keys = [_key(decision) for decision in decisions]
    ordered = sorted(keys)
    return [1 + bisect_left(ordered, key) for key in keys]


def _key(decision: Decision) -> tuple[int, int, int]:
    return _ORDER[decision.verdict], -decision.classes.count("improved"), decision.classes.count("regressed")
