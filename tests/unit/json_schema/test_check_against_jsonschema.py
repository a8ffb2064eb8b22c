"""The checker agrees with the jsonschema library on every value and schema that both can check."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.json_schema.check import breach_of, schema_breach
from app.values.budget import WorkBudget

pytestmark = pytest.mark.slow

NAMES = st.sampled_from(["a", "b", "ab", "1"])
SCALARS = st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from([0.0, 1.0, 1.5, -0.0]) | NAMES
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
TYPES = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
COUNTS = st.integers(0, 3)


def combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    schemas = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(NAMES, inner, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
            "enum": st.lists(VALUES, max_size=3),
            "const": VALUES,
            **dict.fromkeys(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], st.integers(-2, 3)),
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            **dict.fromkeys(["minLength", "maxLength", "minItems", "maxItems"], COUNTS),
            **dict.fromkeys(["minProperties", "maxProperties"], COUNTS),
            "pattern": st.sampled_from(["a", "^b$"]),
            "uniqueItems": st.booleans(),
            **dict.fromkeys(["items", "not", "if", "then", "else", "propertyNames"], inner),
            **dict.fromkeys(["additionalProperties"], inner),
            "contains": inner,
            "minContains": st.integers(0, 2),
            "maxContains": st.integers(0, 2),
            **dict.fromkeys(["allOf", "anyOf", "oneOf", "prefixItems"], schemas),
            **dict.fromkeys(["properties", "dependentSchemas"], named),
            "patternProperties": st.dictionaries(st.sampled_from(["a", "^b$"]), inner, max_size=2),
            "required": st.lists(NAMES, max_size=2, unique=True),
            "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
            "$ref": st.sampled_from(["#/$defs/one", "#two", "https://example.com/three"]),
        },
    )


SCHEMAS = st.recursive(st.booleans() | st.just({}), combined, max_leaves=6)
DEFINITIONS = {
    "one": {"type": ["integer", "array"]},
    "two": {"$anchor": "two", "minLength": 2},
    "three": {"$id": "https://example.com/three", "required": ["a"], "$defs": {"x": {}}},
}


def breaks(schema: Any, value: Any) -> bool:
    return breach_of(schema, value, WorkBudget(100_000)) is not None


@settings(max_examples=300)
@given(combined(SCHEMAS), VALUES)
def test_it_finds_a_breach_where_the_library_does(schema: dict[str, Any], value: Any) -> None:
    schema = {"$id": "https://example.com/", "$defs": DEFINITIONS} | schema
    assert breaks(schema, value) == (not jsonschema.Draft202012Validator(schema).is_valid(value))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"a": True}, "unevaluatedProperties": False}, {"a": 1}),
        ({"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False}, {"a": 1}),
        ({"anyOf": [{"required": ["b"]}, {"properties": {"a": True}}], "unevaluatedProperties": False}, {"a": 1}),
        ({"if": {"properties": {"a": {"const": 1}}}, "unevaluatedProperties": False}, {"a": 1}),
        ({"if": {"properties": {"a": {"const": 2}}}, "unevaluatedProperties": False}, {"a": 1}),
        ({"patternProperties": {"^a": True}, "unevaluatedProperties": False}, {"a": 1, "b": 2}),
        ({"additionalProperties": True, "unevaluatedProperties": False}, {"a": 1}),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"a": True}}}, "unevaluatedProperties": False}, {"a": 1}),
        ({"unevaluatedProperties": {"type": "string"}}, {"a": 1}),
        ({"prefixItems": [True], "unevaluatedItems": False}, [1]),
        ({"prefixItems": [True], "unevaluatedItems": False}, [1, 2]),
        ({"allOf": [{"prefixItems": [True, True]}], "unevaluatedItems": False}, [1, 2]),
        ({"contains": {"const": 1}, "unevaluatedItems": False}, [1, 1]),
        ({"contains": {"const": 1}, "unevaluatedItems": False}, [1, 2]),
        ({"items": True, "unevaluatedItems": False}, [1, 2]),
    ],
)
def test_unevaluated_means_the_same_as_in_the_library(schema: Any, value: Any) -> None:
    assert breaks(schema, value) == (not jsonschema.Draft202012Validator(schema).is_valid(value))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"items": [{"type": "string"}], "additionalItems": False}, ["a", 1]),
        ({"items": [{"type": "string"}], "additionalItems": {"type": "integer"}}, ["a", 1]),
        ({"dependencies": {"a": ["b"]}}, {"a": 1}),
        ({"dependencies": {"a": {"required": ["b"]}}}, {"a": 1, "b": 1}),
        ({"definitions": {"x": {"$id": "#x", "type": "string"}}, "properties": {"a": {"$ref": "#x"}}}, {"a": 1}),
        ({"properties": {"a": {"$ref": "#/definitions/x", "type": "string"}}, "definitions": {"x": True}}, {"a": 1}),
        ({"properties": {"a%b/~": {}}, "$ref": "#/properties/a%25b~1~0"}, 1),
    ],
)
def test_draft_7_is_known_too(schema: dict[str, Any], value: Any) -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#"} | schema
    assert breaks(schema, value) == (not jsonschema.Draft7Validator(schema).is_valid(value))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, 7),
        ({"type": ["string", "null"]}, [1, {"a": "b"}]),
        ({"enum": [1, "a"]}, "b"),
        ({"const": {"a": 1}}, 2),
        ({"minimum": 3}, 2),
        ({"exclusiveMaximum": 3}, 3),
        ({"multipleOf": 2}, 3),
        ({"minLength": 1}, ""),
        ({"maxLength": 1}, "ab"),
        ({"minItems": 2}, []),
        ({"maxProperties": 0}, {"a": 1}),
        ({"uniqueItems": True}, [1, 1.0]),
        ({"pattern": "^a"}, "b"),
        ({"required": ["a"]}, {}),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}),
        ({"items": {"not": {}}}, [1]),
        ({"anyOf": [{"type": "string"}, {"properties": {"a": {"type": "string"}}}]}, {"a": 1}),
        ({"oneOf": [{"type": "integer"}, {"minimum": 1}]}, 1),
        ({"contains": {"type": "string"}}, [1]),
        ({"items": {"properties": {"a b": {"type": "string"}}}}, [{"a b": 1}]),
    ],
)
def test_it_reports_the_same_words_about_the_same_place(schema: Any, value: Any) -> None:
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(value))
    breach = breach_of(schema, value, WorkBudget(10_000))

    assert breach is not None
    assert (breach.json_path, breach.message()) == (error.json_path, error.message)


@given(combined(SCHEMAS))
def test_a_schema_is_valid_where_the_library_finds_it_so(schema: dict[str, Any]) -> None:
    assert schema_breach(schema, WorkBudget(100_000)) is None
