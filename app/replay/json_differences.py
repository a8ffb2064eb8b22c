"""Compares JSON values, and names their differences by JSON pointers (RFC 6901)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from msgspec import UNSET

from app.replay.result_types import Difference
from app.values.budget import UNLIMITED, WorkBudget
from app.values.json_pointer import PointerTree, follow, format_pointer, parse_pointer
from app.values.unicode import nfc

Path = tuple[str | int, ...]  # a number is an index of an array, a text a key of an object
_Place = tuple[str | int, Any, Any, Sequence[PointerTree[Any]]]
MOST_DIFFERENCES = 100  # that a verdict keeps


def differences(
    expected: Any,
    actual: Any,
    *,
    subset: bool = False,
    ignored: Sequence[PointerTree[Any]] = (),
    budget: WorkBudget = UNLIMITED,
) -> Iterator[Difference]:
    """Yield the differences in document order: key order is free, 1 equals 1.0, true does not equal 1.

    With `subset`, keys that only `actual` has are no difference; arrays still have to agree index by index. What
    `ignored` has a pointer to is left out. Values may nest deeply: there is no recursion. Raises `OverBudget`.
    """
    path: list[str | int] = []  # the first part is the document itself
    levels: list[Iterator[_Place]] = [iter([("", expected, actual, ignored)])]
    while levels:
        place = next(levels[-1], None)
        if place is None:
            levels.pop()
            continue
        part, left, right, trees = place
        path[len(levels) - 1 :] = [part]
        budget.spend(1 + len(trees))
        if any(tree.value is not None for tree in trees):
            continue
        parts = common_parts(left, right, subset=subset)
        if parts is not None:
            budget.spend(len(parts))
            levels.append(_below(left, right, trees, parts))
        elif not _same(left, right):
            yield Difference(format_pointer(path[1:]), left, right)


def _below(left: Any, right: Any, trees: Sequence[PointerTree[Any]], parts: Sequence[str | int]) -> Iterator[_Place]:
    """Yield the parts of two values one by one: only those on the path to the present one are kept."""
    for part in parts:
        yield part, part_of(left, part), part_of(right, part), follow(trees, part)


def common_parts(left: Any, right: Any, *, subset: bool = False) -> Sequence[str | int] | None:
    """Return the keys of two objects or the indexes of two arrays; None for other values.

    With `subset`, keys that only the right one has are left out.
    """
    if isinstance(left, dict) and isinstance(right, dict):
        return [*left, *(() if subset else (key for key in right if key not in left))]
    if isinstance(left, list) and isinstance(right, list):
        return range(max(len(left), len(right)))
    return None


def part_of(value: Any, part: str | int) -> Any:
    """Return the part of an object or an array at a key or an index, UNSET where it has none."""
    if isinstance(part, str):
        return value.get(part, UNSET) if isinstance(value, dict) else UNSET
    return value[part] if isinstance(value, list) and part < len(value) else UNSET


def equal(left: Any, right: Any, budget: WorkBudget = UNLIMITED) -> bool:
    """Return True if two JSON values are the same value. Raises `OverBudget`."""
    return next(differences(left, right, budget=budget), None) is None


def _same(left: Any, right: Any) -> bool:
    return bool(_tagged(left) == _tagged(right))


def _tagged(scalar: Any) -> Any:
    """Make True differ from 1, and NaN equal to itself, as JSON values do."""
    if isinstance(scalar, bool | dict | list) or (isinstance(scalar, float) and math.isnan(scalar)):
        return type(scalar).__name__, str(scalar) if isinstance(scalar, bool | float) else len(scalar)
    return scalar


@lru_cache(maxsize=1024)
def ignored_paths(paths: tuple[str, ...]) -> PointerTree[bool]:
    """Return the pointers of a check's `ignore_paths`, in the form NFC as the compared values."""
    return PointerTree({parse_pointer(nfc(path)): True for path in paths})
