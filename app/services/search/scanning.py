"""Lists without an index: reads them for at most half a second, and sorts up to a number of entries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from app.pagination import ListPage, Sorted

T = TypeVar("T")
P = TypeVar("P")
Parts = Iterable[tuple[Sequence[T], P | None]]
"""The pieces of a list, each with the position at its end, None at the end of the list."""

SEARCH_S = 0.5
SORTED_MAX = 1_000
"""Entries that are sorted at most."""


def read_for_a_while(parts: Parts[T, P], most: int, tick: Callable[[], float]) -> tuple[list[T], P | None]:
    """Return entries until there are `most` or `SEARCH_S` is over, and the position at which reading stopped."""
    read: list[T] = []
    until = tick() + SEARCH_S
    for entries, position in parts:
        read += entries
        if len(read) >= most or tick() >= until:
            return read, position
    return read, None


def over_after(tick: Callable[[], float], seconds: float) -> Callable[[], bool]:
    """Return a function that returns whether this many seconds have passed."""
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
) -> ListPage[T]:
    """Return a page of the newest `SORTED_MAX` entries, sorted by the value that comes with each of them.

    The highest values come first, entries without a value last; equal ones keep their order. `cursor` returns the
    cursor of the page after a number of entries, given the newest one. `read` returns the first entries of a page, as
    many as it can read in time; the next page begins with the others.
    """
    entries_read, left = read_for_a_while(parts, SORTED_MAX + 1, tick)
    newest = entries_read[:SORTED_MAX]
    entries = [entry for entry, _ in sorted(newest, key=lambda pair: math.inf if pair[1] is None else -pair[1])]
    shown = read(entries[offset : offset + limit])
    end = offset + len(shown)
    following = cursor(end, newest[0][0]) if len(entries) > end else None
    return ListPage(shown, following, Sorted(len(entries), left is None and len(entries_read) == len(newest)))


WINDOW = 1_000
