"""Compares JSON values, and names their differences by JSON pointers (RFC 6901)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from msgspec import UNSET

from app.pointers import Pointer, format_pointer, parse_pointer
from app.replay.findings import Difference

Path = tuple[str | int, ...]  # a number is an index of an array, a text a key of an object


def differences(
    expected: Any, actual: Any, *, subset: bool = False, ignored: Sequence[Pointer] = ()
) -> Iterator[Difference]:
    """Yield the differences in document order: key order is free, 1 equals 1.0, true does not equal 1.

    With `subset`, keys that only `actual` has are no difference; arrays still have to agree index by index. In
    `ignored`, a token `*` stands for every index of an array. Values may nest deeply: there is no recursion.
    """
    pending: list[tuple[Path, Any, Any]] = [((), expected, actual)]
    while pending:
        path, left, right = pending.pop()
        if any(names(pointer, path) for pointer in ignored):
            continue
        if isinstance(left, dict) and isinstance(right, dict):
            keys = [*left, *(() if subset else (key for key in right if key not in left))]
            pending += [((*path, key), left.get(key, UNSET), right.get(key, UNSET)) for key in reversed(keys)]
        elif isinstance(left, list) and isinstance(right, list):
            indexes = range(max(len(left), len(right)))
            pending += [((*path, index), _at(left, index), _at(right, index)) for index in reversed(indexes)]
        elif not _same(left, right):
            yield Difference(format_pointer(path), left, right)


def arguments_of(arguments: object) -> object:
    """Return a call's arguments; a call without any has `{}`, however that was recorded."""
    return {} if arguments is None or arguments == "" else arguments


def equal(left: Any, right: Any) -> bool:
    """Return True if two JSON values are the same value."""
    return next(differences(left, right), None) is None


def leaves(value: Any) -> frozenset[tuple[Path, Any]]:
    """Return every scalar and empty container with its path, which `similarity` counts."""
    found: set[tuple[Path, Any]] = set()
    pending: list[tuple[Path, Any]] = [((), value)]
    while pending:
        path, part = pending.pop()
        if isinstance(part, dict) and part:
            pending += [((*path, key), child) for key, child in part.items()]
        elif isinstance(part, list) and part:
            pending += [((*path, index), child) for index, child in enumerate(part)]
        else:
            found.add((path, _tagged(part)))
    return frozenset(found)


def similarity(left: frozenset[Any], right: frozenset[Any]) -> float:
    """Return the share of leaves that two values have in common, 0 to 1 (Dice's coefficient)."""
    return 2 * len(left & right) / (len(left) + len(right))


def _same(left: Any, right: Any) -> bool:
    return bool(_tagged(left) == _tagged(right))


def _tagged(scalar: Any) -> Any:
    """Make True differ from 1, and NaN equal to itself, as JSON values do."""
    if isinstance(scalar, bool | dict | list) or (isinstance(scalar, float) and math.isnan(scalar)):
        return type(scalar).__name__, str(scalar) if isinstance(scalar, bool | float) else len(scalar)
    return scalar


def names(pointer: Pointer, path: Path) -> bool:
    """Return True if a pointer, in which `*` stands for every index of an array, names this path."""
    return len(pointer) == len(path) and all(
        token == str(part) or (token == "*" and isinstance(part, int))  # noqa: S105 - no password
        for token, part in zip(pointer, path, strict=True)
    )


def _at(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else UNSET


@lru_cache(maxsize=1024)
def pointers(paths: tuple[str, ...]) -> tuple[Pointer, ...]:
    """Return the tokens of each pointer."""
    return tuple(parse_pointer(path) for path in paths)
