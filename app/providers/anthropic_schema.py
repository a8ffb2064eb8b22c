"""The JSON Schemas that Anthropic's structured outputs accept.

Source: https://docs.claude.com/en/docs/build-with-claude/structured-outputs, "JSON Schema limitations".
"""

from __future__ import annotations

import json
from typing import Any

_KEPT = frozenset(
    {
        "$defs",
        "$ref",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "default",
        "definitions",
        "description",
        "enum",
        "items",
        "properties",
        "required",
        "title",
        "type",
    }
)
_FORMATS = frozenset({"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid"})
_NAMED = frozenset({"$defs", "definitions", "properties"})
_LISTS = frozenset({"allOf", "anyOf"})


def supported(schema: Any) -> Any:
    """Return a schema that the API accepts.

    A keyword that it refuses becomes a sentence of the description, so that the model reads it. Objects have no
    further properties. The answer is held to the schema itself when it is stored.
    """
    if not isinstance(schema, dict):
        return schema
    schema = {("anyOf" if key == "oneOf" else key): value for key, value in schema.items()}
    kept = {key: _inner(key, value) for key, value in schema.items() if _is_kept(key, value)}
    left_out = {key: value for key, value in schema.items() if key not in kept and not key.startswith("$")}
    if schema.get("type") == "object" or "properties" in schema:
        left_out.pop("additionalProperties", None)
        kept["additionalProperties"] = False
    if left_out:
        words = ", ".join(f"{key}: {json.dumps(value)}" for key, value in left_out.items())
        description = str(kept.get("description") or "")
        kept["description"] = "\n\n".join(filter(None, (description, f"({words})")))
    return kept


def _is_kept(key: str, value: Any) -> bool:
    if key == "format":
        return isinstance(value, str) and value in _FORMATS
    if key == "minItems":
        return value in (0, 1)
    return key in _KEPT and not (key == "additionalProperties" and value is not False)


def _inner(key: str, value: Any) -> Any:
    if key in _NAMED and isinstance(value, dict):
        return {name: supported(inner) for name, inner in value.items()}
    if key in _LISTS and isinstance(value, list):
        return [supported(inner) for inner in value]
    return supported(value) if key == "items" else value
