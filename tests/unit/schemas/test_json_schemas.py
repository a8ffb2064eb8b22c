"""JSON Schemas that are accepted for a tool's parameters."""

from typing import Any

import pytest
from marshmallow import ValidationError

from app.schemas.json_schemas import JsonSchemaObject

FIELD: Any = JsonSchemaObject()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"a": {"items": [{}]}}},
        {"type": "object", "$defs": {"a": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/a"}}},
        {"type": "object", "properties": {"a": {"prefixItems": [{"type": "string"}], "items": False}}},
        {"type": "object", "properties": {"a": {"type": ["string", "null"], "pattern": "\\p{L}((("}}},
        {"type": "object", "$schema": "https://example.com/unknown", "x-own": {"type": "whatever"}},
        {"type": "object", "properties": {"$ref": {"type": "string"}}, "additionalProperties": False},
    ],
)
def test_schemas_that_tools_really_send_are_kept_unchanged(schema: dict[str, Any]) -> None:
    assert FIELD.deserialize(schema) == schema


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ([], "a JSON object"),
        ({}, '"type": "object"'),
        ({"type": "string"}, '"type": "object"'),
        ({"type": ["object"]}, '"type": "object"'),
        ({"type": "object", "properties": {"a": {"type": "strnig"}}}, "at properties/a/type"),
        ({"type": "object", "properties": {"a": {"prefixItems": {}}}}, "at properties/a/prefixItems"),
        ({"type": "object", "$defs": {"a": {"minLength": -1}}}, "at \\$defs/a/minLength"),
        ({"type": "object", "required": "a"}, "at required"),
        ({"type": "object", "a": [{"b\0": 1}]}, "NUL"),
    ],
)
def test_others_are_refused_saying_where_they_are_wrong(schema: Any, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        FIELD.deserialize(schema)
