"""Two texts side by side, line by line, with what lies between the changes folded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any

import orjson

from app.meter import Meter
from app.web.presenters.sequences import Pair, common

CONTEXT = 3
LINE_MAX = 4_000  # characters of a line whose words are compared
_WORDS = re.compile(r"[^\W_]+|[\W_]")
Part = tuple[bool, str]
"""Whether it differs from the other side, and a piece of a line."""


@dataclass(slots=True)
class Budget:
    """How many rows are shown, and the work of comparing lines and words: of one diff, or of all on a page."""

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
    """`kind` is same, changed, removed, added, folded for `folded` equal lines that are left out, or cut where the
    rest of both texts is.
    """

    kind: str
    left: Side | None = None
    right: Side | None = None
    folded: int = 0


def diff_rows(left: str, right: str, budget: Budget | None = None) -> list[DiffRow]:
    """The rows that the budget has room for, and one that says so where there are more; none for equal texts.

    Long stretches without a line that is on both sides once, and what the budget has no work for, are shown as
    replaced as a whole.
    """
    if left == right:
        return []
    budget = budget or Budget()
    rows = _rows(left.split("\n"), right.split("\n"), budget)
    shown = list(islice(rows, budget.rows))
    budget.rows -= len(shown)
    return [*shown, DiffRow("cut")] if next(rows, None) else shown


def diff_json(left: Any, right: Any, budget: Budget | None = None) -> list[DiffRow]:
    """Of two JSON values, key order aside."""
    return diff_rows(_json(left), _json(right), budget)


def _rows(left: list[str], right: list[str], budget: Budget) -> Iterator[DiffRow]:
    old = new = 0
    for left_at, right_at, length in _runs(common(left, right, budget.lines), len(left), len(right)):
        yield from _replaced(left[old:left_at], right[new:right_at], old, new, budget.words)
        old, new = left_at + length, right_at + length
        yield from _equal(left[left_at:old], left_at, right_at, last=old == len(left) and new == len(right))


def _runs(pairs: Sequence[Pair], left_end: int, right_end: int) -> Iterator[tuple[int, int, int]]:
    """Pairs that follow one another as (left, right, length), and an empty run at the end of both sides."""
    start = length = 0
    for at, (left, right) in enumerate(pairs):
        length += 1
        if at + 1 == len(pairs) or pairs[at + 1] != (left + 1, right + 1):
            yield *pairs[start], length
            start, length = at + 1, 0
    yield left_end, right_end, 0


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:  # an integer over 64 bits, half a surrogate pair
        return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)


def _equal(lines: list[str], left_at: int, right_at: int, *, last: bool) -> Iterator[DiffRow]:
    """A few lines before and after a change, the others as one fold."""
    before = 0 if left_at == right_at == 0 else CONTEXT
    after = len(lines) - (0 if last else CONTEXT)
    for at, line in enumerate(lines):
        if before <= at < after and after - before > 1:
            if at == before:
                yield DiffRow("folded", folded=after - before)
            continue
        side = [(False, line)]
        yield DiffRow("same", Side(left_at + at + 1, side), Side(right_at + at + 1, side))


def _replaced(left: list[str], right: list[str], left_at: int, right_at: int, words: Meter) -> Iterator[DiffRow]:
    for at in range(max(len(left), len(right))):
        old = left[at] if at < len(left) else None
        new = right[at] if at < len(right) else None
        if old is not None and new is not None:
            parts = _parts(old, new, words)
            yield DiffRow("changed", Side(left_at + at + 1, parts[0]), Side(right_at + at + 1, parts[1]))
        elif old is not None:
            yield DiffRow("removed", left=Side(left_at + at + 1, [(False, old)]))
        elif new is not None:
            yield DiffRow("added", right=Side(right_at + at + 1, [(False, new)]))


def _parts(old: str, new: str, meter: Meter) -> tuple[list[Part], list[Part]]:
    """The words of both lines that differ; lines that are long or have little in common differ as a whole."""
    if max(len(old), len(new)) > LINE_MAX:
        return [(False, old)], [(False, new)]
    left, right = _WORDS.findall(old), _WORDS.findall(new)
    pairs = common(left, right, meter)
    if 2 * len(pairs) < 0.4 * (len(left) + len(right)):
        return [(False, old)], [(False, new)]
    return _marked(left, {at for at, _ in pairs}), _marked(right, {at for _, at in pairs})


def _marked(words: list[str], same: set[int]) -> list[Part]:
    """Words that follow one another and differ alike, as one part."""
    differs = groupby(enumerate(words), key=lambda word: word[0] not in same)
    return [(differing, "".join(word for _, word in group)) for differing, group in differs]
