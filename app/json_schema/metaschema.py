"""The schema of schemas: draft 7 with the keywords that 2019-09 and 2020-12 added, since both dialects are in use."""

from __future__ import annotations

from typing import Any

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
