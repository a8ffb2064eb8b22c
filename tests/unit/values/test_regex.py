"""Regular expressions mean the same on each Python that Reprise runs on, and compiling users' has a bounded cost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.values.budget import OverBudget, WorkBudget
from app.values.regex import CLASSES_MAX, LONGEST_PATTERN, Patterns, compile_new, compile_pattern

# A repetition of a group that keeps what it took, or such a group. Python before 3.11.5, such as that of Debian 12,
# matches them wrongly (https://github.com/python/cpython/issues/106052): one of characters, such as [a-z]++, is right.
POSSESSIVE_GROUP = re.compile(r"(?<!\()\)(?:[*+?]|\{\d*,?\d*\})\+|\(\?>")


def test_no_expression_repeats_a_group_possessively() -> None:
    modules = Path(__file__).parents[2].joinpath("app").rglob("*.py")
    assert [str(path) for path in modules if POSSESSIVE_GROUP.search(path.read_text(encoding="utf-8"))] == []


def steps_of(pattern: str) -> int:
    budget = WorkBudget()
    compile_pattern(pattern, budget)
    return budget.spent


@pytest.mark.parametrize("short", [r"\pL|", r"(?i:\P{Greek})|", "k", ".", r"\W"])
def test_compiling_counts_the_classes_and_the_instructions_of_a_pattern(short: str) -> None:
    # An instruction needs up to a microsecond, and each class of Unicode up to 400 of them.
    most = 40 * (short.lower().count(r"\p"))
    assert steps_of(short * 40) >= compile_pattern(short * 40).programsize + 6 * most


def test_a_repetition_that_needs_too_much_memory_is_counted() -> None:
    budget = WorkBudget()
    with pytest.raises(ValueError, match="too large"):
        compile_pattern(r"\pL{999}", budget)
    assert budget.spent > 3_000


def test_a_new_pattern_has_few_classes_and_fits_the_budget_of_all() -> None:
    most = r"\pL" * 2 + r"|\PM" * (CLASSES_MAX - 2)
    budget = WorkBudget(2 * steps_of(most))
    with pytest.raises(ValueError, match=f"has more than {CLASSES_MAX} classes"):
        compile_new(most + r"\pL", budget)
    with pytest.raises(ValueError, match=f"longer than {LONGEST_PATTERN} characters"):
        compile_new("a" * (LONGEST_PATTERN + 1), budget)
    compile_new(most, budget)
    compile_new(most, budget)
    with pytest.raises(ValueError, match="with the patterns before it, needs more than"):
        compile_new("a", budget)


def test_patterns_of_a_replay_spend_what_they_need_to_compile_once() -> None:
    budget = WorkBudget(10_000)
    patterns = Patterns(budget)
    assert patterns.supports(r"\pL")
    spent = budget.spent
    assert patterns.supports(r"\pL")
    assert budget.spent == spent
    with pytest.raises(OverBudget):
        patterns.supports(r"\pL" * 300)
