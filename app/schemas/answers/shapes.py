"""Answers that are described but not dumped yet; `app/schemas/answer.py` is what takes their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from marshmallow import Schema

from app.schemas.answer import (
    TIME,
    Answer,
    Either,
    Field,
    anything,
    boolean,
    choice,
    either,
    integer,
    many,
    mapping,
    number,
    one,
    text,
    time,
)

__all__ = [
    "TIME",
    "Either",
    "Field",
    "Shape",
    "anything",
    "boolean",
    "choice",
    "either",
    "integer",
    "many",
    "mapping",
    "number",
    "one",
    "shape",
    "text",
    "time",
]


class Shape(Answer):
    camel_case: ClassVar = False


def shape(name: str, described: Mapping[str, Field], *bases: type[Schema]) -> type[Schema]:
    """A schema called `name`, with the fields of `bases` too."""
    inherited = {key: field for base in bases for key, field in base._declared_fields.items()}
    return Shape.from_dict({**inherited, **described}, name=name)
