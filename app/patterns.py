"""Regular expressions that a user wrote, run on text that a model wrote.

RE2 searches in linear time, so no pattern can hold up a worker; it has neither look-around nor back-references.
"""

from __future__ import annotations

import re2

LONGEST_PATTERN = 1_000
MOST_MEMORY = 256 << 10  # bytes; keeps big counted repetitions from compiling


def compile_pattern(pattern: str) -> re2._Regexp:
    """Compile a pattern; raises `ValueError` with RE2's own message."""
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


def found(pattern: str, text: str) -> bool:
    """Return whether the pattern matches anywhere in the text; raises ValueError for a pattern that is none."""
    readable = text.encode(errors="replace").decode()  # RE2 takes no lone surrogates
    return compile_pattern(pattern).search(readable) is not None
