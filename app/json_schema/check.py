"""Checks a value against a JSON Schema, and a schema against the schema of schemas."""

from __future__ import annotations

from typing import Any

from app.json_schema.checker import Breach, Checker, best_match
from app.json_schema.keywords import KEYWORDS
from app.meter import Meter

Json = dict[str, Any]

_SCHEMA: Json = {"$ref": "#"}
_SCHEMAS: Json = {"type": "array", "minItems": 1, "items": _SCHEMA}
_NAMED_SCHEMAS: Json = {"type": "object", "additionalProperties": _SCHEMA}
_TEXT: Json = {"type": "string"}
_TEXTS: Json = {"type": "array", "items": _TEXT, "uniqueItems": True}
_FLAG: Json = {"type": "boolean"}
_NUMBER: Json = {"type": "number"}
_COUNT: Json = {"type": "integer", "minimum": 0}
_LIST: Json = {"type": "array"}
_TYPE: Json = {"enum": ["array", "boolean", "integer", "null", "number", "object", "string"]}


def _each(form: Json, names: str) -> Json:
    return dict.fromkeys(names.split(), form)


METASCHEMA: Json = {
    "type": ["object", "boolean"],
    "properties": {
        **_each(_TEXT, "$id $schema $ref $recursiveRef $anchor $dynamicRef $dynamicAnchor $comment title description"),
        **_each(_TEXT, "pattern format contentMediaType contentEncoding"),
        **_each(_FLAG, "readOnly uniqueItems"),
        **_each(_NUMBER, "maximum exclusiveMaximum minimum exclusiveMinimum"),
        **_each(_COUNT, "maxLength minLength maxItems minItems maxProperties minProperties minContains maxContains"),
        **_each(_LIST, "enum examples"),
        **_each(_SCHEMA, "additionalItems additionalProperties contains propertyNames if then else not"),
        **_each(_SCHEMA, "unevaluatedItems unevaluatedProperties"),
        **_each(_SCHEMAS, "allOf anyOf oneOf prefixItems"),
        **_each(_NAMED_SCHEMAS, "definitions $defs properties patternProperties dependentSchemas"),
        "dependencies": {"type": "object", "additionalProperties": {"anyOf": [_SCHEMA, _TEXTS]}},
        "dependentRequired": {"type": "object", "additionalProperties": _TEXTS},
        "items": {"anyOf": [_SCHEMA, _SCHEMAS]},
        "multipleOf": _NUMBER | {"exclusiveMinimum": 0},
        "required": _TEXTS,
        "type": {"anyOf": [_TYPE, {"type": "array", "items": _TYPE, "minItems": 1, "uniqueItems": True}]},
    },
}


# About half a second of processor time at worst, and an answer of a megabyte at ordinary schemas.
STEPS_MAX = 400_000


def breach_of(schema: Any, value: Any, meter: Meter) -> Breach | None:
    """The most relevant breach; None for a valid value.

    Raises `TooMuch` when the meter's budget is used up, `Unresolvable` for a reference that leads nowhere and
    RecursionError for one that leads to itself.
    """
    return best_match(Checker(schema, meter, KEYWORDS).check(schema, value))


def schema_breach(schema: Any, meter: Meter) -> Breach | None:
    """The most relevant breach of a value that is no JSON Schema; raises `TooMuch`."""
    return breach_of(METASCHEMA, schema, meter)
