import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from app.errors import Invalid
from app.pagination import Sorted
from app.services.search import scanning
from app.services.search.scanning import SEARCH_S, Position, Scan


@dataclass(slots=True, kw_only=True)
class Numbers(Scan[int]):
    """The numbers below a limit in descending order, two at a time; each is its position."""

    below: int = 9
    with_hits_at_once: int = 100
    position_length = 1

    def parts(self, after: Position | None) -> Iterator[tuple[Sequence[int], Position | None]]:
        left = list(reversed(range(after[0] if after else self.below)))
        while left:
            part, left = left[:2], left[2:]
            yield part, (part[-1],) if left else None

    def position_of(self, entry: int) -> Position:
        return (entry,)

    def values_of(self, entries: Sequence[int]) -> list[float | None]:
        return [None if entry % 3 == 0 else entry % 3 for entry in entries]

    def with_hits(self, entries: Sequence[int]) -> Sequence[int]:
        return entries[: self.with_hits_at_once]


def numbers(
    *,
    order: str = "newest",
    by_value: bool = False,
    limit: int = 3,
    tick: Callable[[], float] = lambda: 0.0,
    **more: int,
) -> Numbers:
    return Numbers(order=order, by_value=by_value, limit=limit, tick=tick, **more)


def all_pages(scan: Numbers) -> list[list[int]]:
    pages, cursor = [scan.page(None)], None
    while cursor := pages[-1].next_cursor:
        pages.append(scan.page(cursor))
    return [page.entries for page in pages]


@pytest.mark.parametrize("order", ["", "newest"])
def test_pages_follow_each_other(order: str) -> None:
    assert all_pages(numbers(order=order)) == [[8, 7, 6], [5, 4, 3], [2, 1, 0]]


def test_a_page_ends_when_its_time_is_over_and_the_next_one_continues() -> None:
    clock = itertools.count(step=SEARCH_S)

    assert all_pages(numbers(tick=lambda: next(clock), limit=5)) == [[8, 7], [6, 5], [4, 3], [2, 1], [0]]


@pytest.mark.parametrize("by_value", [False, True])
def test_entries_that_could_not_be_read_in_time_begin_the_next_page(by_value: bool) -> None:
    pages = all_pages(numbers(by_value=by_value, with_hits_at_once=2))

    assert pages[:2] == ([[8, 5], [2, 7]] if by_value else [[8, 7], [6, 5]])
    assert sorted(itertools.chain(*pages)) == list(range(9))


def test_the_highest_values_come_first_and_entries_without_one_last() -> None:
    assert all_pages(numbers(by_value=True, limit=4)) == [[8, 5, 2, 7], [4, 1, 6, 3], [0]]


def test_entries_that_arrive_later_are_not_sorted_into_later_pages() -> None:
    first = numbers(by_value=True).page(None)

    later = numbers(by_value=True, below=100).page(first.next_cursor)

    assert (first.entries, later.entries) == ([8, 5, 2], [7, 4, 1])


def test_only_the_newest_entries_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "SORTED_MAX", 3)
    few, all_of_them = numbers(by_value=True).page(None), numbers(by_value=True, below=3).page(None)

    assert (few.entries, few.sorted, few.next_cursor) == ([8, 7, 6], Sorted(3, complete=False), None)
    assert all_of_them.sorted == Sorted(3, complete=True)


def test_an_empty_list_has_one_empty_page() -> None:
    assert all_pages(numbers(below=0)) == all_pages(numbers(below=0, by_value=True)) == [[]]


def test_a_cursor_of_another_order_is_refused() -> None:
    cursor = numbers(order="newest").page(None).next_cursor

    with pytest.raises(Invalid, match=r"cursor: Not a cursor of this order\."):
        numbers(order="oldest").page(cursor)
    with pytest.raises(Invalid, match=r"cursor: Not a cursor of this list\."):
        numbers(order="newest", by_value=True).page(cursor)
