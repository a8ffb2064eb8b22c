"""JSON Schemas that callers send: a tool's parameters, an answer's shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from jsonschema import Draft7Validator
from jsonschema.exceptions import best_match
from marshmallow import ValidationError, fields

MAX_DEPTH = 64


def _metaschema() -> dict[str, Any]:
    """Draft 7 with the keywords that 2020-12 added: both dialects are in use, and 2020-12's own takes 5 times as long.

    Without its id, so that `#` means this one.
    """
    draft7: dict[str, Any] = {key: value for key, value in Draft7Validator.META_SCHEMA.items() if key != "$id"}
    one, many = {"$ref": "#"}, {"$ref": "#/definitions/schemaArray"}
    added = {
        "$defs": {"type": "object", "additionalProperties": one},
        "dependentSchemas": {"type": "object", "additionalProperties": one},
        "prefixItems": many,
        "unevaluatedItems": one,
        "unevaluatedProperties": one,
    }
    return draft7 | {"properties": draft7["properties"] | added}


# No format checker: a pattern may be of a regular expression dialect that Python does not know.
_VALIDATOR = Draft7Validator(_metaschema())


class JsonSchemaObject(fields.Field[dict[str, Any]]):
    """A valid JSON Schema of type object, as a dict."""

    documented: ClassVar = {
        "type": "object",
        "properties": {"type": {"const": "object"}},
        "required": ["type"],
    }

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValidationError("Must be a JSON Schema, a JSON object.")
        check_values(value)
        if value.get("type") != "object":
            raise ValidationError('Must be a JSON Schema with "type": "object".')
        if error := best_match(_VALIDATOR.iter_errors(value)):
            where = "/".join(str(part) for part in error.absolute_path) or "the top"
            raise ValidationError(f"Is not a valid JSON Schema, at {where[:200]}: {error.message[:200]}")
        return value


def check_values(value: Any) -> None:
    """No NUL in any text, and no deeper than what every reader of it can walk."""
    level = [value]
    for _ in range(MAX_DEPTH):
        if any(isinstance(each, str) and "\0" in each for each in level):
            raise ValidationError("Must not contain a NUL character.")
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return
    raise ValidationError(f"Must not be nested deeper than {MAX_DEPTH} levels.")


def _inside(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.keys()
        yield from value.values()
    elif isinstance(value, list):
        yield from value
