"""Valid bodies of requests, made from the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from types import NoneType
from typing import Any

Schema = Mapping[str, Any]
LISTED = ("array", "object")
# What readers of words, lines, numbers, JSON and Markdown like least: a text has a run of each.
UNITS = ("_word", "a ", "\u0301\u0323", "1", "[", '"', "QUJD", "|a")
TYPES = {"array": list, "object": dict, "string": str, "integer": int, "number": float, "null": NoneType}


class Bodies:
    """Makes bodies for the operations of a document.

    A body has the required fields, or the first field if none is required, and all optional lists and maps. A text has
    `size` of each unit, a list and a map have `size` small entries, unless a limit of the document is lower. `values`
    has the values of fields by their names, which are used where their types fit: of fields that name what is stored. A
    field with the value `...` is left out. No two texts are equal, because many names are unique: they are numbered
    from `start`.
    """

    def __init__(self, document: Mapping[str, Any], values: Mapping[str, Any], size: int, start: int = 0) -> None:
        self._schemas = document["components"]["schemas"]
        self._paths = document["paths"]
        self._values = values
        self._size = size
        self._numbers = count(start)

    def of(self, method: str, path: str) -> Any:
        """Return a body, or None for an operation without one."""
        operation = self._paths.get(path, {}).get(method.lower(), {})
        content = operation.get("requestBody", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema")
        return None if schema is None else self._value(schema, "", self._size)

    def _value(self, schema: Schema, name: str, size: int) -> Any:
        schema = self._resolved(schema)
        if name in self._values and _fits(self._values[name], schema):
            return self._values[name]
        if "enum" in schema:
            return schema["enum"][0]
        if choices := schema.get("anyOf") or schema.get("oneOf"):
            return self._value(choices[0], name, size)
        match _kinds(schema)[0]:
            case "object":
                return self._object(schema, size)
            case "array":
                entries = max(schema.get("minItems", 0), min(size, schema.get("maxItems", size)))
                return [self._value(schema.get("items", {}), "", 1) for _ in range(entries)]
            case "string":
                more = 0 if "pattern" in schema else size - 1
                text = f"text_{next(self._numbers):06}" + "".join(unit * more for unit in UNITS)
                return text[: schema.get("maxLength", len(text))]
            case "integer" | "number":
                return schema.get("minimum", 1)
            case _:
                return True

    def _resolved(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            schema = self._schemas[schema["$ref"].rpartition("/")[2]]
        return schema

    def _object(self, schema: Schema, size: int) -> dict[str, Any]:
        properties: dict[str, Schema] = schema.get("properties", {})
        required = schema.get("required") or list(properties)[:1]
        body = {
            name: self._value(inner, name, size)
            for name, inner in properties.items()
            if self._values.get(name) is not ...
            and (name in required or name in self._values or _kinds(self._resolved(inner))[0] in LISTED)
        }
        values = schema.get("additionalProperties")
        if isinstance(values, Mapping) and not properties:
            entries = min(size, schema.get("maxProperties", size))
            body = {f"key_{number}": self._value(values, "", 1) for number in range(entries)}
        return body


def _kinds(schema: Schema) -> list[str]:
    kind = schema.get("type", "")
    return [kind] if isinstance(kind, str) else kind


def _fits(value: object, schema: Schema) -> bool:
    """Return whether the value suits the schema: different fields may have the same name."""
    if "enum" in schema:
        return value in schema["enum"]
    is_short = not isinstance(value, str) or len(value) <= schema.get("maxLength", len(value))
    return is_short and type(value) in [TYPES.get(kind) for kind in _kinds(schema)]
