"""Patterns of new checks are compiled within a budget; stored ones are only compiled where they are used."""

from __future__ import annotations

import re
from typing import Any

import pytest

from app.errors import Invalid
from app.replay.case_limits import require_small_enough
from app.replay.case_types import TestCase
from app.replay.cases import load_case
from app.replay.changes import change_case
from app.replay.documents import dump
from app.values import regex
from app.values.regex import CLASSES_MAX, NEW_PATTERNS_STEPS

COSTLY = f"needs more than {NEW_PATTERNS_STEPS:,} steps to compile"


DEAR = r"\pL" + r"|\PM" * (CLASSES_MAX - 1)
"""A pattern for which RE2 builds as many sets as a new one may have."""


def document(*patterns: str) -> dict[str, Any]:
    """Return a test case with a call and as many answers, each compared by a pattern."""
    answers = [{"kind": "answer", "text": "", "check": {"answer": "regex", "value": pattern}} for pattern in patterns]
    return {"turns": [{"user": "Hi", "steps": [{"kind": "tool_call", "name": "pay", "arguments": {}}, *answers]}]}


def case(*patterns: str) -> TestCase:
    return load_case(document(*patterns))


def matchers(count: int) -> dict[str, Any]:
    return {f"/{number}": {"match": "regex", "value": f"{number}{DEAR}"} for number in range(count)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": [{"turn": 0, "step": 0, "check": {"arguments": matchers(60)}}]}, "steps.0.check.arguments./"),
        ({"tools": {"pay": {"arguments": matchers(60)}}}, "tools.pay.arguments./"),
    ],
)
def test_a_change_with_patterns_that_are_dear_together_is_refused(changes: Any, message: str) -> None:
    with pytest.raises(Invalid, match=re.escape(COSTLY)) as refused:
        change_case(case("a"), changes)
    assert str(refused.value).startswith(message)


def test_an_import_with_patterns_that_are_dear_together_is_refused() -> None:
    stored = document(*(f"{number}{DEAR}" for number in range(60)))

    with pytest.raises(Invalid, match=re.escape(COSTLY)) as refused:
        require_small_enough(load_case(stored, "testCase"), "testCase")
    assert str(refused.value).startswith("testCase.turns.0.steps.")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("(", "missing ): ("), (r"\p{L}" * (CLASSES_MAX + 1), f"has more than {CLASSES_MAX} classes such as \\pL")],
)
def test_an_import_names_the_pattern_that_can_not_be_used(pattern: str, message: str) -> None:
    with pytest.raises(Invalid) as refused:
        require_small_enough(case(pattern))
    assert str(refused.value) == f"turns.0.steps.1.check.value: {message}"

    stored = document() | {"tools": {"pay": {"arguments": {"/a": {"match": "regex", "value": pattern}}}}}
    stored["turns"][0]["steps"][0]["check"] = {"arguments": stored["tools"]["pay"]["arguments"]}
    with pytest.raises(Invalid) as refused:
        require_small_enough(load_case(stored))
    assert str(refused.value) == f"tools.pay.arguments./a: value: {message}"


def test_reading_a_stored_test_case_compiles_no_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = dump(case(r"\PL" * 300, "("))
    monkeypatch.setattr(regex.re2, "compile", lambda *_: pytest.fail("compiled"))

    assert dump(load_case(stored)) == stored


def test_a_stored_test_case_with_patterns_over_the_limit_is_still_changed() -> None:
    stored = case(r"\PL" * 300)

    changed = change_case(stored, {"steps": [{"turn": 0, "step": 1, "check": {"enabled": False}}]})
    assert changed.turns[0].steps[1].check.value == r"\PL" * 300

    with pytest.raises(Invalid, match="more than 100 classes"):
        change_case(changed, {"steps": [{"turn": 0, "step": 1, "check": {"value": r"\PL" * 299}}]})


def test_a_pattern_that_many_checks_have_is_counted_once() -> None:
    require_small_enough(case(*[DEAR] * 100))
