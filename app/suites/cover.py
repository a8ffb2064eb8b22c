"""Chooses the fewest candidates that represent the most: greedy cover of weighted features.

The gain of a candidate never grows while others are chosen, so that the greedy choice reaches at least 1 - 1/e of the
best one of its size (Nemhauser, Wolsey and Fisher 1978), and a gain that was computed earlier is an upper bound of the
present one (Minoux 1978). Most candidates are therefore looked at once.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from typing import Generic, TypeVar

F = TypeVar("F", bound=Hashable)
LEAST = 1e-12
"""The least gain, as a share of the whole, for which a candidate is chosen."""


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
    done = set(covered)
    least = LEAST * sum(values.values())
    heap = [(-_gain(values, features, done), index) for index, features in enumerate(candidates)]
    heapify(heap)
    choices: list[Choice[F]] = []
    while heap and len(choices) < size:
        bound, index = heap[0]
        if -bound <= least:
            break
        gain = _gain(values, candidates[index], done)
        if -gain > bound:
            heapreplace(heap, (-gain, index))
            continue
        heappop(heap)
        new = frozenset(feature for feature in candidates[index] if feature in values and feature not in done)
        done |= new
        choices.append(Choice(index, gain, new))
    return choices


def _gain(values: Mapping[F, float], features: Collection[F], done: Collection[F]) -> float:
    # In one order for all candidates with the same features, so that equal gains are equal numbers.
    return sum(sorted(values.get(feature, 0.0) for feature in features if feature not in done))


def running_shares(choices: Sequence[Choice[F]], total: float, before: float = 0.0) -> Iterator[float]:
    """Yield the share of the total that is covered after each choice; `before` is the value covered before."""
    reached = before
    for choice in choices:
        reached += choice.gain
        yield min(1.0, reached / total) if total else 0.0
