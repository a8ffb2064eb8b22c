"""Pages of lists by the bytes of their entries."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.pagination import PAGE_BYTES, ListPage, page_by_size


@dataclass(frozen=True)
class Entry:
    id: int
    size: int


@dataclass
class Table:
    """Entries, the newest first, and how many of them were read."""

    entries: list[Entry]
    read_count: int = 0

    def read(self, *, before_id: int | None, limit: int) -> list[Entry]:
        rows = [entry for entry in self.entries if before_id is None or entry.id < before_id][:limit]
        self.read_count += len(rows)
        return rows

    def page(self, limit: int = 200, cursor: str | None = None) -> ListPage[Entry]:
        return page_by_size(self.read, size=lambda entry: entry.size, limit=limit, cursor=cursor)


def table_of(sizes: list[int]) -> Table:
    return Table([Entry(len(sizes) - index, size) for index, size in enumerate(sizes)])


def test_a_page_of_large_entries_ends_before_it_has_too_many_bytes_and_reads_few_more() -> None:
    table = table_of([PAGE_BYTES // 3] * 200)
    page = table.page()
    assert [entry.id for entry in page.entries] == [200, 199, 198]
    assert page.next_cursor is not None
    assert table.read_count < 10


def test_an_entry_larger_than_a_page_is_a_page() -> None:
    page = table_of([2 * PAGE_BYTES, 1]).page()
    assert [entry.id for entry in page.entries] == [2]
    assert page.next_cursor is not None


@pytest.mark.parametrize("count", [0, 1, 2, 5, 6, 7])
def test_a_page_of_small_entries_has_as_many_as_are_asked_for(count: int) -> None:
    page = table_of([1] * count).page(limit=6)
    assert len(page.entries) == min(6, count)
    assert (page.next_cursor is None) == (count <= 6)


@given(
    sizes=st.lists(st.sampled_from([0, 1, PAGE_BYTES // 2, PAGE_BYTES, PAGE_BYTES + 1]), max_size=40),
    limit=st.integers(1, 20),
)
def test_pages_have_all_entries_once_in_their_order(sizes: list[int], limit: int) -> None:
    table, cursor, seen = table_of(sizes), None, list[Entry]()
    while True:
        page = table.page(limit, cursor)
        assert len(page.entries) == 1 or sum(entry.size for entry in page.entries) <= PAGE_BYTES
        seen += page.entries
        if (cursor := page.next_cursor) is None:
            break
    assert seen == table.entries
