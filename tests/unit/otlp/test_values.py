"""Attribute values of every kind, and JSON inside them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from app.otlp.values import LazyAttributes, any_value, attributes, integer, raw_value, time_ns
from app.values.json import MAX_DEPTH, json_container, json_or_text, unwrapped_json, valid_utf8

VALUES = [
    ({"stringValue": "text"}, "text"),
    ({"stringValue": ""}, ""),
    ({"stringValue": 5}, "5"),
    ({"intValue": 5}, 5),
    ({"intValue": "5"}, 5),
    ({"intValue": "-9223372036854775808"}, -(2**63)),
    ({"intValue": 1e21}, 1e21),
    ({"intValue": "19876543210987654321"}, "19876543210987654321"),
    ({"intValue": 1e300}, 1e300),
    ({"intValue": "many"}, "many"),
    ({"doubleValue": 0.25}, 0.25),
    ({"doubleValue": 3}, 3),
    ({"doubleValue": "NaN"}, "NaN"),
    ({"doubleValue": "-Infinity"}, "-Infinity"),
    ({"doubleValue": None}, None),
    ({"boolValue": False}, False),
    ({"bytesValue": "AAEC"}, "AAEC"),
    ({"arrayValue": {}}, []),
    (
        {"arrayValue": {"values": [{"intValue": 1}, {}, {"arrayValue": {"values": [{"stringValue": "x"}]}}]}},
        [1, None, ["x"]],
    ),
    ({"arrayValue": None}, None),
    ({"arrayValue": "x"}, []),
    ({"kvlistValue": {}}, {}),
    (
        {"kvlistValue": {"values": [{"key": "k", "value": {"boolValue": True}}, {"key": "none"}, 5]}},
        {"k": True, "none": None},
    ),
    ({"stringValue": None, "intValue": 7}, 7),
    ({"futureValue": 1}, None),
    ({}, None),
    (None, None),
    (5, None),
]


@pytest.mark.parametrize(("value", "read"), VALUES)
def test_a_value_is_read_alike_decoded_or_in_json(value: Any, read: Any) -> None:
    assert any_value(value) == read
    assert raw_value(msgspec.Raw(json.dumps(value).encode())) == read


def test_nesting_beyond_the_limit_is_dropped() -> None:
    value: dict[str, Any] = {"stringValue": "deep"}
    for _ in range(MAX_DEPTH + 1):
        value = {"arrayValue": {"values": [value]}}

    text = json.dumps(any_value(value))

    assert "deep" not in text
    assert text.count("[") == MAX_DEPTH


def test_entries_that_are_none_are_passed_over_and_the_last_of_equal_keys_stays() -> None:
    pairs = [
        5,
        None,
        {"value": {}},
        {"key": 5},
        {"key": "a", "value": {"intValue": 1}},
        {"key": "a", "value": {"intValue": 2}},
    ]

    assert attributes(pairs) == {"a": 2}
    assert attributes({"a": 1}) == {}


def test_lazy_attributes_are_a_mapping() -> None:
    lazy = LazyAttributes({"a": msgspec.Raw(b'{"intValue":1}')})

    assert dict(lazy) == {"a": 1}
    assert (len(lazy), "a" in lazy, "b" in lazy, lazy.get("b", 5)) == (1, True, False, 5)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (5, 5),
        ("5", 5),
        ("1e+21", 10**21),
        (2.0, 2),
        (2.5, None),
        ("x", None),
        (True, None),
        (None, None),
        ("9" * 99, None),
    ],
)
def test_integers(value: Any, number: int | None) -> None:
    assert integer(value) == number


@pytest.mark.parametrize("value", [None, "", "x", [], {}, -1, "-1", float("nan")])
def test_what_is_no_time_is_zero(value: Any) -> None:
    assert time_ns(value) == 0


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ('{"a":1}', {"a": 1}),
        ("18", 18),
        ("null", None),
        ("clear", "clear"),
        ("", ""),
        ('{"a":NaN}', {"a": "NaN"}),
        ('{"a":1e999}', {"a": "1e999"}),
        ("NaN", "NaN"),
        ('{"cut', '{"cut'),
        ('"half \\ud83d"', "half �"),
        (5, 5),
        ({"a": 1}, {"a": 1}),
        ("[" * 100_000, "[" * 100_000),
        ("[" * 70 + "]" * 70, "[" * 70 + "]" * 70),
    ],
)
def test_json_in_a_text_is_its_value_and_anything_else_stays_text(value: Any, read: Any) -> None:
    assert json_or_text(value) == read


def test_many_brackets_that_do_not_nest_are_json() -> None:
    assert json_or_text(json.dumps([[]] * 100)) == [[]] * 100


@pytest.mark.parametrize(
    ("value", "read"), [("[1]", [1]), (" {}", {}), ("5", None), ('"[1]"', [1]), (None, None), ("[", None)]
)
def test_only_lists_and_objects_are_containers(value: Any, read: Any) -> None:
    assert json_container(value) == read


@pytest.mark.parametrize(("value", "read"), [('"[1]"', [1]), ('"1"', "1"), ("[1]", [1]), ("x", "x")])
def test_one_layer_of_quoting_is_taken_off(value: str, read: Any) -> None:
    assert unwrapped_json(value) == read


def test_valid_text_is_not_copied() -> None:
    body = "é".encode()

    assert valid_utf8(body) is body
