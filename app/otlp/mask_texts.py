"""Replaces the matches of patterns in texts, within a budget.

The work of rules can multiply: a pattern may read the rest of a text for each match, and a replacement that is longer
than its match adds to the text, which the next pattern searches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

# In characters, as `MaskingBudget.search`: about a second of one processor.
SEARCH_MAX = 512 * 1024 * 1024
GROWTH_MAX = 1024 * 1024
"""Bytes of JSON that masking may add to a span, to the texts of a run or to those of a replay."""
SECONDS_MAX = 20.0
"""Seconds of a processor that patterns may need for a batch, a run or a replay.

RE2 reads a megabyte in milliseconds, or in 20 seconds if a pattern of a thousand instructions has too many states. It
does not report which, and a good pattern may be as large, so this is measured.
"""
ELEMENTS_MAX = 500_000
"""Brackets and commas of one text that is read as JSON: each may need a hundred bytes of memory."""
# The search of a text can't be interrupted. A program of so many instructions may need 0.1 s for 64 KiB.
_SMALL_PROGRAM = 100
_PIECE = 64 * 1024  # characters

# Characters that can be read in the time of a match, in that of comparing a key or an index, and in that of reading,
# masking and writing an element of JSON.
_CHARACTERS_PER_MATCH = 4 * 1024
_CHARACTERS_PER_MEMBER = 64
_CHARACTERS_PER_ELEMENT = 256


class Exhausted(Exception):
    """The budget does not suffice for all matches: the value must be masked whole."""


@dataclass(slots=True)
class MaskingBudget:
    """The work left to masking: `search` in characters read, `growth` in bytes, `seconds` of a processor.

    Patterns read the characters after a match. Pointers read members, and the JSON in texts. `clock` returns the
    seconds that the processor has worked for this thread.
    """

    search: int = SEARCH_MAX
    growth: int = GROWTH_MAX
    seconds: float = SECONDS_MAX
    clock: Callable[[], float] = lambda: 0.0  # no time is counted

    def find(self, rest: int) -> None:
        """Subtract the cost of a match with `rest` characters after it."""
        self.read(rest + _CHARACTERS_PER_MATCH)

    def read(self, characters: int) -> None:
        """Subtract the cost of reading so many characters."""
        self.search -= characters
        if self.search < 0:
            raise Exhausted

    def read_members(self, count: int) -> None:
        """Subtract the cost of comparing so many keys or indexes with a token of a pointer."""
        self.read(_CHARACTERS_PER_MEMBER * count)

    def read_elements(self, count: int) -> None:
        """Subtract the cost of a text of JSON with so many brackets and commas."""
        if count > ELEMENTS_MAX:
            raise Exhausted
        self.read(_CHARACTERS_PER_ELEMENT * count)

    def use_time(self, since: float) -> None:
        """Subtract the time that the processor has worked since then."""
        self.seconds -= self.clock() - since
        if self.seconds < 0:
            raise Exhausted

    def grow(self, by: int) -> None:
        """Subtract the bytes that a replacement adds."""
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

    def matches_empty_text(self) -> bool:
        """Return whether the pattern matches the empty text, which every text has everywhere."""
        return self.pattern.fullmatch("") is not None

    def masked(self, text: str, budget: MaskingBudget) -> str:
        """Return the masked text; raises Exhausted. Empty matches are not replaced, because they hide nothing."""
        started = budget.clock()
        budget.use_time(started)  # raises if the time was used up before
        if len(text) > _PIECE and self.pattern.programsize > _SMALL_PROGRAM:
            self._try_pieces(text, budget)
            started = budget.clock()
        pieces, end, size = [], 0, json_size(self.replacement)
        for match in self.pattern.finditer(text):
            budget.find(len(text) - match.end())
            if match.end() > match.start():
                budget.grow(size - (match.end() - match.start()))
                pieces += [text[end : match.start()], self.replacement]
                end = match.end()
        budget.use_time(started)
        return "".join([*pieces, text[end:]]) if pieces else text

    def _try_pieces(self, text: str, budget: MaskingBudget) -> None:
        """Raise Exhausted before a whole text is searched for longer than the budget has: its pieces need as long."""
        for start in range(0, len(text), _PIECE):
            started = budget.clock()
            deque(self.pattern.finditer(text[start : start + _PIECE]), maxlen=0)
            budget.use_time(started)


def json_size(text: str) -> int:
    """Return the bytes of the text in JSON, without its quotes."""
    return len(msgspec.json.encode(text)) - 2
