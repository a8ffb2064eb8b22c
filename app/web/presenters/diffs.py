"""Two texts side by side, line by line, with what lies between the changes folded."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

CONTEXT = 3
# Beyond this many lines the comparison would take seconds, so the texts are only put beside each other.
LINES_MAX = 4000
Part = tuple[bool, str]
"""Whether it differs from the other side, and a piece of a line."""


@dataclass(frozen=True, slots=True)
class Side:
    """A line; `number` counts from 1."""

    number: int
    parts: list[Part]


@dataclass(frozen=True, slots=True)
class DiffRow:
    """`kind` is same, changed, removed, added, or folded for `folded` equal lines that are left out."""

    kind: str
    left: Side | None = None
    right: Side | None = None
    folded: int = 0


def diff_rows(left: str, right: str) -> list[DiffRow]:
    """Empty when both say the same."""
    if left == right:
        return []
    lines = left.split("\n"), right.split("\n")
    matcher = difflib.SequenceMatcher(None, *lines, autojunk=True)
    if len(lines[0]) + len(lines[1]) > LINES_MAX:
        return list(_replaced(lines[0], lines[1], 0, 0))
    rows: list[DiffRow] = []
    for tag, left_at, left_to, right_at, right_to in matcher.get_opcodes():
        if tag == "equal":
            rows += _equal(lines[0][left_at:left_to], left_at, right_at, last=left_to == len(lines[0]))
        else:
            rows += _replaced(lines[0][left_at:left_to], lines[1][right_at:right_to], left_at, right_at)
    return rows


def diff_json(left: Any, right: Any) -> list[DiffRow]:
    """Of two JSON values, key order aside."""
    return diff_rows(_json(left), _json(right))


def _json(value: Any) -> str:
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


def _replaced(left: list[str], right: list[str], left_at: int, right_at: int) -> Iterator[DiffRow]:
    for at in range(max(len(left), len(right))):
        old = left[at] if at < len(left) else None
        new = right[at] if at < len(right) else None
        if old is not None and new is not None:
            parts = _parts(old, new)
            yield DiffRow("changed", Side(left_at + at + 1, parts[0]), Side(right_at + at + 1, parts[1]))
        elif old is not None:
            yield DiffRow("removed", left=Side(left_at + at + 1, [(False, old)]))
        elif new is not None:
            yield DiffRow("added", right=Side(right_at + at + 1, [(False, new)]))


def _parts(old: str, new: str) -> tuple[list[Part], list[Part]]:
    """The words of both lines that differ; lines with little in common differ as a whole."""
    words = _words(old), _words(new)
    matcher = difflib.SequenceMatcher(None, *words, autojunk=False)
    if max(len(words[0]), len(words[1])) > 500 or matcher.ratio() < 0.4:
        return [(False, old)], [(False, new)]
    left: list[Part] = []
    right: list[Part] = []
    for tag, left_at, left_to, right_at, right_to in matcher.get_opcodes():
        differs = tag != "equal"
        left += [(differs, "".join(words[0][left_at:left_to]))] if left_to > left_at else []
        right += [(differs, "".join(words[1][right_at:right_to]))] if right_to > right_at else []
    return left, right


def _words(line: str) -> list[str]:
    """Runs of letters and digits, and every other character by itself."""
    words: list[str] = []
    for character in line:
        if words and character.isalnum() and words[-1][-1].isalnum():
            words[-1] += character
        else:
            words.append(character)
    return words
