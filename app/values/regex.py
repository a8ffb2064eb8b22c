"""Users' regular expressions, which are searched in models' texts.

RE2 searches in linear time, so no pattern can block a worker; it has neither look-around nor back-references.
"""

from __future__ import annotations

import re

import re2

from app.values.budget import UNLIMITED, OverBudget, WorkBudget

LONGEST_PATTERN = 1_000
MOST_MEMORY = 256 << 10  # bytes; with more, large counted repetitions would compile
# RE2 builds the set of a class such as \pL again wherever a pattern names it, and holds the interpreter meanwhile.
CLASSES_MAX = 100
NEW_PATTERNS_STEPS = 500_000
"""Steps to compile all new patterns of a test case, a data policy or a check: half a second of a processor."""
_STEPS_PER_PATTERN = 100
_STEPS_PER_CHARACTER = 2
_STEPS_PER_CLASS = 250
# What RE2 compiles until it finds that a pattern needs more than the memory.
_STEPS_PER_FAILURE = 3_000
# RE2 may look at each instruction of the compiled pattern at each byte: 64 of them need up to a microsecond.
INSTRUCTIONS_PER_STEP = 64
MOST_KEPT = 256
_CLASS = re.compile(r"\\[pP]")


def compile_pattern(pattern: str, budget: WorkBudget = UNLIMITED) -> re2._Regexp:
    """Compile a pattern. Raises `ValueError` with RE2's message, and `OverBudget`."""
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"is longer than {LONGEST_PATTERN} characters")
    classes = _STEPS_PER_CLASS * _classes(pattern)
    budget.spend(_STEPS_PER_PATTERN + _STEPS_PER_CHARACTER * len(pattern) + classes)
    options = re2.Options()
    options.max_mem = MOST_MEMORY
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as problem:
        budget.spend(_STEPS_PER_FAILURE)
        message = problem.args[0]
        raise ValueError(message.decode(errors="replace") if isinstance(message, bytes) else str(message)) from None
    budget.spend(compiled.programsize)
    return compiled


def compile_new(pattern: str, budget: WorkBudget) -> re2._Regexp:
    """Compile a pattern that is not stored yet; `budget` is that of all new patterns.

    Raises `ValueError` for what RE2 does not support, and for what costs too much. A stored pattern that costs more
    stays usable.
    """
    if _classes(pattern) > CLASSES_MAX:
        raise ValueError(f"has more than {CLASSES_MAX} classes such as \\pL")
    try:
        return compile_pattern(pattern, budget)
    except OverBudget:
        raise ValueError(f"with the patterns before it, needs more than {budget.limit:,} steps to compile") from None


def _classes(pattern: str) -> int:
    return sum(1 for _ in _CLASS.finditer(pattern))


class Patterns:
    """The patterns of one check or replay, each compiled once unless there are many; they spend from its budget."""

    def __init__(self, budget: WorkBudget) -> None:
        self._budget = budget
        self._known: dict[str, re2._Regexp | None] = {}

    def supports(self, pattern: str) -> bool:
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
            if len(self._known) == MOST_KEPT:
                self._known.clear()
            self._known[pattern] = self._compile(pattern)
        return self._known[pattern]

    def _compile(self, pattern: str) -> re2._Regexp | None:
        """Return the compiled pattern; None for what RE2 does not support."""
        try:
            return compile_pattern(pattern, self._budget)
        except ValueError:
            return None
