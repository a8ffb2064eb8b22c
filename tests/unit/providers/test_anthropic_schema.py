"""JSON Schemas as Anthropic's structured outputs accept them."""

from hypothesis import given
from hypothesis import strategies as st

from app.providers.anthropic_schema import supported


def test_what_the_api_refuses_becomes_words():
    schema = {
        "type": "object",
        "properties": {
            "age": {"type": "integer", "minimum": 0, "description": "In years."},
            "mail": {"type": "string", "format": "email"},
            "code": {"type": "string", "format": "postcode", "maxLength": 5},
            "tags": {"type": "array", "items": {"type": "object"}, "minItems": 1, "maxItems": 9},
        },
        "required": ["age"],
        "additionalProperties": True,
    }
    assert supported(schema) == {
        "type": "object",
        "properties": {
            "age": {"type": "integer", "description": "In years.\n\n(minimum: 0)"},
            "mail": {"type": "string", "format": "email"},
            "code": {"type": "string", "description": '(format: "postcode", maxLength: 5)'},
            "tags": {
                "type": "array",
                "items": {"type": "object", "additionalProperties": False},
                "minItems": 1,
                "description": "(maxItems: 9)",
            },
        },
        "required": ["age"],
        "additionalProperties": False,
    }


def test_alternatives_and_definitions_are_kept():
    schema = {
        "$defs": {"a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/a"}}}},
        "oneOf": [{"$ref": "#/$defs/a"}, {"type": "null"}],
    }
    inner = {"type": "object", "properties": {"b": {"$ref": "#/$defs/a"}}, "additionalProperties": False}
    assert supported(schema) == {"$defs": {"a": inner}, "anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}


KEYS = st.sampled_from(["type", "anyOf", "items", "properties", "format", "description", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
)


@given(JSON)
def test_a_schema_that_is_accepted_stays_so(schema):
    once = supported(schema)
    assert supported(once) == once
