"""Regular expressions mean the same on each Python that Reprise runs on."""

from __future__ import annotations

import re
from pathlib import Path

# A repetition of a group that keeps what it took, or such a group. Python before 3.11.5, such as that of Debian 12,
# matches them wrongly (https://github.com/python/cpython/issues/106052): one of characters, such as [a-z]++, is right.
POSSESSIVE_GROUP = re.compile(r"(?<!\()\)(?:[*+?]|\{\d*,?\d*\})\+|\(\?>")


def test_no_expression_repeats_a_group_possessively() -> None:
    modules = Path(__file__).parents[2].joinpath("app").rglob("*.py")
    assert [str(path) for path in modules if POSSESSIVE_GROUP.search(path.read_text(encoding="utf-8"))] == []
