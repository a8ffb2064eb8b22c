from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from app.replay.fingerprints import leaves, similarity
from app.replay.json_differences import differences, equal, ignored_paths
from app.replay.result_types import Difference
from app.values.json_pointer import parse_pointer
from app.values.unicode import nfc

# A replay compares values in the form NFC: see app/values/composed.py.
texts = st.text(max_size=4).map(nfc)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def diff(expected: Any, actual: Any, *, subset: bool = False, ignore: tuple[str, ...] = ()) -> list[Difference]:
    return list(differences(expected, actual, subset=subset, ignored=[ignored_paths(ignore)]))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (1, 1.0),
        (0, -0.0),
        (math.nan, math.nan),
        ([], []),
        ({"é\x00": "\ud800"}, {"é\x00": "\ud800"}),
        (10**400, 10**400),
    ],
)
def test_the_same_json_value_is_equal_however_it_is_written(left: Any, right: Any) -> None:
    assert equal(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [(1, True), (0, False), (0.0, False), ("1", 1), (None, False), ([], {}), ([], None), ({}, ""), ([1], {"0": 1})],
)
def test_different_json_values_are_not_equal(left: Any, right: Any) -> None:
    assert not equal(left, right)
    assert not equal(right, left)


def test_differences_come_in_document_order_with_both_sides() -> None:
    expected = {"city": "Rome", "days": [1, 2], "gone": None}
    actual = {"city": "Oslo", "days": [1, 3, 4], "new": {"x": 1}}

    assert diff(expected, actual) == [
        Difference("/city", "Rome", "Oslo"),
        Difference("/days/1", 2, 3),
        Difference("/days/2", UNSET, 4),
        Difference("/gone", None, UNSET),
        Difference("/new", UNSET, {"x": 1}),
    ]


def test_pointers_escape_tildes_and_slashes() -> None:
    [found] = diff({"a/b~c": {"": 1}}, {"a/b~c": {"": 2}})

    assert found.path == "/a~1b~0c/"
    assert parse_pointer(found.path) == ("a/b~c", "")


@pytest.mark.parametrize("pointer", ["a", "a/b", "/~", "/a~2", "/~~"])
def test_what_is_no_pointer_is_refused(pointer: str) -> None:
    with pytest.raises(ValueError, match="JSON pointer"):
        parse_pointer(pointer)


def test_tilde_zero_one_is_a_tilde_and_a_one() -> None:
    assert parse_pointer("/~01") == ("~1",)


def test_ignored_paths_are_left_out_with_all_below_them() -> None:
    expected = {"id": 1, "at": {"day": 1, "hour": 2}, "rows": [{"id": 1, "n": 1}, {"id": 2, "n": 2}]}
    actual = {"id": 9, "at": 7, "rows": [{"id": 8, "n": 1}, {"id": 9, "n": 3}]}

    assert diff(expected, actual, ignore=("/id", "/at", "/rows/*/id")) == [Difference("/rows/1/n", 2, 3)]
    assert diff(expected, actual, ignore=("",)) == []


def test_an_ignored_path_may_be_missing_on_one_side() -> None:
    assert diff({"a": 1, "id": 1}, {"a": 1}, ignore=("/id",)) == []
    assert diff({"a": [1]}, {"a": [1, 2]}, ignore=("/a/1",)) == []


def test_a_star_names_places_and_not_keys() -> None:
    assert diff({"a": {"k": 1}}, {"a": {"k": 2}}, ignore=("/a/*",)) != []
    assert diff({"a": {"*": 1}}, {"a": {"*": 2}}, ignore=("/a/*",)) == []


def test_a_subset_may_have_more_keys_but_no_other_places() -> None:
    assert diff({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}, "d": 3}, subset=True) == []
    assert diff({}, {"a": 1}, subset=True) == []
    assert diff({"a": [{}]}, {"a": [{"b": 1}]}, subset=True) == []
    assert diff({"a": [1]}, {"a": [1, 2]}, subset=True) == [Difference("/a/1", UNSET, 2)]
    assert diff({"a": 1}, {}, subset=True) == [Difference("/a", 1, UNSET)]


def test_depth_and_length_are_no_matter() -> None:
    def nested(leaf: int) -> Any:
        value: Any = leaf
        for _ in range(5_000):
            value = [value]
        return value

    assert not equal(nested(1), nested(2))
    assert equal(nested(1), nested(1))
    assert not equal("é" * 200_000, "é" * 199_999 + "e")


@given(json_values)
def test_a_value_equals_itself_after_a_round_trip(value: Any) -> None:
    copy = json.loads(json.dumps(value))
    assert equal(value, copy)
    assert diff(value, copy, subset=True) == []


@given(json_values, json_values)
def test_equality_goes_both_ways_and_agrees_with_the_leaves(left: Any, right: Any) -> None:
    assert equal(left, right) == equal(right, left) == (leaves(left) == leaves(right))
    assert (similarity(leaves(left), leaves(right)) == 1) == equal(left, right)


@given(json_values, json_values)
def test_ignoring_every_path_found_leaves_no_difference(left: Any, right: Any) -> None:
    assert diff(left, right, ignore=tuple(found.path for found in diff(left, right))) == []
