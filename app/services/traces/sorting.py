"""Lists in orders that no index has: the newest entries that match are read, and sorted."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

SORTED_MAX = 1_000
"""The entries that are sorted at most."""


def most_first(found: Iterable[tuple[T, float | None]]) -> list[T]:
    """Return the entries by their values, the highest first and those without one last; equal ones stay in order."""
    return [entry for entry, _ in sorted(found, key=lambda one: math.inf if one[1] is None else -one[1])]
