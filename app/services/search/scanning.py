"""Pages of lists with a filter or an order that has no index.

A page with a filter has what is found within half a second, and a cursor to continue. A page in an order without an
index is part of the newest entries, which are read up to a number and sorted.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from app import pagination
from app.errors import Invalid
from app.pagination import ListPage, Sorted

T = TypeVar("T")
E = TypeVar("E")
Position = tuple[int, ...]
"""The values by which a list is ordered, last the id of an entry."""
Parts = Iterable[tuple[Sequence[E], Position | None]]
"""The pieces of a list, each with the position at its end, None at the end of the list."""
Tick = Callable[[], float]
"""Returns monotonic seconds."""

WINDOW_ENTRIES = 1_000
"""Entries that are read together."""
SEARCH_S = 0.5
SORTED_MAX = 1_000
"""Entries that are sorted at most."""


@dataclass(slots=True, kw_only=True)
class Scan(ABC, Generic[T]):
    """A list in an order, from which pages are read.

    `order` is the name of the order in cursors, "" for none. `by_value` means that no index has the order: entries are
    sorted by `values_of`. A position has `position_length` values.
    """

    position_length: ClassVar[int]
    order: str
    by_value: bool
    limit: int
    tick: Tick

    @abstractmethod
    def parts(self, after: Position | None) -> Parts[T]:
        """Yield the matching entries after a position, piece by piece, the newest first unless `order` is another."""

    @abstractmethod
    def position_of(self, entry: T) -> Position:
        """Return the position of an entry in the list."""

    @abstractmethod
    def values_of(self, entries: Sequence[T]) -> Iterable[float | None]:
        """Return the values by which an order without an index sorts, None for an entry without one."""

    @abstractmethod
    def with_hits(self, entries: Sequence[T]) -> Sequence[T]:
        """Return the first entries with the excerpts of a page: as many as can be read in time, at least one."""

    def page(self, cursor: str | None) -> ListPage[T]:
        """Return the page of a cursor: what was found within half a second, perhaps nothing, and a cursor to continue.

        An order by value sorts the newest `SORTED_MAX` entries, or as many as were found within half a second; the page
        is part of these.
        """
        offset, after = self._decoded(cursor)
        if self.by_value:
            return self._sorted(offset, after)
        entries, left = self._read(self.parts(after), self.limit + 1)
        shown = list(self.with_hits(entries[: self.limit]))
        if len(entries) > len(shown):
            left = self.position_of(shown[-1])
        return ListPage(shown, self._cursor(left) if left else None)

    def _sorted(self, offset: int, after: Position | None) -> ListPage[T]:
        """Return a page of the newest entries: the highest values first, entries without one last.

        Entries of one value keep their order. The next page begins with the entries that could not be read in time.
        """
        parts = self.parts(after)
        valued, left = self._read(((self._valued(entries), end) for entries, end in parts), SORTED_MAX + 1)
        newest = valued[:SORTED_MAX]
        in_order = [entry for entry, _ in sorted(newest, key=lambda pair: math.inf if pair[1] is None else -pair[1])]
        shown = list(self.with_hits(in_order[offset : offset + self.limit]))
        end, following = offset + len(shown), None
        if len(newest) > end:
            # Entries that arrive later come before this position, so no entry moves to another page.
            *values, id_ = self.position_of(newest[0][0])
            following = self._cursor(after or (*values, id_ + 1), end)
        return ListPage(shown, following, Sorted(len(newest), left is None and len(valued) == len(newest)))

    def _cursor(self, position: Position, *offset: int) -> str:
        return pagination.encode(*([self.order] if self.order else []), *offset, *position)

    def _decoded(self, cursor: str | None) -> tuple[int, Position | None]:
        """Return the number of sorted entries before the page, and the position after which its entries come."""
        if not cursor:
            return 0, None
        named = [str] if self.order else []
        # The order if it has a name, the offset of an order by value, and the position.
        values = pagination.decode(cursor, *named, *[int] * (self.by_value + self.position_length))
        if named and values[0] != self.order:
            raise Invalid("cursor: Not a cursor of this order.")
        offset = int(values[-self.position_length - 1]) if self.by_value else 0
        return offset, tuple(map(int, values[-self.position_length :]))

    def _valued(self, entries: Sequence[T]) -> list[tuple[T, float | None]]:
        return list(zip(entries, self.values_of(entries), strict=True))

    def _read(self, parts: Parts[E], most: int) -> tuple[list[E], Position | None]:
        """Return entries until there are `most` or `SEARCH_S` is over, and the position at which reading stopped."""
        read: list[E] = []
        is_over = over_after(self.tick, SEARCH_S)
        for entries, position in parts:
            read += entries
            if len(read) >= most or is_over():
                return read, position
        return read, None


def over_after(tick: Tick, seconds: float) -> Callable[[], bool]:
    """Return a function that returns whether this many seconds have passed."""
    until = tick() + seconds
    return lambda: tick() >= until
