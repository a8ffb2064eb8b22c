"""The regular expressions of a schema, run by RE2: in time linear in the text, and counted."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from app.meter import Meter
from app.patterns import compile_pattern

# A class such as \pL costs a millisecond wherever it stands.
STEPS_TO_COMPILE = 1000
STEPS_TO_COMPILE_A_CHARACTER = 40
# RE2 takes up to a step of its own for each character and instruction.
INSTRUCTIONS_PER_STEP = 256


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    """The compiled pattern; None for what RE2 does not know (look-around, back references)."""
    try:
        return compile_pattern(pattern)
    except ValueError:
        return None


class Patterns:
    """Each pattern is compiled once a check."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._known: dict[str, Any] = {}

    def knows(self, pattern: str) -> bool:
        return self._compiled(pattern) is not None

    def match(self, pattern: str, text: str) -> bool:
        """Return whether a pattern is found in a text; true for one that RE2 does not know."""
        compiled = self._compiled(pattern)
        if compiled is None:
            return True
        self._meter.spend(1 + len(text) * compiled.programsize // INSTRUCTIONS_PER_STEP)
        return compiled.search(text) is not None

    def _compiled(self, pattern: str) -> Any:
        if pattern not in self._known:
            self._meter.spend(STEPS_TO_COMPILE + STEPS_TO_COMPILE_A_CHARACTER * len(pattern))
            self._known[pattern] = _compiled(pattern)
        return self._known[pattern]
