"""Unified diffs of texts that others wrote, in bounded time."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence

from reprise_formats.replay_steps import equal_beginning

STEPS_MAX = 10_000_000
"""Steps of a comparison, about half a second. `difflib` needs up to the cube of the number of lines."""


def unified(
    before: Sequence[str], after: Sequence[str], old_name: str, new_name: str, *, lineterm: str = "\n"
) -> Iterator[str]:
    """Yield the lines of a unified diff; texts that may need more than `STEPS_MAX` are shown as replaced as a whole."""
    if before == after:
        return iter(())
    if _steps(before, after) > STEPS_MAX:
        return _replaced(before, after, old_name, new_name, lineterm)
    return difflib.unified_diff(before, after, old_name, new_name, lineterm=lineterm)


def _steps(before: Sequence[str], after: Sequence[str]) -> int:
    """Return the most steps of comparing what is between the equal beginnings and the equal ends of two texts.

    Each common stretch, of which there may be as many as lines, is found by a look at all pairs of equal lines.
    """
    start = equal_beginning(before, after)
    before, after = before[start:], after[start:]
    end = equal_beginning(before[::-1], after[::-1])
    before, after = before[: len(before) - end], after[: len(after) - end]
    lines = Counter(after)
    pairs = sum(lines[line] for line in before)
    return (pairs + len(before) + len(after)) * min(len(before), len(after), pairs)


def _replaced(
    before: Sequence[str], after: Sequence[str], old_name: str, new_name: str, lineterm: str
) -> Iterator[str]:
    yield f"--- {old_name}{lineterm}"
    yield f"+++ {new_name}{lineterm}"
    yield f"@@ -1,{len(before)} +1,{len(after)} @@{lineterm}"
    yield from (f"-{line}" for line in before)
    yield from (f"+{line}" for line in after)
