"""The elements that two sequences have in common, found in time linear in their lengths.

Elements that are in both exactly once hold the sequences together (patience diff); between them, short stretches are
compared element by element, and longer ones count as different as a whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from itertools import pairwise

from app.meter import Meter, TooMuch
from app.replay.pairing import longest_common_subsequence

# Steps of looking for elements that are there once, in stretches within stretches.
STEPS_AN_ELEMENT = 20
# Comparisons of a stretch's elements with each other: two stretches of 80 are compared.
CELLS_AN_ELEMENT = 40

Pair = tuple[int, int]
Stretch = tuple[int, int, int, int]
"""Its start and end on the left, and on the right."""


def common(left: Sequence[str], right: Sequence[str], meter: Meter) -> list[Pair]:
    """The indices of equal elements, rising on both sides; none are found after the budget of `meter` is spent.

    Stretches within stretches are searched for at most `STEPS_AN_ELEMENT` steps an element.
    """
    ids: dict[str, int] = {}
    numbers = [[ids.setdefault(each, len(ids)) for each in side] for side in (left, right)]
    return sorted(_Comparison(numbers[0], numbers[1], meter).pairs())


class _Comparison:
    def __init__(self, left: list[int], right: list[int], meter: Meter) -> None:
        self._left, self._right, self._meter = left, right, meter
        self._to_do: list[Stretch] = [(0, len(left), 0, len(right))]

    def pairs(self) -> Iterator[Pair]:
        own = Meter(STEPS_AN_ELEMENT * (len(self._left) + len(self._right)))
        try:
            while self._to_do:
                stretch = yield from self._same_ends(self._to_do.pop())
                size = stretch[1] - stretch[0] + stretch[3] - stretch[2]
                own.spend(1 + size)
                self._meter.spend(1 + size)
                yield from self._inside(stretch, size)
        except TooMuch:
            return

    def _same_ends(self, stretch: Stretch) -> Generator[Pair, None, Stretch]:
        """Yield the equal beginning and end of a stretch, and return the stretch between them."""
        a, b, c, d = stretch
        while a < b and c < d and self._left[a] == self._right[c]:
            yield a, c
            a, c = a + 1, c + 1
        while a < b and c < d and self._left[b - 1] == self._right[d - 1]:
            b, d = b - 1, d - 1
            yield b, d
        return a, b, c, d

    def _inside(self, stretch: Stretch, size: int) -> Iterator[Pair]:
        a, b, c, d = stretch
        if anchors := self._anchors(stretch):
            ends = [(a - 1, c - 1), *anchors, (b, d)]
            self._to_do += [(i + 1, k, j + 1, m) for (i, j), (k, m) in pairwise(ends)]
            yield from anchors
        elif 0 < (b - a) * (d - c) <= CELLS_AN_ELEMENT * size:
            self._meter.spend((b - a) * (d - c))
            left, right = self._left[a:b], self._right[c:d]
            found = longest_common_subsequence(len(left), len(right), lambda i, j: left[i] == right[j])
            yield from ((a + i, c + j) for i, j in found.items())

    def _anchors(self, stretch: Stretch) -> list[Pair]:
        """The longest series of elements, rising on both sides, that are on each side once."""
        a, b, c, d = stretch
        left, right = self._left[a:b], self._right[c:d]
        once = {each for each, count in Counter(left).items() if count == 1}
        once &= {each for each, count in Counter(right).items() if count == 1}
        indices = {each: c + index for index, each in enumerate(right) if each in once}
        return _rising([(a + index, indices[each]) for index, each in enumerate(left) if each in once])


def _rising(pairs: Sequence[Pair]) -> list[Pair]:
    """The longest subsequence of pairs, which rise on the left, that rises on the right too."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, right) in enumerate(pairs):
        length = bisect_left(tails, right)
        before.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [right]
        ends[length : length + 1] = [index]
    found: list[Pair] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]
