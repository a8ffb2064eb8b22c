from __future__ import annotations

from typing import Any

import pytest

from app.errors import Invalid
from app.replay.case_types import Check
from app.replay.cases import case_by_hand, case_from_turns
from app.replay.changes import merge_check
from app.replay.patterns import NewPatterns
from app.sessions.types import Step, Turn


def merge(changes: Any, check: Check | None = None) -> Check:
    return merge_check(check or Check(), changes, "steps.0.check", NewPatterns())


@pytest.mark.parametrize(
    ("assertion", "recorded", "by_hand"),
    [("STRICT", "meaning", "strict"), ("AI", "ai", "ai"), ("MANUAL", "manual", "manual")],
)
def test_the_prompt_s_assertion_type_sets_the_default(assertion: Any, recorded: Any, by_hand: Any) -> None:
    session = [Turn("t", 0, 1, "Hi", (Step("answer", "s", text="Hello"),))]

    assert case_from_turns(session, assertion).turns[0].steps[0].check == Check(True, "exact", recorded)
    assert case_by_hand("Hi", "Hello", assertion).turns[0].steps[0].check == Check(True, "exact", by_hand)


def test_only_the_keys_named_are_replaced() -> None:
    before = Check(False, "subset", "contains", "x", ("/a",))

    assert merge({}, before) == before
    assert merge({"enabled": True}, before) == Check(True, "subset", "contains", "x", ("/a",))
    assert merge({"ignorePaths": []}, before) == Check(False, "subset", "contains", "x", ())
    assert merge({"value": None}, before) == Check(False, "subset", "contains", None, ("/a",))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answers": "strict"}, "steps.0.check.answers: unknown field"),
        ({"enabled": "false"}, "steps.0.check.enabled: must be true or false"),
        ({"enabled": 1}, "steps.0.check.enabled: must be true or false"),
        ({"arguments": "strict"}, "steps.0.check.arguments: must be one of exact, subset, ignore"),
        (
            {"answer": None},
            "steps.0.check.answer: must be one of strict, meaning, facts, contains, regex, json_subset, ai, manual, "
            "ignore",
        ),
        ({"answer": ["ai"]}, "steps.0.check.answer: must be one of"),
        ({"ignorePaths": "/a"}, "steps.0.check.ignorePaths: must be a list"),
        ({"ignorePaths": ["/a", 1]}, "steps.0.check.ignorePaths.1: must be a string"),
        ({"ignorePaths": ["a"]}, "steps.0.check.ignorePaths.0: a JSON pointer is empty or begins with /"),
        ({"ignorePaths": ["/a"] * 101}, "steps.0.check.ignorePaths: at most 100"),
        ({"answer": "regex"}, "steps.0.check.value: is required, the regular expression to find"),
        ({"answer": "regex", "value": "("}, "steps.0.check.value: missing ): ("),
        ({"answer": "regex", "value": r"(a)\1"}, "steps.0.check.value: invalid escape sequence"),
        ({"answer": "regex", "value": "(?=a)"}, "steps.0.check.value: invalid perl operator"),
        ({"answer": "regex", "value": "((a{1000}){1000}){1000}"}, "steps.0.check.value: "),
        ({"answer": "regex", "value": "a" * 1_001}, "steps.0.check.value: is longer than 1000 characters"),
        ({"answer": "regex", "value": "\ud800"}, "steps.0.check.value: "),
        ({"answer": "regex", "value": 7}, "steps.0.check.value: must be a string"),
        ({"answer": "contains", "value": " \n"}, "steps.0.check.value: every answer contains the empty text"),
        ({"answer": "json_subset", "value": "{a"}, "steps.0.check.value: must be JSON"),
        ({"value": {"a": 1}}, "steps.0.check.value: must be a string"),
        ({"answer": "ai", "value": 1}, "steps.0.check.value: must be a string"),
    ],
)
def test_what_is_wrong_is_named_by_its_path(changes: Any, message: str) -> None:
    with pytest.raises(Invalid) as refused:
        merge(changes)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    "changes",
    [
        {"answer": "regex", "value": r"^\d+$"},
        {"answer": "json_subset", "value": {"a": [1]}},
        {"answer": "json_subset", "value": '{"a": [1]}'},
        {"answer": "json_subset"},
        {"answer": "contains", "value": "Rome"},
        {"answer": "ai", "value": "is polite"},
        {"answer": "manual"},
    ],
)
def test_what_is_right_is_taken(changes: dict[str, Any]) -> None:
    assert merge(changes).answer == changes["answer"]
    assert merge(changes).value == changes.get("value")
