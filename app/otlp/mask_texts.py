"""Replaces what patterns find in texts, within a budget.

Rules can multiply: a pattern may look at the rest of a text for each thing it finds, and a replacement that is longer
than what it replaces adds to the text, which the next pattern searches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

# About a second of one processor.
SEARCH_MAX = 512 * 1024 * 1024
GROWTH_MAX = 1024 * 1024
"""Bytes of JSON that masking may add to a span, to the texts of a run or to those of a replay."""

# To find something takes as long as to look at so many characters.
_FINDING = 4 * 1024


class Exhausted(Exception):
    """The budget does not suffice for all that is found: the value has to be masked whole."""


@dataclass(slots=True)
class Budget:
    """The work left to masking: `search` in characters looked at after something was found, `growth` in bytes."""

    search: int = SEARCH_MAX
    growth: int = GROWTH_MAX

    def find(self, rest: int) -> None:
        """Take what it costs to have found something with `rest` characters behind it."""
        self.search -= rest + _FINDING
        if self.search < 0:
            raise Exhausted

    def grow(self, by: int) -> None:
        if by <= 0:
            return
        self.growth -= by
        if self.growth < 0:
            raise Exhausted


@dataclass(frozen=True, slots=True)
class TextRule:
    """A compiled pattern and what is written for all that it finds."""

    pattern: Any
    replacement: str

    def finds_nothing(self) -> bool:
        """Return whether the pattern matches the empty text, which is everywhere."""
        return self.pattern.fullmatch("") is not None

    def masked(self, text: str, budget: Budget) -> str:
        """Raises Exhausted. An empty match hides nothing, so nothing is written for it."""
        pieces, end, size = [], 0, json_size(self.replacement)
        for match in self.pattern.finditer(text):
            budget.find(len(text) - match.end())
            if match.end() > match.start():
                budget.grow(size - (match.end() - match.start()))
                pieces += [text[end : match.start()], self.replacement]
                end = match.end()
        return "".join([*pieces, text[end:]]) if pieces else text


def json_size(text: str) -> int:
    """Bytes of the text in JSON, without its quotes."""
    return len(msgspec.json.encode(text)) - 2
