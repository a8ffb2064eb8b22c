"""CommonMark's block structure of a prompt: its top-level ATX headings, and the lines that belong to code fences.

Setext headings are off: a line of dashes or equals signs under a text is common in prompts and means no heading.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

import pyromark
from markdown_it.common.utils import normalizeReference
from reprise_formats.xml import FENCED

from app.values.budget import OverBudget, WorkBudget

_MARKS_ALONE = re.compile(r"^([ \t>]*+)(=++|-++|`{3,}+|~{3,}+)([ \t]*+)$", re.MULTILINE)

# The beginnings of lines that may open quotes and lists.
_OPENINGS = re.compile(r"^[ \t>*+0-9.)-]++", re.MULTILINE)
_NO_MARKERS = str.maketrans("", "", " \t0123456789")
_OPEN_LINES_MAX = 200_000_000
"""Quotes and lists that may be open, summed over the lines: the parser needs about a nanosecond for each."""


def scan(text: str, budget: WorkBudget | None = None) -> list[int]:
    """Return for each line of a text (only LF ends a line): 1 to 6 for a top-level heading, FENCED, else 0.

    Each line, each quote and each item of a list is a step of `budget`, which raises `OverBudget`. It is also raised
    when the open quotes and lists of all lines are too many.
    """
    budget = budget or WorkBudget()
    lines = text.split("\n")
    budget.spend(len(lines))
    # The parser looks at each open quote and list for each line.
    if _most_markers(text, at_least=_OPEN_LINES_MAX // len(lines)) * len(lines) > _OPEN_LINES_MAX:
        raise OverBudget
    kinds = [0] * len(lines)
    ends = list(accumulate(len(line.encode()) + 1 for line in lines))
    containers = 0
    for event, span in pyromark.events_with_range(_parsed(text), merge_text=True):
        opened, closed = (event.get("Start"), event.get("End")) if isinstance(event, dict) else (None, None)
        if _is_container(opened):
            budget.spend(1)
            containers += 1
        elif _is_container(closed):
            containers -= 1
        elif isinstance(opened, dict):
            first = bisect_right(ends, span["start"])
            if "Heading" in opened and not containers:
                kinds[first] = int(opened["Heading"]["level"][1])
            elif "Fenced" in opened.get("CodeBlock", ()):
                last = bisect_right(ends, span["end"] - 1)
                kinds[first : last + 1] = [FENCED] * (last + 1 - first)
    return kinds


def _most_markers(text: str, *, at_least: int) -> int:
    """Return how many quotes and lists one line may open; 0 if none opens so many."""
    openings = (opening for opening in _OPENINGS.findall(text) if len(opening) >= at_least)
    return max((len(opening.translate(_NO_MARKERS)) for opening in openings), default=0)


def _is_container(block: object) -> bool:
    return block == "Item" or (isinstance(block, dict) and "BlockQuote" in block)


def link_labels(text: str) -> set[str]:
    """Return the normalized labels of the text's link reference definitions."""
    return set(map(normalizeReference, pyromark.reference_definitions(_parsed(text))))


def _parsed(text: str) -> str:
    """Return a text of as many bytes, which the parser reads as CommonMark without setext headings.

    The parser treats a carriage return as a line's end, and does not accept a tab after a closing fence.
    """
    return _MARKS_ALONE.sub(_rewritten, text.replace("\r", "x")) + "\n"


def _rewritten(line: re.Match[str]) -> str:
    """Return a line of marks so that it underlines nothing: as text, an empty list item or a thematic break."""
    indent, marks, blanks = line.groups()
    if marks[0] in "`~":
        return indent + marks + " " * len(blanks)
    if marks[0] == "=" or len(marks) == 2:
        return indent + "x" * len(marks) + blanks
    return indent + ("+" if marks == "-" else "*" * len(marks)) + blanks
