"""Cursors of lists: opaque to callers, and no way to ask for more than the list shows."""

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
    """Reads at most `limit` rows in descending order of ids, from below `before_id` unless that is None."""

    def __call__(self, *, before_id: int | None, limit: int) -> Sequence[ReadRow]: ...


@dataclass(frozen=True, slots=True)
class Sorted:
    """The number of the newest entries that match, which were sorted; they are all that match if `complete`."""

    entries: int
    complete: bool


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """`next_cursor` is None on the last page. `sorted` is None where an index has the list's order."""

    entries: list[T]
    next_cursor: str | None
    sorted: Sorted | None = None


def page_by_id(read: ReadPage[Row], *, limit: int, cursor: str | None) -> Page[Row]:
    """Return the page of at most `limit` rows that begins at the cursor; `Invalid` for a cursor of another list."""
    before_id = int(decode(cursor, int)[0]) if cursor else None
    rows = read(before_id=before_id, limit=limit + 1)
    return Page(list(rows[:limit]), encode(rows[limit - 1].id) if len(rows) > limit else None)


# A page of large entries ends before they have more bytes together; one larger entry is a page.
PAGE_BYTES = 4 * 1024 * 1024
_FIRST_READ = 2


def page_by_size(read: ReadPage[Row], *, size: Callable[[Row], int], limit: int, cursor: str | None) -> Page[Row]:
    """Return the page that `page_by_id` does, or its beginning of at most `PAGE_BYTES`, as `size` measures rows.

    Rows are read in pieces that double, so that hardly more than the page is read.
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
                return Page(shown, encode(shown[-1].id))
            shown.append(row)
        if len(rows) < asked:
            return Page(shown, None)
        before_id, piece = rows[-1].id, 2 * piece


def json_size(value: object) -> int:
    """Return the bytes of a value as JSON."""
    return len(orjson.dumps(value))


def encode(*position: int | str) -> str:
    """Return the cursor of the position after a page's last entry."""
    return base64.urlsafe_b64encode(orjson.dumps(position)).decode().rstrip("=")


def decode(cursor: str, *kinds: type) -> Position:
    """Return the values that `encode` was given; `Invalid` when the cursor is not one of this list's."""
    try:
        position = orjson.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except ValueError as error:
        raise Invalid("cursor: Not a cursor of this list.") from error
    if not isinstance(position, list) or len(position) != len(kinds) or not all(map(_fits, position, kinds)):
        raise Invalid("cursor: Not a cursor of this list.")
    return position


def _fits(value: object, kind: type) -> bool:
    """Return whether a value is of its kind; numbers are such that the next one is still a BIGINT."""
    return type(value) is kind and (not isinstance(value, int) or 0 <= value < 2**63 - 1)
