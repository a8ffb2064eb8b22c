"""Users' regular expressions, which are searched in models' texts.

RE2 searches in linear time, so no pattern can block a worker; it has neither look-around nor back-references.
"""

from __future__ import annotations

import re2

LONGEST_PATTERN = 1_000
MOST_MEMORY = 256 << 10  # bytes; with more, large counted repetitions would compile


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


def found(pattern: str, text: str) -> bool:
    """Return whether the pattern matches anywhere in the text; raise `ValueError` for an invalid pattern."""
    readable = text.encode(errors="replace").decode()  # RE2 does not accept lone surrogates
    return compile_pattern(pattern).search(readable) is not None
