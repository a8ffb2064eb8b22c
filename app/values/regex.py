"""Users' regular expressions, which are searched in models' texts.

RE2 searches in linear time, so no pattern can block a worker; it has neither look-around nor back-references.
"""

from __future__ import annotations

from functools import lru_cache

import re2

from app.values.budget import WorkBudget

LONGEST_PATTERN = 1_000
MOST_MEMORY = 256 << 10  # bytes; with more, large counted repetitions would compile
# A class such as \pL costs a millisecond anywhere in a pattern.
STEPS_TO_COMPILE = 1000
STEPS_TO_COMPILE_A_CHARACTER = 40
# RE2 may look at each instruction of the compiled pattern at each byte: 64 of them need up to a microsecond.
INSTRUCTIONS_PER_STEP = 64
MOST_KEPT = 256


def compile_pattern(pattern: str) -> re2._Regexp:
    """Compile a pattern; raise `ValueError` with RE2's message."""
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"is longer than {LONGEST_PATTERN} characters")
    options = re2.Options()
    options.max_mem = MOST_MEMORY
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as problem:
        message = problem.args[0]
        raise ValueError(message.decode(errors="replace") if isinstance(message, bytes) else str(message)) from None


class Patterns:
    """The patterns of one check or replay, each compiled once unless there are many; they spend from its budget."""

    def __init__(self, budget: WorkBudget) -> None:
        self._budget = budget
        self._known: dict[str, re2._Regexp | None] = {}

    def knows(self, pattern: str) -> bool:
        """Return whether RE2 supports a pattern: it has no look-around and no back references. Raises `OverBudget`."""
        return self._compiled(pattern) is not None

    def match(self, pattern: str, text: str) -> bool:
        """Return whether a pattern is found in a text; true for one that RE2 does not support. Raises `OverBudget`."""
        compiled = self._compiled(pattern)
        if compiled is None:
            return True
        self._budget.spend(1 + len(text) * compiled.programsize // INSTRUCTIONS_PER_STEP)
        readable = text.encode(errors="replace").decode()  # RE2 does not accept lone surrogates
        return compiled.search(readable) is not None

    def _compiled(self, pattern: str) -> re2._Regexp | None:
        if pattern not in self._known:
            self._budget.spend(STEPS_TO_COMPILE + STEPS_TO_COMPILE_A_CHARACTER * len(pattern))
            if len(self._known) == MOST_KEPT:
                self._known.clear()
            self._known[pattern] = _compiled(pattern)
        return self._known[pattern]


@lru_cache(maxsize=MOST_KEPT)
def _compiled(pattern: str) -> re2._Regexp | None:
    """Return the compiled pattern; None for what RE2 does not support."""
    try:
        return compile_pattern(pattern)
    except ValueError:
        return None
