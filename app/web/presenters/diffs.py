"""Two texts side by side, line by line; equal lines between the changes are folded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any

from app.meter import Meter
from app.web.filters import indented
from app.web.presenters.sequences import Pair, common

CONTEXT = 3
# Characters of a line; in longer ones words are not compared.
LINE_MAX = 4_000
_WORDS = re.compile(r"[^\W_]+|[\W_]")
Part = tuple[bool, str]
"""True if it differs from the other side, and the piece of a line."""


@dataclass(slots=True)
class Budget:
    """The rows that may be shown and the steps of comparing lines and words, in one diff or in all on a page."""

    rows: int = 2_000
    lines: Meter = field(default_factory=lambda: Meter(200_000))
    words: Meter = field(default_factory=lambda: Meter(200_000))


@dataclass(frozen=True, slots=True)
class Side:
    """A line; `number` counts from 1."""

    number: int
    parts: list[Part]


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A row of both sides: `kind` is same, changed, removed or added.

    A row of the kind folded stands for `folded` equal lines, one of the kind cut for the rest of both texts.
    """

    kind: str
    left: Side | None = None
    right: Side | None = None
    folded: int = 0


def diff_rows(left: str, right: str, budget: Budget | None = None) -> list[DiffRow]:
    """The rows within the budget, and a row of the kind cut if there are more; none for equal texts.

    Long stretches without a line that is on both sides once are shown as replaced as a whole, and so is everything
    after the budget's steps are spent.
    """
    if left == right:
        return []
    budget = budget or Budget()
    rows = _rows(left.split("\n"), right.split("\n"), budget)
    shown = list(islice(rows, budget.rows))
    budget.rows -= len(shown)
    return [*shown, DiffRow("cut")] if next(rows, None) else shown


def diff_json(left: Any, right: Any, budget: Budget | None = None) -> list[DiffRow]:
    """The rows of two JSON values, whatever the order of their keys."""
    return diff_rows(indented(left, sort_keys=True), indented(right, sort_keys=True), budget)


def _rows(left: list[str], right: list[str], budget: Budget) -> Iterator[DiffRow]:
    old = new = 0
    for left_at, right_at, length in _runs(common(left, right, budget.lines), len(left), len(right)):
        yield from _replaced(left[old:left_at], right[new:right_at], old, new, budget.words)
        old, new = left_at + length, right_at + length
        yield from _equal(left[left_at:old], left_at, right_at, last=old == len(left) and new == len(right))


def _runs(pairs: Sequence[Pair], left_end: int, right_end: int) -> Iterator[tuple[int, int, int]]:
    """Join pairs that follow one another to (left, right, length), with an empty run at the end of both sides."""
    start = length = 0
    for index, (left, right) in enumerate(pairs):
        length += 1
        if index + 1 == len(pairs) or pairs[index + 1] != (left + 1, right + 1):
            yield *pairs[start], length
            start, length = index + 1, 0
    yield left_end, right_end, 0


def _equal(lines: list[str], left_at: int, right_at: int, *, last: bool) -> Iterator[DiffRow]:
    """Show a few lines before and after a change, and fold the others."""
    before = 0 if left_at == right_at == 0 else CONTEXT
    after = len(lines) - (0 if last else CONTEXT)
    for index, line in enumerate(lines):
        if before <= index < after and after - before > 1:
            if index == before:
                yield DiffRow("folded", folded=after - before)
            continue
        side = [(False, line)]
        yield DiffRow("same", Side(left_at + index + 1, side), Side(right_at + index + 1, side))


def _replaced(left: list[str], right: list[str], left_at: int, right_at: int, words: Meter) -> Iterator[DiffRow]:
    for index in range(max(len(left), len(right))):
        old = left[index] if index < len(left) else None
        new = right[index] if index < len(right) else None
        if old is not None and new is not None:
            parts = _parts(old, new, words)
            yield DiffRow("changed", Side(left_at + index + 1, parts[0]), Side(right_at + index + 1, parts[1]))
        elif old is not None:
            yield DiffRow("removed", left=Side(left_at + index + 1, [(False, old)]))
        elif new is not None:
            yield DiffRow("added", right=Side(right_at + index + 1, [(False, new)]))


def _parts(old: str, new: str, meter: Meter) -> tuple[list[Part], list[Part]]:
    """Split both lines into equal and different words; long lines and lines with little in common are not split."""
    if max(len(old), len(new)) > LINE_MAX:
        return [(False, old)], [(False, new)]
    left, right = _WORDS.findall(old), _WORDS.findall(new)
    pairs = common(left, right, meter)
    if 2 * len(pairs) < 0.4 * (len(left) + len(right)):
        return [(False, old)], [(False, new)]
    return _marked(left, {index for index, _ in pairs}), _marked(right, {index for _, index in pairs})


def _marked(words: list[str], same: set[int]) -> list[Part]:
    """Join words that follow one another and are all equal, or all different, to one part."""
    differs = groupby(enumerate(words), key=lambda word: word[0] not in same)
    return [(differing, "".join(word for _, word in group)) for differing, group in differs]
