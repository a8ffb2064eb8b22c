"""When an answer can't be used as it was asked for."""

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat import Answer, ToolCall
from app.providers.bounds import ELEMENTS_MAX
from app.providers.types import ModelConfig
from app.services.runs.outcome import nok_status

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def status(text, **config):
    return nok_status(Answer(text), ModelConfig(**config))


def test_plain_text_is_always_usable():
    assert status("anything") is None
    assert status("", response_format="text") is None


@pytest.mark.parametrize("text", ["{}", "[1]", '"x"', " null "])
def test_any_json_is_json(text):
    assert status(text, response_format="json_object") is None


@pytest.mark.parametrize("text", ["", "```json\n{}\n```", "{", "NaN", "[" * 100_000])
def test_what_is_not_json_is_nok_with_that_reason(text):
    assert status(text, response_format="json_object").startswith("NOK: the answer is not JSON: ")


def test_json_that_a_stream_brings_in_pieces_is_not_read_beyond_the_bound_of_an_answer():
    most = "[" + "[]," * (ELEMENTS_MAX // 2 - 1) + "[]]"
    assert status(most, response_format="json_object") is None
    for response_format in ("json_object", "json_schema"):
        with mock.patch("app.services.runs.outcome.orjson.loads") as loads:
            over = status(most[:-1] + ",[]]", response_format=response_format, json_schema={})
        assert over == f"NOK: the answer has more than {ELEMENTS_MAX} lists, objects and members"
        assert not loads.called
    assert status(most + ",[]]") is None


def test_a_schema_is_held_and_the_breach_located():
    asked = {"response_format": "json_schema", "json_schema": CITY}
    assert status('{"city": "Oslo"}', **asked) is None
    assert status('{"city": 7}', **asked) == ("NOK: the answer breaks json_schema at $.city: 7 is not of type 'string'")


def test_a_schema_that_is_none_is_reported():
    broken = {"type": "no such type"}
    assert "not a valid JSON Schema" in status("{}", response_format="json_schema", json_schema=broken)


@pytest.mark.parametrize("ref", ["http://127.0.0.1:9/schema", "#/nowhere"])
def test_a_reference_is_never_fetched(ref):
    asked = {"response_format": "json_schema", "json_schema": {"$ref": ref}}
    assert "can't be resolved" in status("{}", **asked)


def test_a_schema_without_end_is_reported():
    asked = {"response_format": "json_schema", "json_schema": {"$ref": "#"}}
    assert "can't be resolved" in status("{}", **asked)


def test_an_answer_that_calls_tools_need_not_be_json():
    answer = Answer("", (ToolCall("1", "find", {}),), finish_reason="tool_calls")
    assert nok_status(answer, ModelConfig(response_format="json_object")) is None


def test_cut_off_or_refused_is_the_first_reason():
    config = ModelConfig(response_format="json_object", max_tokens=5)
    assert nok_status(Answer("{", finish_reason="length"), config) == "NOK: the answer was cut off at max_tokens (5)"
    assert nok_status(Answer("", finish_reason="refused"), config) == "NOK: the model refused to answer"


@given(st.text())
def test_no_text_breaks_the_check(text):
    assert (status(text, response_format="json_schema", json_schema=CITY) or "NOK: ").startswith("NOK: ")


def held(schema, text):
    return status(text, response_format="json_schema", json_schema=schema)


@pytest.mark.parametrize("keyword", ["pattern", "patternProperties", "additionalProperties", "unevaluatedProperties"])
def test_a_hostile_pattern_blocks_no_worker(keyword):
    hostile, long = "(a+)+$", "a" * 5000 + "!"
    by_name = {"type": "object", "patternProperties": {hostile: {}}}
    schemas = {
        "pattern": {"type": "object", "properties": {"x": {"pattern": hostile}}},
        "patternProperties": by_name,
        "additionalProperties": by_name | {"additionalProperties": False},
        "unevaluatedProperties": by_name | {"unevaluatedProperties": False},
    }
    text = f'{{"x": "{long}"}}' if keyword == "pattern" else f'{{"{long}": 1}}'
    breaks = keyword != "patternProperties"
    assert (held(schemas[keyword], text) is not None) == breaks


@pytest.mark.slow
def test_references_that_double_are_given_up():
    doubling = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(40)}
    schema = {"type": "object", "$defs": doubling | {"a40": {}}, "$ref": "#/$defs/a0"}
    assert held(schema, "{}") == "NOK: json_schema needs too many steps to check"


def test_patterns_and_further_names_are_held():
    schema = {
        "type": "object",
        "properties": {"zip": {"pattern": "^[0-9]{4}$"}},
        "patternProperties": {"^n_": {"type": "integer"}},
        "additionalProperties": {"type": "boolean"},
    }
    assert held(schema, '{"zip": "0150", "n_a": 1, "other": true}') is None
    for wrong in ('{"zip": "x"}', '{"n_a": "1"}', '{"other": 1}'):
        assert "breaks json_schema" in held(schema, wrong)


def test_a_pattern_that_cannot_be_bounded_is_not_held_against_the_answer():
    assert held({"type": "object", "properties": {"x": {"pattern": "(?=a)b"}}}, '{"x": "c"}') is None
