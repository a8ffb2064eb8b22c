"""Lists and dicts as Python prints them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.values.python_text import CHARACTERS_MAX, python_container, python_string

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS | st.text(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@given(st.lists(VALUES, max_size=3) | st.dictionaries(st.text(), VALUES, max_size=3))
def test_what_python_prints_is_read(value: Any) -> None:
    assert python_container(repr(value)) == json.loads(json.dumps(value))


@given(st.text())
def test_the_literal_of_a_text_is_read(text: str) -> None:
    assert python_string(repr(text)) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[('human', 'Hi'), ('ai',), ()]", [["human", "Hi"], ["ai"], []]),
        ("{'a': 19876543210987654321}", {"a": "19876543210987654321"}),
        ("{'a': nan, 'b': -inf, 'c': inf}", {"a": "NaN", "b": "-Infinity", "c": "Infinity"}),
        (" [ None ,\nTrue ] ", [None, True]),
        ("['it\\'s', \"it's\"]", ["it's", "it's"]),
    ],
)
def test_tuples_and_numbers_that_json_does_not_have_are_read(text: str, value: Any) -> None:
    assert python_container(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", "words", "'a'", "(1, 2)", "5", "[a]", "[1](https://example.com)", "{1}", "{1: 2}", "{'a': b'x'}"),
        *("['\\d']", "['\\U00110000']", "[1,, 2]", "[,]", "{'a'}", "['a' 'b']", "[Message(role='user')]", "['a'"),
        *("[1] 2", "[nano]", "[" * 100_000, "[" * 70 + "]" * 70, "['" + "x" * CHARACTERS_MAX + "']"),
    ],
)
def test_everything_else_is_not_read(text: str) -> None:
    assert python_container(text) is None


@pytest.mark.parametrize("value", [None, 5, ["a"], {"a": 1}])
def test_what_is_no_text_is_not_read(value: Any) -> None:
    assert python_container(value) is None
