"""Placeholders of prompts, and selections of their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from marshmallow import ValidationError, fields, validate

from app.rendering.render import Placeholder, PlaceholderValue
from app.schemas.answer import AnswerSchema, many, mapping, text
from app.schemas.base import BoundedList, StrictBoolean, StrictSchema, Text

MAX_PLACEHOLDERS = 100
MAX_VALUES = 100
# Unknown keys are ignored, so callers may send the keys of many prompts at once.
MAX_SELECTIONS = 1_000
PLACEHOLDER_KEY = validate.Regexp(r"[A-Za-z0-9_]{1,64}\Z", error="Must be 1 to 64 letters, digits or underscores.")


class PlaceholderValueSchema(StrictSchema):
    command: ClassVar = PlaceholderValue

    name = Text(required=True, minimum=1, maximum=255)
    content = Text(required=True)
    is_default = StrictBoolean(load_default=False)


def _values_differ(values: Sequence[PlaceholderValue]) -> None:
    if twice := repeated(value.name for value in values):
        raise ValidationError(f"More than one value has the name {twice!r}.")
    if sum(value.is_default for value in values) > 1:
        raise ValidationError("At most one value may be the default.")


class PlaceholderSchema(StrictSchema):
    command: ClassVar = Placeholder

    key = fields.String(required=True, validate=PLACEHOLDER_KEY)
    description = Text(maximum=500, load_default="")
    values = BoundedList(
        fields.Nested(PlaceholderValueSchema),
        minimum=1,
        maximum=MAX_VALUES,
        into=tuple,
        required=True,
        validate=_values_differ,
    )


def _keys_differ(placeholders: Sequence[Placeholder]) -> None:
    if twice := repeated(placeholder.key for placeholder in placeholders):
        raise ValidationError(f"More than one placeholder has the key {twice!r}.")


class Placeholders(BoundedList):
    """All placeholders of a prompt. Their keys differ."""

    def __init__(self) -> None:
        super().__init__(fields.Nested(PlaceholderSchema), maximum=MAX_PLACEHOLDERS, into=tuple, validate=_keys_differ)


class Selections(fields.Field[dict[str, str]]):
    """The name of the selected value for each key: {"tone": "formal"}."""

    documented: ClassVar = {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "maxProperties": MAX_SELECTIONS,
    }

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> dict[str, str]:
        if not isinstance(value, dict):
            raise ValidationError("Must be a JSON object: each placeholder's key to the name of a value.")
        if len(value) > MAX_SELECTIONS:
            raise ValidationError(f"Must have at most {MAX_SELECTIONS} keys.")
        for key, name in value.items():
            if not isinstance(name, str):
                raise ValidationError({key: ["Must be a string, the name of a value."]})
            if "\0" in key or "\0" in name:
                raise ValidationError("Must not contain a NUL character.")
        return value


class PlaceholdersUsed(AnswerSchema):
    resolved = mapping(text(allow_none=True))
    ignored = many(text())


def repeated(names: Iterable[str]) -> str | None:
    """Return a name that occurs more than once; None if all differ."""
    return next((name for name, count in Counter(names).items() if count > 1), None)
