"""Compares two texts line by line, side by side. Equal lines between changes are folded.

The time is linear in the lengths of both sequences. Elements that occur exactly once in both are matched first
(patience diff). Between them, short stretches are compared element by element; longer stretches count as different.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice, pairwise, zip_longest
from typing import Any

from app.replay.matching import longest_common_subsequence
from app.values.budget import OverBudget, WorkBudget
from app.values.rising import longest_rising
from app.web.filters import indented

CONTEXT_LINES = 3
# Characters of a line. Words of longer lines are not compared.
LINE_MAX = 4_000
# Steps of the search for unique elements, in stretches within stretches.
STEPS_PER_ELEMENT = 20
# Comparisons between the elements of two stretches: enough for two stretches of 80.
CELLS_AN_ELEMENT = 40
_WORDS = re.compile(r"[^\W_]+|[\W_]")
Pair = tuple[int, int]
Stretch = tuple[int, int, int, int]
"""The start and end on the left, and on the right."""
Part = tuple[bool, str]
"""Whether a piece of a line differs from the other side, and the piece."""


@dataclass(slots=True)
class DiffBudget:
    """The limits on shown rows, and on steps of comparing lines and words. Diffs on a page can share a budget."""

    rows: int = 2_000
    lines: WorkBudget = field(default_factory=lambda: WorkBudget(200_000))
    words: WorkBudget = field(default_factory=lambda: WorkBudget(200_000))


@dataclass(frozen=True, slots=True)
class DiffSide:
    """A line. `number` counts from 1."""

    number: int
    parts: list[Part]


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A row of both sides. `kind` is same, changed, removed, added, folded or cut.

    A folded row replaces `folded` equal lines; a cut row replaces the rest of both texts.
    """

    kind: str
    left: DiffSide | None = None
    right: DiffSide | None = None
    folded: int = 0


def diff_rows(left: str, right: str, budget: DiffBudget | None = None) -> list[DiffRow]:
    """Return the rows within the budget, then a cut row if there are more. Equal texts have no rows.

    Long stretches without a line that is unique on both sides are shown as replaced. So is everything after the
    budget's steps are used up.
    """
    if left == right:
        return []
    budget = budget or DiffBudget()
    rows = _rows(left.split("\n"), right.split("\n"), budget)
    shown = list(islice(rows, budget.rows))
    budget.rows -= len(shown)
    return [*shown, DiffRow("cut")] if next(rows, None) else shown


def diff_json(left: Any, right: Any, budget: DiffBudget | None = None) -> list[DiffRow]:
    """Return the rows of two JSON values, independent of the order of keys."""
    return diff_rows(indented(left, sort_keys=True), indented(right, sort_keys=True), budget)


def _rows(left: list[str], right: list[str], budget: DiffBudget) -> Iterator[DiffRow]:
    old = new = 0
    for left_at, right_at, length in _runs(common(left, right, budget.lines), len(left), len(right)):
        yield from _replaced(left[old:left_at], right[new:right_at], old, new, budget.words)
        old, new = left_at + length, right_at + length
        yield from _equal(left[left_at:old], left_at, right_at, last=old == len(left) and new == len(right))


def _runs(pairs: Sequence[Pair], left_end: int, right_end: int) -> Iterator[tuple[int, int, int]]:
    """Join consecutive pairs to (left, right, length). The last run is empty, at the end of both sides."""
    for _, numbered in groupby(enumerate(pairs), key=lambda pair: (pair[1][0] - pair[0], pair[1][1] - pair[0])):
        run = [pair for _, pair in numbered]
        yield *run[0], len(run)
    yield left_end, right_end, 0


def _equal(lines: list[str], left_at: int, right_at: int, *, last: bool) -> Iterator[DiffRow]:
    """Yield rows of equal lines: a few lines before and after a change, the others folded."""
    before = 0 if left_at == right_at == 0 else CONTEXT_LINES
    after = len(lines) - (0 if last else CONTEXT_LINES)
    for index, line in enumerate(lines):
        if before <= index < after and after - before > 1:
            if index == before:
                yield DiffRow("folded", folded=after - before)
            continue
        side = [(False, line)]
        yield DiffRow("same", DiffSide(left_at + index + 1, side), DiffSide(right_at + index + 1, side))


def _replaced(left: list[str], right: list[str], left_at: int, right_at: int, words: WorkBudget) -> Iterator[DiffRow]:
    for index, (old, new) in enumerate(zip_longest(left, right), start=1):
        if old is None:
            yield DiffRow("added", right=DiffSide(right_at + index, [(False, new)]))
        elif new is None:
            yield DiffRow("removed", left=DiffSide(left_at + index, [(False, old)]))
        else:
            parts = _parts(old, new, words)
            yield DiffRow("changed", DiffSide(left_at + index, parts[0]), DiffSide(right_at + index, parts[1]))


def _parts(old: str, new: str, budget: WorkBudget) -> tuple[list[Part], list[Part]]:
    """Split both lines into equal and different words. Long lines and very different lines are not split."""
    if max(len(old), len(new)) > LINE_MAX:
        return [(False, old)], [(False, new)]
    left, right = _WORDS.findall(old), _WORDS.findall(new)
    pairs = common(left, right, budget)
    if 2 * len(pairs) < 0.4 * (len(left) + len(right)):
        return [(False, old)], [(False, new)]
    return _marked(left, {index for index, _ in pairs}), _marked(right, {index for _, index in pairs})


def _marked(words: list[str], same: set[int]) -> list[Part]:
    """Join consecutive words that are all equal, or all different, to one part."""
    differs = groupby(enumerate(words), key=lambda word: word[0] not in same)
    return [(differing, "".join(word for _, word in group)) for differing, group in differs]


def common(left: Sequence[str], right: Sequence[str], budget: WorkBudget) -> list[Pair]:
    """Return the indices of equal elements, ascending on both sides. The search ends when the budget is used up.

    The search of nested stretches has at most `STEPS_PER_ELEMENT` steps per element.
    """
    ids: dict[str, int] = {}
    numbers = [[ids.setdefault(element, len(ids)) for element in side] for side in (left, right)]
    return sorted(_Comparison(numbers[0], numbers[1], budget).pairs())


class _Comparison:
    def __init__(self, left: list[int], right: list[int], budget: WorkBudget) -> None:
        self._left, self._right, self._budget = left, right, budget
        self._to_do: list[Stretch] = [(0, len(left), 0, len(right))]

    def pairs(self) -> Iterator[Pair]:
        own_budget = WorkBudget(STEPS_PER_ELEMENT * (len(self._left) + len(self._right)))
        try:
            while self._to_do:
                stretch = yield from self._same_ends(self._to_do.pop())
                size = stretch[1] - stretch[0] + stretch[3] - stretch[2]
                own_budget.spend(1 + size)
                self._budget.spend(1 + size)
                yield from self._inside(stretch, size)
        except OverBudget:
            return

    def _same_ends(self, stretch: Stretch) -> Generator[Pair, None, Stretch]:
        """Yield the pairs of a stretch's equal beginning and end. Return the stretch between them."""
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
            self._budget.spend((b - a) * (d - c))
            left, right = self._left[a:b], self._right[c:d]
            common_indices = longest_common_subsequence(len(left), len(right), lambda i, j: left[i] == right[j])
            yield from ((a + i, c + j) for i, j in common_indices.items())

    def _anchors(self, stretch: Stretch) -> list[Pair]:
        """Return the longest series of elements that occur once on each side, ascending on both sides."""
        a, b, c, d = stretch
        left, right = self._left[a:b], self._right[c:d]
        once = {element for element, count in Counter(left).items() if count == 1}
        once &= {element for element, count in Counter(right).items() if count == 1}
        indices = {element: c + index for index, element in enumerate(right) if element in once}
        pairs = [(a + index, indices[element]) for index, element in enumerate(left) if element in once]
        return [pairs[index] for index in longest_rising([right for _, right in pairs])]
