"""Schemas of answers: a class names the fields of its JSON. It dumps objects and describes them in OpenAPI.

    class ApiKey(Answer):
        row = fields_of(api_keys.ApiKey, "id", "last_four", "expires_at")  # types come from its dataclass
        scopes = many(choice("read", "write"), get=lambda key: sorted(key.scopes))

    dump(ApiKey, key)  # {"id": 1, "lastFour": "9fQ2", "expiresAt": None, "scopes": ["read"]}

A field is read from the attribute of its name, from the path in `attribute` (`attribute="head.id"`), or by calling
`get` with the object. Its key is its name in camel case, or `data_key`. A field is in every answer unless it has
`required=False`; such a field is left out when its value is `marshmallow.missing`, and, without `allow_none`, when it
is None. A dict is already JSON and is returned unchanged.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import cache
from operator import attrgetter
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import msgspec
from marshmallow import RAISE, Schema, fields, missing, validate
from marshmallow.schema import SchemaMeta
from msgspec import NODEFAULT, UNSET, UnsetType, structs

from app.timestamps import iso

Json = dict[str, Any]
Field = fields.Field[Any]
Dump = Callable[[Any], Any]
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"


class FieldGroup(fields.Field[Any]):
    """A placeholder for several fields, which are read from the attribute `path`; see `part` and `fields_of`."""

    def __init__(self, members: Mapping[str, Field], path: str, stored: bool) -> None:
        super().__init__()
        self.stored = stored
        self.members = members
        self.path = path

    def expand(self) -> list[tuple[str, Field]]:
        return [(name, self._moved(name, field)) for name, field in self.members.items()]

    def _moved(self, name: str, field: Field) -> Field:
        moved = copy.copy(field)
        path = ".".join(filter(None, (self.path, field.metadata.get("of"))))
        moved.metadata = {**field.metadata, "of": path, "stored": self.stored}
        moved.attribute = field.attribute or name
        return moved


class CamelCaseMeta(SchemaMeta):
    """Gives each field a key in camel case, unless its class has `camel_case = False`, and expands each group."""

    @classmethod
    def get_declared_fields(
        mcs,  # noqa: N804 - a metaclass
        klass: Any,
        cls_fields: list[tuple[str, Field]],
        inherited_fields: list[tuple[str, Field]],
        dict_cls: type[dict[str, Field]] = dict,
    ) -> dict[str, Field]:
        own_fields = [
            pair
            for name, field in cls_fields
            for pair in (field.expand() if isinstance(field, FieldGroup) else [(name, field)])
        ]
        for name, field in own_fields:
            if field.data_key is None and klass.camel_case:
                field.data_key = camel_case(name)
        return super().get_declared_fields(klass, own_fields, inherited_fields, dict_cls)


def camel_case(name: str) -> str:
    """`created_at` becomes `createdAt`, `from_` becomes `from`."""
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name.rstrip("_"))


class AnswerSchema(Schema, metaclass=CamelCaseMeta):
    """The base of answers. An answer has only the fields that its class names."""

    class Meta:
        unknown = RAISE

    camel_case: ClassVar = True


def _field(kind: type[Field], **metadata: Any) -> Callable[..., Field]:
    """Return a function that makes fields of this kind. It accepts marshmallow's options and `get`."""
    return lambda **options: kind(**_options(options, **metadata))


text = _field(fields.String)
integer = _field(fields.Integer)
number = _field(fields.Float)
boolean = _field(fields.Boolean)
anything = _field(fields.Raw)
# An aware datetime, as ISO 8601 UTC with milliseconds and `Z`.
time = _field(fields.DateTime, pattern=TIME)


def choice(*values: str, **options: Any) -> Field:
    """Return a field that has one of these texts."""
    return fields.String(validate=validate.OneOf(values), **_options(options))


def many(inner: Field | type[Schema], **options: Any) -> Field:
    """Return a field with a list of values, or of objects of a schema."""
    return fields.List(fields.Nested(inner) if isinstance(inner, type) else inner, **_options(options))


def mapping(inner: Field | None = None, **options: Any) -> Field:
    """Return a field for an object with keys chosen by callers; its values are already JSON."""
    return fields.Dict(keys=fields.String(), values=inner, **_options(options))


def one(inner: type[Schema], **options: Any) -> Field:
    """Return a field with one object of a schema."""
    return fields.Nested(inner, **_options(options))


def part(schema: type[Schema], path: str, *, stored: bool = False) -> Field:
    """Include the fields of `schema`, read from the attribute `path`. If `stored`, that attribute is already JSON."""
    return FieldGroup(schema._declared_fields, path, stored)


def fields_of(kind: type, *names: str, path: str = "") -> Field:
    """Include the named fields of a dataclass or struct: of the dumped object, or of its attribute `path`."""
    hints = get_type_hints(kind)
    members = {name: _described(hints[name], allow_none=NoneType in get_args(hints[name])) for name in names}
    return FieldGroup(members, path, stored=False)


def listing(key: str, entry: type[Schema] | Field, *, name: str = "", paged: bool = False) -> type[Schema]:
    """Return the answer for a list of entries, or a `Page` of them if `paged`. It is named `name`, or by `key`."""
    listed = many(entry, attribute="entries") if paged else many(entry, get=itself)
    cursor = {"next_cursor": text(allow_none=True)} if paged else {}
    return AnswerSchema.from_dict({key: listed, **cursor}, name=name or key.title().replace("_", ""))


class Either(fields.Field[Any]):
    """One of several answers. If `types` is given, the type of the object selects the answer."""

    def __init__(self, alternatives: tuple[type[Schema], ...], types: Mapping[type, type[Schema]], **options: Any):
        super().__init__(**options)
        self.alternatives = alternatives
        self.types = types


def either(*alternatives: type[Schema], by_type: Mapping[type, type[Schema]] | None = None, **options: Any) -> Field:
    """Return a field with several schemas: `alternatives` for objects that are already JSON, else `by_type`."""
    types = by_type or {}
    return Either((*alternatives, *types.values()), types, **_options(options))


def itself(value: Any) -> Any:
    """Return the object unchanged: the `get` of a field that has the whole object as its value, such as a list."""
    return value


def _options(options: Json, **metadata: Any) -> Json:
    options = {"required": True} | options
    if "get" in options:
        metadata["get"] = options.pop("get")
    return options | {"metadata": metadata}


def dump(schema: type[Schema], value: Any) -> Json:
    """Return the JSON of `value` with the fields of `schema`."""
    dumped: Json = dumper(schema)(value)
    return dumped


@cache
def dumper(schema: type[Schema]) -> Dump:
    """Return the function that dumps objects by `schema`."""
    declared = schema._declared_fields.items()
    reads = [(field.data_key or name, _read(name, field)) for name, field in declared]
    optional = (
        {}
        if not issubclass(schema, AnswerSchema)
        else {
            field.data_key or name: (missing,) if field.allow_none else (missing, None)
            for name, field in declared
            if not field.required
        }
    )

    def dump_fields(value: Any) -> Any:
        if value.__class__ is dict:
            return value
        dumped = {key: read(value) for key, read in reads}
        for key, absent in optional.items():
            if dumped[key] in absent:
                del dumped[key]
        return dumped

    return dump_fields


def _read(name: str, field: Field) -> Dump:
    """Return the function that reads a field's JSON from an object."""
    of, get = field.metadata.get("of"), field.metadata.get("get")
    owner = attrgetter(of) if of else itself
    if field.metadata.get("stored"):
        key = field.data_key
        return lambda value: owner(value)[key]
    if get is None:
        read: Dump = attrgetter(".".join(filter(None, (of, field.attribute or name))))
    elif of:
        read = lambda value: get(owner(value))  # noqa: E731
    else:
        read = get
    convert = _converter(field)
    if convert is None:
        return read
    return lambda value: None if (inner := read(value)) is None else convert(inner)


def _converter(field: Field) -> Dump | None:
    """Return the function that converts a field's value to JSON; None where the value is already JSON."""
    if isinstance(field, fields.List):
        convert = _converter(field.inner)
        return convert and (lambda values: [convert(value) for value in values])
    if isinstance(field, fields.DateTime):
        return iso
    if isinstance(field, fields.Nested):
        return dumper(field.nested)  # type: ignore[arg-type] # never a name or an instance with us
    if isinstance(field, Either) and field.types:
        dumpers = {kind: dumper(schema) for kind, schema in field.types.items()}
        return lambda value: dumpers[type(value)](value)
    return None


_answers: dict[Any, type[Schema]] = {}


def answer_of(struct: type[msgspec.Struct], name: str = "") -> type[Schema]:
    """Return the answer with the fields of a struct. Its name is `name` or the struct's; it is made once per struct."""
    if struct not in _answers:
        config = struct.__struct_config__
        tag = {str(config.tag_field): choice(str(config.tag))} if config.tag_field else {}
        members = {field.name: _member(field, config.omit_defaults) for field in structs.fields(struct)}
        _answers[struct] = AnswerSchema.from_dict({**tag, **members}, name=name or struct.__name__)
    return _answers[struct]


def _member(field: structs.FieldInfo, omit_defaults: bool) -> Field:
    """Return the field of a struct's member. It is optional if msgspec omits its default: a value or an empty dict."""
    has_default = field.default is not NODEFAULT or field.default_factory is dict
    if field.default is UNSET or (omit_defaults and has_default):
        return _described(field.type, required=False)
    return _described(field.type, allow_none=NoneType in get_args(field.type))


def _described(kind: Any, **options: Any) -> Field:
    if get_origin(kind) is Annotated:
        return _described(get_args(kind)[0], **options)
    if get_origin(kind) is Literal:
        return choice(*get_args(kind), **options)
    if get_origin(kind) in (list, tuple):
        return many(_described(get_args(kind)[0]), **options)
    if get_origin(kind) is dict:
        return mapping(_described(get_args(kind)[1]), **options)
    alternatives = [alternative for alternative in get_args(kind) if alternative not in (NoneType, UnsetType)]
    if len(alternatives) == 1:
        return _described(alternatives[0], **options)
    if alternatives and all(
        isinstance(alternative, type) and issubclass(alternative, msgspec.Struct) for alternative in alternatives
    ):
        return either(*map(answer_of, alternatives), **options)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return choice(*kind, **options)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return one(answer_of(kind), **options)
    kinds = {str: text, int: integer, float: number, bool: boolean, datetime: time}
    return kinds.get(kind, anything)(**options)
