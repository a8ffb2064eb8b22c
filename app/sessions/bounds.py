"""Which names are kept where their number and bytes have a limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def count_within(ordered: Sequence[T], bytes_of: Callable[[T], int], *, most: int, most_bytes: int) -> int:
    """Return how many of the first items are kept: at most `most`, the last of which reaches `most_bytes`.

    An item is left out only if the items before it are too many or too large. They are kept, so a union with further
    items leaves it out, too: the order of unions does not matter.
    """
    size = 0
    for count, item in enumerate(ordered[:most]):
        if size >= most_bytes:
            return count
        size += bytes_of(item)
    return min(len(ordered), most)
