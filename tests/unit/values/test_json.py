from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.values import json as values_json
from app.values.json import (
    INTEGER_MAX,
    INTEGER_MIN,
    MAX_DEPTH,
    count_marks,
    is_json,
    json_container,
    json_length,
    json_or_text,
    may_be_deep,
    too_deep,
    unwrapped_json,
)
from app.values.storable import decode_json
from tests.support.operations import calls_of

VALUES = st.recursive(
    st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


def elements(value: Any) -> int:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(elements, members))


@given(VALUES)
def test_json_has_at_most_one_element_more_than_brackets_and_commas(value: Any) -> None:
    text = json.dumps(value)

    assert elements(value) <= count_marks(text) + 1
    assert count_marks(text.encode()) == count_marks(text)


@given(st.recursive(st.integers(), lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner)))
def test_integers_beyond_64_bits_keep_their_digits(value: Any) -> None:
    def exact(inner: Any) -> Any:
        if isinstance(inner, list):
            return [*map(exact, inner)]
        if isinstance(inner, dict):
            return {key: exact(member) for key, member in inner.items()}
        return inner if INTEGER_MIN <= inner <= INTEGER_MAX else str(inner)

    assert json_or_text(json.dumps([value])) == exact([value])


@pytest.mark.parametrize("digits", ["19876543210987654321", "19876543210987654322", "-9223372036854775809", "1" * 5000])
@pytest.mark.parametrize("before", range(7))
def test_a_long_number_is_exact_at_any_place_of_a_text(digits: str, before: int) -> None:
    text = f'{{"{"k" * before}": {digits}}}'

    assert json_or_text(text) == {"k" * before: digits}
    assert json_or_text(text) == decode_json(text)


def test_a_number_of_64_bits_and_the_digits_of_a_text_are_not_changed() -> None:
    value = {"a": 2**64 - 1, "b": -(2**63), "c": "19876543210987654321", "d": 0.1}

    assert json_or_text(json.dumps(value)) == value
    assert json_or_text(json.dumps(value)[:-1] + ', "e": "\\ud83d"}') == value | {"e": "\N{REPLACEMENT CHARACTER}"}


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("text", ['{{"a": {}, "b": "NaN"}}', '[{{"a": {}, "b": "NaN"}}]', ' {{"b":"NaN","a":\n{}}} '])
def test_numbers_that_json_does_not_have_become_words(word: str, text: str) -> None:
    value = json_container(text.format(word))

    assert (value[0] if isinstance(value, list) else value) == {"a": word, "b": "NaN"}


@pytest.mark.parametrize("text", ["NaN", "[NaN", "{NaN: 1}", "[nan]", "[+Infinity]", "nothing", "[1", "[" * 100_000])
def test_other_texts_with_such_words_stay_texts(text: str) -> None:
    assert json_or_text(text) == text


@pytest.mark.parametrize("times", [1, 2, 3])
def test_lists_and_objects_are_decoded_as_often_as_they_were_encoded(times: int) -> None:
    text: Any = {"role": "user"}
    for _ in range(times):
        text = json.dumps(text)

    assert json_container(text) == unwrapped_json(text) == {"role": "user"}


@pytest.mark.parametrize("text", ['"a" b', '"a', "a", '"[1"', "5", '"5"'])
def test_texts_and_numbers_are_no_containers(text: str) -> None:
    assert json_container(text) is None
    assert unwrapped_json(text) == json_or_text(text)


@pytest.mark.parametrize("text", ["Paris is sunny", " (1)", "Infinity", "\u00a0x"])
def test_a_text_that_begins_like_no_json_is_not_parsed(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values_json, "parse_exact_json", lambda _: pytest.fail("the text was parsed"))

    assert json_or_text(text) == text


@pytest.mark.parametrize("text", [' "a"', "\n-1", "0", "true", "null", "[1]", "\t{}"])
def test_a_text_with_space_before_its_json_is_parsed(text: str) -> None:
    assert json_or_text(text) == json.loads(text)


@pytest.mark.parametrize("text", ['[{"a": "}"}]', '{"a": "[[["}', "[1.5e3, null, true]"])
def test_json_that_needs_no_repair_is_known_without_making_its_values(text: str) -> None:
    assert is_json(text)
    assert not any(map(is_json, (text[:-1], f"{text}]", f"x{text}", str(json.loads(text)))))


@pytest.mark.parametrize("brackets", ["[", "{", "[{"])
@pytest.mark.parametrize("count", [0, 1, MAX_DEPTH // 2, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 5 * MAX_DEPTH])
def test_a_text_may_be_deep_if_it_has_as_many_brackets_as_the_levels_that_are_kept(brackets: str, count: int) -> None:
    text = f"words {brackets}, " * (count // len(brackets))

    assert may_be_deep(text) == (len(brackets) * (count // len(brackets)) >= MAX_DEPTH)


@pytest.mark.parametrize(
    "value", [{"a": [1, -2.5, True, None, {}], "é": "\n" * 100_000}, [], "", 0, ["x" * 70_000, {"b": [[]] * 9}]]
)
def test_the_length_of_json_is_measured_in_pieces(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    exact, written = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()), []
    dumps = json.dumps

    def noted(part: Any, **options: Any) -> str:
        written.append(len(part))
        return dumps(part, **options)

    monkeypatch.setattr(json, "dumps", noted)
    assert abs(json_length(value) - exact) <= exact // 10 + 5
    assert max(written, default=0) <= 64 * 1024


def test_the_length_of_deep_json_and_of_half_a_pair_is_measured() -> None:
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    assert json_length(deep) >= 10_000
    assert json_length("\ud800") == 3


@pytest.mark.parametrize("value", [[{}] * 10_000, {str(n): [] for n in range(10_000)}, [[1]] * 10_000])
def test_the_depth_of_many_small_values_needs_no_call_for_each(value: Any) -> None:
    assert calls_of(lambda: too_deep(value)) < 40_000


@pytest.mark.parametrize(("depth", "is_too_deep"), [(MAX_DEPTH, False), (MAX_DEPTH + 1, True)])
def test_a_value_may_have_so_many_levels(depth: int, is_too_deep: bool) -> None:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    assert too_deep(value) is is_too_deep
