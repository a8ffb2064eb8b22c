"""Texts and keys of JSON values get the form NFC."""

from __future__ import annotations

from typing import Any
from unicodedata import normalize

from hypothesis import given
from hypothesis import strategies as st

from app.values.composed import composed

texts = st.text("aeé\u0301ń1", max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
)


def expected(value: Any) -> Any:
    if isinstance(value, str):
        return normalize("NFC", value)
    if isinstance(value, list):
        return [*map(expected, value)]
    if isinstance(value, dict):
        keys = [normalize("NFC", key) for key in value]
        named = zip(keys if len({*keys}) == len(keys) else value, value.values(), strict=True)
        return {key: expected(inner) for key, inner in named}
    return value


@given(values)
def test_each_text_and_key_is_composed(value: Any) -> None:
    assert composed(value) == expected(value)


@given(values)
def test_what_is_composed_is_returned_itself(value: Any) -> None:
    once = expected(value)

    assert composed(once) is once or {*map(str, _keys(once))} != {normalize("NFC", key) for key in _keys(once)}


def test_values_may_nest_deeply() -> None:
    value: Any = "e\u0301"
    for _ in range(5_000):
        value = [value]
    result = composed(value)
    for _ in range(5_000):
        result = result[0]

    assert result == "é"


def _keys(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(key for inner in value.values() for key in _keys(inner))]
    return [key for inner in value for key in _keys(inner)] if isinstance(value, list) else []
