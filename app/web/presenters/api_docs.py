"""The API's OpenAPI document as people read it: operations by subject, and the shapes they speak of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]
METHODS = ("get", "post", "put", "patch", "delete")
_REFERENCE = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Kind:
    """A type in words; `shape` names the one it leads to, "" when it leads to none."""

    words: str
    shape: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """A parameter or a field; `place` is path, query or header, "" for fields."""

    name: str
    kind: Kind
    required: bool
    place: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    status: str
    words: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Described:
    anchor: str
    method: str
    path: str
    summary: str
    about: tuple[str, ...]
    items: tuple[Item, ...]
    body: Kind
    answers: tuple[Answer, ...]
    errors: str


@dataclass(frozen=True, slots=True)
class Subject:
    name: str
    operations: tuple[Described, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    name: str
    fields: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class ApiDocs:
    version: str
    lead: str
    subjects: tuple[Subject, ...]
    shapes: tuple[Shape, ...]


def api_docs(document: Json) -> ApiDocs:
    by_subject: dict[str, list[Described]] = {}
    for path, described in document["paths"].items():
        for method in METHODS:
            if operation := described.get(method):
                one = _operation(method, path, operation, described.get("parameters", ()))
                by_subject.setdefault(operation["tags"][0], []).append(one)
    schemas = sorted(document["components"]["schemas"].items())
    return ApiDocs(
        version=document["info"]["version"],
        lead=document["info"]["description"],
        subjects=tuple(Subject(name, tuple(found)) for name, found in sorted(by_subject.items())),
        shapes=tuple(Shape(name, _fields(schema)) for name, schema in schemas),
    )


def _operation(method: str, path: str, operation: Json, of_path: Any) -> Described:
    answers = operation["responses"].items()
    return Described(
        anchor=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        about=tuple(operation["description"].split("\n\n")),
        items=tuple(_parameter(one) for one in [*of_path, *operation.get("parameters", ())]),
        body=_content(operation.get("requestBody", {})),
        answers=tuple(Answer(status, one["description"], _content(one)) for status, one in answers if status < "400"),
        errors=", ".join(status for status, _ in answers if status >= "400"),
    )


def _parameter(one: Json) -> Item:
    return Item(one["name"], _kind(one["schema"]), one.get("required", False), one["in"], one.get("description", ""))


def _content(described: Json) -> Kind:
    """Of a body or an answer; its words are "" when it has none."""
    content = described.get("content", {})
    kinds = [_kind(one["schema"]) for one in content.values() if "$ref" in one["schema"]]
    others = [media_type for media_type, one in content.items() if "$ref" not in one["schema"]]
    if kinds:
        return Kind(" or ".join([kinds[0].words, *others]), kinds[0].shape)
    return Kind(" or ".join(others))


def _fields(schema: Json) -> tuple[Item, ...]:
    required = schema.get("required", ())
    return tuple(Item(name, _kind(one), name in required) for name, one in schema.get("properties", {}).items())


def _kind(schema: Json) -> Kind:
    if reference := schema.get("$ref"):
        name = str(reference).removeprefix(_REFERENCE)
        return Kind(name, name)
    if alternatives := schema.get("anyOf"):
        kinds = [_kind(one) for one in alternatives]
        return Kind(" or ".join(one.words for one in kinds), next((one.shape for one in kinds if one.shape), ""))
    if "items" in schema:
        inner = _kind(schema["items"])
        null = " or null" if "null" in schema.get("type", ()) else ""
        return Kind(f"list of {inner.words}{null}", inner.shape)
    types = schema.get("type", "any JSON value")
    words = " or ".join(types) if isinstance(types, list) else str(types)
    return Kind(words + _bounds(schema))


def _bounds(schema: Json) -> str:
    if "enum" in schema:
        return ": " + ", ".join("null" if one is None else str(one) for one in schema["enum"])
    low = schema.get("minLength", schema.get("minimum"))
    high = schema.get("maxLength", schema.get("maximum"))
    unit = " characters" if "minLength" in schema or "maxLength" in schema else ""
    if low is not None and high is not None:
        return f", {low} to {high}{unit}"
    return f", at most {high}{unit}" if high is not None else f", at least {low}{unit}" if low is not None else ""
