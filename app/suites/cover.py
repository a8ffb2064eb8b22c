"""Chooses the fewest candidates that represent the most: greedy cover of weighted features.

The gain of a candidate never grows while others are chosen, so that the greedy choice reaches at least 1 - 1/e of the
best one of its size (Nemhauser, Wolsey and Fisher 1978). A feature is subtracted from the gains of its candidates once,
when it is covered, so that the work is the sum of all features, however many candidates are chosen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Generic, TypeVar

F = TypeVar("F", bound=Hashable)
LEAST = 1e-12
"""The least gain, as a share of the whole, for which a candidate is chosen."""
UNITS = 2**60
"""Values are counted in this share of the whole: sums of integers are equal in any order."""


@dataclass(frozen=True, slots=True)
class Choice(Generic[F]):
    """A chosen candidate, by its index, with the features that it is the first to cover, and their value."""

    candidate: int
    gain: float
    new: frozenset[F]


def greedy_cover(
    values: Mapping[F, float], candidates: Sequence[Collection[F]], *, size: int, covered: Collection[F] = ()
) -> list[Choice[F]]:
    """Return up to `size` choices, the one with the highest gain first.

    `values` are the values of features; candidates may have others, which are worth nothing. `covered` features are
    covered before. Of candidates with equal gains the first is chosen.
    """
    units = in_units(values)
    open_features = units.keys() - covered
    holders: dict[F, list[int]] = defaultdict(list)
    gains = [0] * len(candidates)
    for index, features in enumerate(candidates):
        for feature in open_features.intersection(features):
            holders[feature].append(index)
            gains[index] += units[feature]
    choices: list[Choice[F]] = []
    while gains and len(choices) < size:
        gain = max(gains)
        if gain <= LEAST * UNITS:
            break
        chosen = gains.index(gain)
        new = open_features.intersection(candidates[chosen])
        open_features -= new
        for feature in new:
            for index in holders.pop(feature):
                gains[index] -= units[feature]
        choices.append(Choice(chosen, fsum(values[feature] for feature in new), frozenset(new)))
    return choices


def in_units(values: Mapping[F, float]) -> dict[F, int]:
    """Return the values as whole numbers, of which all together are about `UNITS`."""
    total = fsum(values.values())
    return {feature: round(value / total * UNITS) for feature, value in values.items()} if total else {}


def running_shares(choices: Sequence[Choice[F]], total: float, before: float = 0.0) -> Iterator[float]:
    """Yield the share of the total that is covered after each choice; `before` is the value covered before."""
    reached = before
    for choice in choices:
        reached += choice.gain
        yield min(1.0, reached / total) if total else 0.0
