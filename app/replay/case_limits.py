"""The limits of a test case, within which a page or a request for it needs less than a second.

Test cases of earlier releases may exceed them. They are still read, played and exported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from app.errors import Invalid
from app.replay.case_types import CaseStep, CaseTurn, TestCase
from app.replay.documents import join
from app.replay.patterns import NewPatterns
from app.sessions.types import Turn

TURNS_MAX = 1_000
# Steps of all turns.
STEPS_MAX = 5_000
# Spans of the turns that a test case is made of: to read them is most of the work.
SPANS_MAX = 8_000
# Tools with rules.
TOOLS_MAX = 500
# Matchers of one check, and of one tool.
MATCHERS_MAX = 100
# Matchers of all checks and tools, and answers that are compared by a pattern.
CASE_MATCHERS_MAX = 2_000


def fitting_turns(turns: Sequence[CaseTurn | Turn]) -> int:
    """Return how many of these turns, counted from the first, fit in one test case."""
    steps = 0
    for index, turn in enumerate(islice(turns, TURNS_MAX)):
        steps += len(turn.steps)
        if steps > STEPS_MAX:
            return index
    return min(len(turns), TURNS_MAX)


def require_small_enough(case: TestCase, path: str = "") -> None:
    """Raise `Invalid`, with the path of the field and the limit, for a new test case that is over a limit."""
    if len(case.turns) > TURNS_MAX:
        raise Invalid(f"{join(path, 'turns')}: at most {TURNS_MAX}")
    require_few_steps(case, path)
    if len(case.tools) > TOOLS_MAX:
        raise Invalid(f"{join(path, 'tools')}: at most {TOOLS_MAX}")
    for place, matchers in _matchers(case):
        require_few_matchers(matchers, join(path, place))
    require_few_matchers_in_all(case, path)
    patterns = NewPatterns()
    for name, rules in case.tools.items():
        patterns.require(rules, join(path, f"tools.{name}"))
    for place, step in _steps(case):
        patterns.require(step.check, join(path, f"{place}.check"))


def require_few_steps(case: TestCase, path: str = "") -> None:
    """Raise `Invalid` for more than `STEPS_MAX` steps in all turns; `path` is the field of the test case."""
    if sum(len(turn.steps) for turn in case.turns) > STEPS_MAX:
        raise Invalid(f"{join(path, 'turns')}: at most {STEPS_MAX} steps in all")


def require_few_matchers(arguments: object, path: str) -> None:
    """Raise `Invalid` for more matchers than one check or tool may have; `arguments` is the field at `path`."""
    if isinstance(arguments, Mapping) and len(arguments) > MATCHERS_MAX:
        raise Invalid(f"{path}: at most {MATCHERS_MAX} matchers")


def require_few_matchers_in_all(case: TestCase, path: str = "", before: int = 0) -> None:
    """Raise `Invalid` for more matchers and patterns than a test case may have, unless it had as many `before`."""
    if count_matchers(case) > max(CASE_MATCHERS_MAX, before):
        raise Invalid(f"{join(path, 'turns')}: at most {CASE_MATCHERS_MAX} matchers and patterns in all")


def count_matchers(case: TestCase) -> int:
    """Return the number of all matchers, and of answers that are compared by a pattern."""
    matchers = sum(len(matchers) for _, matchers in _matchers(case))
    return matchers + sum(step.kind == "answer" and step.check.answer == "regex" for _, step in _steps(case))


def _matchers(case: TestCase) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the path and the matchers of each tool and check that has some, and the kinds of texts of each tool."""
    for name, rules in case.tools.items():
        yield f"tools.{name}.arguments", rules.arguments
        yield f"tools.{name}.kinds", rules.kinds
    for place, step in _steps(case):
        if isinstance(step.check.arguments, dict):
            yield f"{place}.check.arguments", step.check.arguments


def _steps(case: TestCase) -> Iterator[tuple[str, CaseStep]]:
    for index, turn in enumerate(case.turns):
        yield from ((f"turns.{index}.steps.{n}", step) for n, step in enumerate(turn.steps))
