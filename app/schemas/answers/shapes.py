"""The words that answers are described with; fields are always there unless they say otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import RAISE, Schema, fields, validate

Field = fields.Field[Any]
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"


class Shape(Schema):
    """An answer has the fields that it names and no others."""

    class Meta:
        unknown = RAISE


def shape(name: str, described: Mapping[str, Field], *bases: type[Schema]) -> type[Schema]:
    """A schema called `name`, with the fields of `bases` too."""
    inherited = {key: field for base in bases for key, field in base._declared_fields.items()}
    return Shape.from_dict({**inherited, **described}, name=name)


def text(**options: Any) -> Field:
    return fields.String(**_required(options))


def choice(*words: str, **options: Any) -> Field:
    return fields.String(validate=validate.OneOf(words), **_required(options))


def integer(**options: Any) -> Field:
    return fields.Integer(**_required(options))


def number(**options: Any) -> Field:
    return fields.Float(**_required(options))


def boolean(**options: Any) -> Field:
    return fields.Boolean(**_required(options))


def time(**options: Any) -> Field:
    """ISO 8601 UTC with milliseconds and `Z`."""
    return fields.DateTime(metadata={"pattern": TIME}, **_required(options))


def anything(**options: Any) -> Field:
    return fields.Raw(**_required(options))


def many(inner: Field | type[Schema], **options: Any) -> Field:
    return fields.List(fields.Nested(inner) if isinstance(inner, type) else inner, **_required(options))


def mapping(inner: Field | None = None, **options: Any) -> Field:
    """An object with keys of the caller's."""
    return fields.Dict(keys=fields.String(), values=inner, **_required(options))


def one(inner: type[Schema], **options: Any) -> Field:
    return fields.Nested(inner, **_required(options))


def either(*alternatives: type[Schema], **options: Any) -> Field:
    return Either(alternatives, **_required(options))


class Either(fields.Field[Any]):
    """One of several shapes."""

    def __init__(self, alternatives: tuple[type[Schema], ...], **options: Any) -> None:
        super().__init__(**options)
        self.alternatives = alternatives


def _required(options: dict[str, Any]) -> dict[str, Any]:
    return {"required": True} | options
