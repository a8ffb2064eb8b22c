"""Replaces the matches of patterns in texts, within a budget.

The work of rules can multiply: a pattern may read the rest of a text for each match, and a replacement that is longer
than its match adds to the text, which the next pattern searches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

# About a second of one processor.
SEARCH_MAX = 512 * 1024 * 1024
GROWTH_MAX = 1024 * 1024
"""Bytes of JSON that masking may add to a span, to the texts of a run or to those of a replay."""

# A match costs as much as reading so many characters.
_FINDING = 4 * 1024
# Comparing a key or an index costs as much as reading so many characters.
_MEMBER = 64


class Exhausted(Exception):
    """The budget does not suffice for all matches: the value must be masked whole."""


@dataclass(slots=True)
class MaskingBudget:
    """The work left to masking: `search` in characters read, `growth` in bytes.

    Patterns read the characters after a match. Pointers read members, and the JSON in texts.
    """

    search: int = SEARCH_MAX
    growth: int = GROWTH_MAX

    def find(self, rest: int) -> None:
        """Subtract the cost of a match with `rest` characters after it."""
        self.read(rest + _FINDING)

    def read(self, characters: int) -> None:
        """Subtract the cost of reading so many characters."""
        self.search -= characters
        if self.search < 0:
            raise Exhausted

    def read_members(self, count: int) -> None:
        """Subtract the cost of comparing so many keys or indexes with a token of a pointer."""
        self.read(_MEMBER * count)

    def grow(self, by: int) -> None:
        if by <= 0:
            return
        self.growth -= by
        if self.growth < 0:
            raise Exhausted


@dataclass(frozen=True, slots=True)
class TextRule:
    """A compiled pattern and the replacement of its matches."""

    pattern: Any
    replacement: str

    def finds_nothing(self) -> bool:
        """Return whether the pattern matches the empty text, which is everywhere."""
        return self.pattern.fullmatch("") is not None

    def masked(self, text: str, budget: MaskingBudget) -> str:
        """Return the masked text; raises Exhausted. Empty matches are not replaced, because they hide nothing."""
        pieces, end, size = [], 0, json_size(self.replacement)
        for match in self.pattern.finditer(text):
            budget.find(len(text) - match.end())
            if match.end() > match.start():
                budget.grow(size - (match.end() - match.start()))
                pieces += [text[end : match.start()], self.replacement]
                end = match.end()
        return "".join([*pieces, text[end:]]) if pieces else text


def json_size(text: str) -> int:
    """Return the bytes of the text in JSON, without its quotes."""
    return len(msgspec.json.encode(text)) - 2
