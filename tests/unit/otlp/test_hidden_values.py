"""Values that no reader sees are found, in linear work."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from app.otlp.hidden_values import hides_a_value, repeats_a_key
from tests.support.growth import IN_ALL, work_by_function


@pytest.mark.parametrize("text", ['{"a": {"b": 1, "b": 2}}', '[{"a": 1, "\\u0061": 2}]', "{'a': 1}", "[" * 100_000])
def test_a_repeated_key_is_found_and_what_only_a_lenient_reader_accepts(text: str) -> None:
    assert repeats_a_key(text)


@pytest.mark.parametrize("text", ['{"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}', f"[{'9' * 5_000}, NaN]", '["\t"]'])
def test_different_keys_repeat_none(text: str) -> None:
    assert not repeats_a_key(text)


SHAPES: dict[str, Callable[[int], Any]] = {
    "pairs": lambda n: {"kvlistValue": {"values": [{"key": f"k{k}", "value": {"intValue": k}} for k in range(n)]}},
    "entries": lambda n: {"arrayValue": {"values": [{"intValue": k} for k in range(n)]}},
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_twice_the_value_is_about_twice_the_work(shape: Callable[[int], Any]) -> None:
    once, twice = (sum(work_by_function(partial(hides_a_value, shape(n))).values()) for n in (200, 400))
    assert twice <= IN_ALL * once
    assert not hides_a_value(shape(2))


def test_the_json_of_a_repeated_key_is_read_once() -> None:
    text = json.dumps([{f"k{k}": k for k in range(400)}] * 2)
    assert sum(work_by_function(lambda: repeats_a_key(text)).values()) < 2_500
