"""JSON Schemas that callers send: the parameters of tools, and the formats of answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from marshmallow import ValidationError, fields

from app.json_schema.check import schema_breach
from app.values.budget import OverBudget, WorkBudget

MAX_DEPTH = 64
# Counts objects, arrays, keys and scalars. Vendors accept far fewer: OpenAI 5,000 properties, Anthropic less.
MAX_VALUES = 20_000
# Twice the steps that checking a valid schema of this size needs.
SCHEMA_STEPS_MAX = 200_000


class JsonSchemaObject(fields.Field[dict[str, Any]]):
    """A valid JSON Schema of the type object, as a dict."""

    documented: ClassVar = {
        "type": "object",
        "properties": {"type": {"const": "object"}},
        "required": ["type"],
        "description": f"A JSON Schema of at most {MAX_VALUES} values and keys, at most {MAX_DEPTH} levels deep.",
    }

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValidationError("Must be a JSON Schema, a JSON object.")
        check_size(value, MAX_VALUES)
        check_values(value)
        if value.get("type") != "object":
            raise ValidationError('Must be a JSON Schema with "type": "object".')
        _check_schema(value)
        return value


def _check_schema(value: dict[str, Any]) -> None:
    try:
        breach = schema_breach(value, WorkBudget(SCHEMA_STEPS_MAX))
    except OverBudget:
        raise ValidationError("Needs too many steps to check.") from None
    if breach:
        where = "/".join(map(str, breach.path)) or "the top"
        raise ValidationError(f"Is not a valid JSON Schema, at {where[:200]}: {breach.message()}")


def check_size(value: Any, maximum: int) -> None:
    """Raise `ValidationError` for more than `maximum` values and keys. The value itself counts, too."""
    count, to_do = 1, [value]
    while to_do:
        inside = list(_inside(to_do.pop()))
        count += len(inside)
        if count > maximum:
            raise ValidationError(f"Must not have more than {maximum} values and keys.")
        to_do += [part for part in inside if isinstance(part, dict | list)]


def check_values(value: Any) -> None:
    """Raise `ValidationError` for a NUL in a text, and for more levels than all readers of the value can handle."""
    level = [value]
    for _ in range(MAX_DEPTH):
        if any(isinstance(part, str) and "\0" in part for part in level):
            raise ValidationError("Must not contain a NUL character.")
        level = [inner for part in level for inner in _inside(part)]
        if not level:
            return
    raise ValidationError(f"Must not be nested deeper than {MAX_DEPTH} levels.")


def _inside(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.keys()
        yield from value.values()
    elif isinstance(value, list):
        yield from value
