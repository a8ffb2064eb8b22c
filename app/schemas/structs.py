"""Answers that describe msgspec's structs, so that a document which is stored is declared once."""

from __future__ import annotations

from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from marshmallow import Schema
from msgspec import UNSET, structs

from app.schemas.answer import Answer, Field, anything, boolean, choice, either, integer, many, mapping, one, text

_answers: dict[Any, type[Schema]] = {}


def answer_of(struct: type[msgspec.Struct], name: str = "") -> type[Schema]:
    """Return the answer with the fields of a struct, called `name` or as the struct; each struct has one."""
    if struct not in _answers:
        config = struct.__struct_config__
        tag = {str(config.tag_field): choice(str(config.tag))} if config.tag_field else {}
        fields = {field.name: _field(field, config.omit_defaults) for field in structs.fields(struct)}
        _answers[struct] = Answer.from_dict({**tag, **fields}, name=name or struct.__name__)
    return _answers[struct]


def _field(field: structs.FieldInfo, omit_defaults: bool) -> Field:
    """Return an optional field for a value which msgspec leaves out where it is the default."""
    if field.default is UNSET or (omit_defaults and not field.required):
        return _described(field.type, required=False)
    return _described(field.type, allow_none=NoneType in get_args(field.type))


def _described(kind: Any, **options: Any) -> Field:
    if get_origin(kind) is Annotated:
        return _described(get_args(kind)[0], **options)
    if get_origin(kind) is Literal:
        return choice(*get_args(kind), **options)
    if get_origin(kind) is tuple:
        return many(_described(get_args(kind)[0]), **options)
    if get_origin(kind) is dict:
        return mapping(_described(get_args(kind)[1]), **options)
    alternatives = [each for each in get_args(kind) if each is not NoneType]
    if len(alternatives) == 1:
        return _described(alternatives[0], **options)
    if alternatives and all(isinstance(each, type) and issubclass(each, msgspec.Struct) for each in alternatives):
        return either(*map(answer_of, alternatives), **options)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return one(answer_of(kind), **options)
    return {str: text, int: integer, bool: boolean}.get(kind, anything)(**options)
