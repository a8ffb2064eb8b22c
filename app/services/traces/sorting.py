"""Lists that no index serves: they are read for half a second at most, and sorted up to a number of entries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from app.cursors import Page, Sorted

T = TypeVar("T")
P = TypeVar("P")
Parts = Iterable[tuple[Sequence[T], P | None]]
"""The pieces of a list, each with the position at its end, None at the end of the list."""

SEARCH_S = 0.5
SORTED_MAX = 1_000
"""The entries that are sorted at most."""


def read_for_a_while(parts: Parts[T, P], most: int, tick: Callable[[], float]) -> tuple[list[T], P | None]:
    """Return entries until there are `most` or `SEARCH_S` is over, and the position up to which the list was read."""
    found: list[T] = []
    until = tick() + SEARCH_S
    for entries, position in parts:
        found += entries
        if len(found) >= most or tick() >= until:
            return found, position
    return found, None


def over_after(tick: Callable[[], float], seconds: float) -> Callable[[], bool]:
    """Return what tells whether so many seconds have passed."""
    until = tick() + seconds
    return lambda: tick() >= until


def page_of_sorted(
    parts: Parts[tuple[T, float | None], object],
    *,
    tick: Callable[[], float],
    offset: int,
    limit: int,
    cursor: Callable[[int, T], str],
    read: Callable[[list[T]], list[T]] = list,
) -> Page[T]:
    """Return a page of the newest `SORTED_MAX` entries, each of which comes with the value that it is sorted by.

    The highest values come first, and entries without a value last; equal ones stay in order. `cursor` makes the cursor
    of the page after a number of entries, given the newest one. `read` returns the first entries of a page, as many as
    it can read in time: the others begin the next page.
    """
    found, left = read_for_a_while(parts, SORTED_MAX + 1, tick)
    newest = found[:SORTED_MAX]
    entries = [entry for entry, _ in sorted(newest, key=lambda one: math.inf if one[1] is None else -one[1])]
    shown = read(entries[offset : offset + limit])
    end = offset + len(shown)
    following = cursor(end, newest[0][0]) if len(entries) > end else None
    return Page(shown, following, Sorted(len(entries), left is None and len(found) == len(newest)))
