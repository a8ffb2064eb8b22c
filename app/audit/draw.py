"""Choices that depend only on a seed and names: the same seed and test cases give the same probes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Draw:
    """Choices under one name; `of` gives those under a further name."""

    name: str

    def of(self, *names: object) -> Draw:
        return Draw("/".join((self.name, *map(str, names))))

    @property
    def number(self) -> int:
        return int.from_bytes(sha256(self.name.encode(errors="replace")).digest()[:8])

    def rotated(self, items: Sequence[T]) -> list[T]:
        """Return the items, beginning at a drawn one."""
        begin = self.number % len(items) if items else 0
        return [*items[begin:], *items[:begin]]
