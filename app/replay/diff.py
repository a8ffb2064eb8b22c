"""Where two JSON values differ, as JSON pointers (RFC 6901)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from app.pointers import Pointer, format_pointer
from app.replay.types import MISSING, Difference

MOST_DIFFERENCES = 100  # that a verdict keeps

Path = tuple[str | int, ...]  # a number is a place in an array, text a key of an object


def differences(
    expected: Any, actual: Any, *, subset: bool = False, ignored: Sequence[Pointer] = ()
) -> Iterator[Difference]:
    """Differences in document order: key order is free, 1 equals 1.0, true does not equal 1.

    With `subset`, keys that only `actual` has are fine; arrays still agree place by place. In `ignored`, a
    token `*` stands for every place of an array. Walks without recursion, so depth is no matter.
    """
    to_do: list[tuple[Path, Any, Any]] = [((), expected, actual)]
    while to_do:
        path, left, right = to_do.pop()
        if any(_names(pointer, path) for pointer in ignored):
            continue
        if isinstance(left, dict) and isinstance(right, dict):
            keys = [*left, *(() if subset else (key for key in right if key not in left))]
            to_do += [((*path, key), left.get(key, MISSING), right.get(key, MISSING)) for key in reversed(keys)]
        elif isinstance(left, list) and isinstance(right, list):
            places = range(max(len(left), len(right)))
            to_do += [((*path, place), _at(left, place), _at(right, place)) for place in reversed(places)]
        elif not _same(left, right):
            yield Difference(format_pointer(path), left, right)


def equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same value."""
    return next(differences(left, right), None) is None


def leaves(value: Any) -> frozenset[tuple[Path, Any]]:
    """Every scalar and empty container with its path: what `similarity` counts."""
    found: set[tuple[Path, Any]] = set()
    to_do: list[tuple[Path, Any]] = [((), value)]
    while to_do:
        path, part = to_do.pop()
        if isinstance(part, dict) and part:
            to_do += [((*path, key), child) for key, child in part.items()]
        elif isinstance(part, list) and part:
            to_do += [((*path, place), child) for place, child in enumerate(part)]
        else:
            found.add((path, _tagged(part)))
    return frozenset(found)


def similarity(left: frozenset[Any], right: frozenset[Any]) -> float:
    """The share of leaves that two values have in common, 0 to 1 (Dice's coefficient)."""
    return 2 * len(left & right) / (len(left) + len(right))


def _same(left: Any, right: Any) -> bool:
    return bool(_tagged(left) == _tagged(right))


def _tagged(scalar: Any) -> Any:
    """Python takes True for 1 and no NaN for itself; JSON values are compared the other way round."""
    if isinstance(scalar, bool | dict | list) or (isinstance(scalar, float) and math.isnan(scalar)):
        return type(scalar).__name__, str(scalar) if isinstance(scalar, bool | float) else len(scalar)
    return scalar


def _names(pointer: Pointer, path: Path) -> bool:
    return len(pointer) == len(path) and all(
        token == str(part) or (token == "*" and isinstance(part, int))  # noqa: S105 - no password
        for token, part in zip(pointer, path, strict=True)
    )


def _at(values: list[Any], place: int) -> Any:
    return values[place] if place < len(values) else MISSING
