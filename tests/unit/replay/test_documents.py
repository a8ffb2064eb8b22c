from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Invalid
from app.replay.case_types import CaseTurn, Check, CheckedAnswer, CheckedCall, TestCase
from app.replay.cases import load_case
from app.replay.documents import dump

texts = st.text(max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=3,
)
checks = st.builds(
    Check,
    st.just(True),
    st.sampled_from(["exact", "subset", "ignore"]),
    st.sampled_from(["strict", "ai", "manual"]),
    st.none() | texts,
    st.lists(st.sampled_from(["", "/a", "/~1/*"]), max_size=2).map(tuple),
)
steps = st.builds(
    CheckedCall,
    name=texts,
    arguments=values,
    result=values,
    error=st.none() | texts,
    span_id=texts,
    check=checks,
) | st.builds(CheckedAnswer, text=texts, span_id=texts, check=checks)
turns = st.builds(
    CaseTurn,
    user=st.none() | texts,
    steps=st.lists(steps, min_size=1, max_size=3).map(tuple),
    placeholders=st.none() | st.dictionaries(texts, texts, max_size=2),
    offered_tools=st.none() | st.lists(texts | st.builds(lambda name: {"name": name}, texts), max_size=2).map(tuple),
    prompt_version=st.none() | texts,
    trace_id=texts,
)
cases = st.builds(
    TestCase,
    turns=st.lists(turns, min_size=1, max_size=3).map(tuple),
    order=st.sampled_from(["any", "in_order"]),
    history=st.sampled_from(["replayed", "recorded"]),
    on_missing=st.sampled_from(["stop", "error"]),
    included_turns=st.sampled_from([None, 1]),
    assertion_type=st.sampled_from([None, "STRICT", "AI", "MANUAL"]),
    assertion_value=st.none() | texts,
)

WRITTEN = {
    "order": "any",
    "history": "replayed",
    "onMissing": "stop",
    "judge": "never",
    "includedTurns": None,
    "assertionType": None,
    "assertionValue": None,
    "tools": {"f": {"never": True, "arguments": {"/a": "any"}}},
    "turns": [
        {
            "traceId": "t1",
            "promptVersion": None,
            "placeholders": {"tone": "formal"},
            "offeredTools": ["f", {"name": "g"}],
            "user": "Hi",
            "steps": [
                {
                    "kind": "tool_call",
                    "spanId": "s1",
                    "name": "f",
                    "arguments": {"a": 1},
                    "result": [1],
                    "error": None,
                    "batch": "s0",
                    "check": {
                        "enabled": True,
                        "arguments": "exact",
                        "answer": "strict",
                        "value": None,
                        "ignorePaths": ["/a"],
                    },
                },
                {
                    "kind": "answer",
                    "spanId": "",
                    "text": "Hello",
                    "check": {
                        "enabled": True,
                        "arguments": "exact",
                        "answer": "ai",
                        "value": "is polite",
                        "ignorePaths": [],
                    },
                },
            ],
        }
    ],
}


@given(cases)
def test_every_case_comes_back_from_json_as_it_was(case: TestCase) -> None:
    assert load_case(json.loads(json.dumps(dump(case)))) == case


def test_a_file_of_a_case_is_stable_to_the_byte() -> None:
    assert json.dumps(dump(load_case(copy.deepcopy(WRITTEN)))) == json.dumps(WRITTEN)


def test_only_turns_are_needed() -> None:
    case = load_case({"turns": [{"user": "Hi", "steps": [{"kind": "answer", "text": "Hello"}]}]})

    assert case == TestCase(turns=(CaseTurn(user="Hi", steps=(CheckedAnswer(text="Hello"),)),))


def altered(value: Any, *path: Any) -> Any:
    case: Any = copy.deepcopy(WRITTEN)
    at = case
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return case


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([], "body: must be an object"),
        ({}, "turns: is required"),
        ({"turns": []}, "turns: no included turn has an answer or a tool call"),
        (altered(1, "id"), "id: unknown field"),
        (altered(1, "x - at `$.turns[7].user[...]"), ""),
        (altered("x", "order"), "order: must be one of effects, any, in_order"),
        (altered(2, "includedTurns"), "includedTurns: must be a whole number from 1 to 1"),
        (altered("ai", "assertionType"), "assertionType: must be one of STRICT, AI, MANUAL"),
        (altered(5, "turns", 0), "turns.0: must be an object"),
        (altered(5, "turns", 0, "user"), "turns.0.user: must be a string"),
        (altered({"tone": None}, "turns", 0, "placeholders"), "turns.0.placeholders.tone: must be a string"),
        (altered([], "turns", 0, "placeholders"), "turns.0.placeholders: must be an object"),
        (altered([{}], "turns", 0, "offeredTools"), "turns.0.offeredTools.0.name: must be a string"),
        (altered("tool", "turns", 0, "steps", 0, "kind"), "turns.0.steps.0.kind: must be one of"),
        (altered("x", "turns", 0, "steps", 0, "text"), "turns.0.steps.0.text: unknown field"),
        (altered("x", "turns", 0, "steps", 1, "name"), "turns.0.steps.1.name: unknown field"),
        (
            altered("x", "turns", 0, "steps", 1, "check", "answer"),
            "turns.0.steps.1.check.answer: must be one of",
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_path(raw: Any, message: str) -> None:
    with pytest.raises(Invalid) as refused:
        load_case(raw)
    assert str(refused.value).startswith(message)
