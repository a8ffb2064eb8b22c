"""Cursors of lists. They are opaque to callers, and do not give access to more than the list shows."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import orjson

from app.errors import Invalid

Position = list[int | str]


class HasId(Protocol):
    @property
    def id(self) -> int: ...


T = TypeVar("T")
Row = TypeVar("Row", bound=HasId)
ReadRow = TypeVar("ReadRow", bound=HasId, covariant=True)


class ReadPage(Protocol[ReadRow]):
    """Reads at most `limit` rows in descending order of ids, with ids below `before_id` unless that is None."""

    def __call__(self, *, before_id: int | None, limit: int) -> Sequence[ReadRow]: ...


@dataclass(frozen=True, slots=True)
class Sorted:
    """Sorting stops at a number of entries, the newest ones. `entries` of them matched; `complete`: no others match."""

    entries: int
    complete: bool


@dataclass(frozen=True, slots=True)
class ListPage(Generic[T]):
    """`next_cursor` is None on the last page. `sorted` is None when an index has the list's order."""

    entries: list[T]
    next_cursor: str | None
    sorted: Sorted | None = None


def page_by_id(read: ReadPage[Row], *, limit: int, cursor: str | None) -> ListPage[Row]:
    """Return the page of at most `limit` rows from the cursor on; raise `Invalid` for a cursor of another list."""
    before_id = int(decode(cursor, int)[0]) if cursor else None
    rows = read(before_id=before_id, limit=limit + 1)
    return ListPage(list(rows[:limit]), encode(rows[limit - 1].id) if len(rows) > limit else None)


# A page has at most this many bytes of entries, or a single larger entry.
PAGE_BYTES = 4 * 1024 * 1024
_FIRST_READ = 2


def page_by_size(read: ReadPage[Row], *, size: Callable[[Row], int], limit: int, cursor: str | None) -> ListPage[Row]:
    """Return a page like `page_by_id`, but with at most `PAGE_BYTES` of rows, which `size` measures.

    Rows are read in pieces that double in length, so that not much more than the page is read.
    """
    before_id = int(decode(cursor, int)[0]) if cursor else None
    shown: list[Row] = []
    spent, piece = 0, _FIRST_READ
    while True:
        asked = min(piece, limit + 1 - len(shown))
        rows = read(before_id=before_id, limit=asked)
        for row in rows:
            spent += size(row)
            if len(shown) == limit or (shown and spent > PAGE_BYTES):
                return ListPage(shown, encode(shown[-1].id))
            shown.append(row)
        if len(rows) < asked:
            return ListPage(shown, None)
        before_id, piece = rows[-1].id, 2 * piece


def json_size(value: object) -> int:
    """Return the number of bytes of a value's JSON."""
    return len(orjson.dumps(value))


def encode(*position: int | str) -> str:
    """Return the cursor for a position, the values by which the last entry of a page is sorted."""
    return base64.urlsafe_b64encode(orjson.dumps(position)).decode().rstrip("=")


def decode(cursor: str, *kinds: type) -> Position:
    """Return the values that were passed to `encode`; raise `Invalid` for a cursor of another list."""
    try:
        position = orjson.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except ValueError as error:
        raise Invalid("cursor: Not a cursor of this list.") from error
    if not isinstance(position, list) or len(position) != len(kinds) or not all(map(_fits, position, kinds)):
        raise Invalid("cursor: Not a cursor of this list.")
    return position


def _fits(value: object, kind: type) -> bool:
    """Return whether a value has the type `kind`; a number must be smaller than the largest BIGINT."""
    return type(value) is kind and (not isinstance(value, int) or 0 <= value < 2**63 - 1)
