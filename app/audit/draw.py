"""Choices that look random, but depend only on names: the same test cases give the same probes each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Draw:
    """A source of choices, which depend only on `name`.

    For a further choice, `of` returns the draw of a longer name: `draw.of("tool", 3)`.
    """

    name: str

    def of(self, *names: object) -> Draw:
        """Return the draw with these names appended to its own."""
        return Draw("/".join((self.name, *map(str, names))))

    @property
    def number(self) -> int:
        """A number of 64 bits: the beginning of the name's SHA-256."""
        return int.from_bytes(sha256(self.name.encode(errors="replace")).digest()[:8])

    def rotated(self, items: Sequence[T]) -> list[T]:
        """Return the items in their order, beginning at one that the name chooses and going on at the start."""
        begin = self.number % len(items) if items else 0
        return [*items[begin:], *items[:begin]]
