"""Compiles the patterns of new checks and tools. Stored ones are only compiled where they are used."""

from __future__ import annotations

from collections.abc import Iterator

from app.errors import Invalid
from app.replay.case_types import Check, ToolRules
from app.replay.documents import join
from app.values.budget import WorkBudget
from app.values.regex import NEW_PATTERNS_STEPS, compile_new


class NewPatterns:
    """The patterns of one changed or imported test case, each compiled once, within a budget for all."""

    def __init__(self) -> None:
        self._budget = WorkBudget(NEW_PATTERNS_STEPS)
        self._compiled = set[str]()

    def require(self, rules: Check | ToolRules, path: str, before: Check | ToolRules | None = None) -> None:
        """Raise `Invalid`, with the field's path, for a pattern that can't be used and that `before` does not have."""
        known = {pattern for _, pattern in _patterns(before)} if before else set[str]()
        for place, pattern in _patterns(rules):
            if pattern not in known and pattern not in self._compiled:
                try:
                    compile_new(pattern, self._budget)
                except ValueError as error:
                    raise Invalid(f"{join(path, place)}: {error}") from None
                self._compiled.add(pattern)


def _patterns(rules: Check | ToolRules) -> Iterator[tuple[str, str]]:
    """Yield the place of each pattern, as messages about the struct name it, and the pattern."""
    if isinstance(rules, Check) and rules.answer == "regex":
        yield "value", str(rules.value)
    if isinstance(rules.arguments, dict):
        for pointer, matcher in rules.arguments.items():
            if isinstance(matcher, dict) and matcher["match"] == "regex":
                yield f"arguments.{pointer}: value", matcher["value"]
