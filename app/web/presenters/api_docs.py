"""The OpenAPI document for readers: operations by subject, and the types of fields as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

Json = Mapping[str, Any]
METHODS = ("get", "post", "put", "patch", "delete")
_REFERENCE = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Type:
    """A type as text. `shape` is the name of the schema that it links to, or ""."""

    text: str
    shape: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a member of a schema. `location` is path, query or header; "" for members."""

    name: str
    type: Type
    required: bool
    location: str = ""
    description: str = ""


def api_docs(document: Json) -> SimpleNamespace:
    """Return the values of `api_docs.html`. Operations keep the structure of the OpenAPI document."""
    subjects: dict[str, list[SimpleNamespace]] = {}
    for path, methods in document["paths"].items():
        for method in (name for name in METHODS if name in methods):
            parameters = [*methods.get("parameters", ()), *methods[method].get("parameters", ())]
            operation = _operation(methods[method], method=method.upper(), path=path, parameters=parameters)
            subjects.setdefault(operation.tags[0], []).append(operation)
    return SimpleNamespace(
        version=document["info"]["version"],
        description=document["info"]["description"],
        subjects=sorted(subjects.items()),
        shapes=[(name, _members(schema)) for name, schema in sorted(document["components"]["schemas"].items())],
    )


def _operation(operation: dict[str, Any], *, method: str, path: str, parameters: list[Json]) -> SimpleNamespace:
    responses = operation["responses"]
    shown = {
        "method": method,
        "path": path,
        "parameters": [_parameter(parameter) for parameter in parameters],
        "body": _content_type(operation.get("requestBody", {})),
        "answers": [
            (code, response["description"], _content_type(response))
            for code, response in responses.items()
            if code < "400"
        ],
        "errors": ", ".join(code for code in responses if code >= "400"),
    }
    return SimpleNamespace(**operation | shown)


def _parameter(parameter: Json) -> Field:
    return Field(
        parameter["name"],
        _type(parameter["schema"]),
        parameter.get("required", False),
        parameter["in"],
        parameter.get("description", ""),
    )


def _content_type(described: Json) -> Type:
    """Return the type of a body or an answer. Its text is "" without content."""
    content = described.get("content", {})
    types = [_type(body["schema"]) for body in content.values() if "$ref" in body["schema"]]
    others = [media_type for media_type, body in content.items() if "$ref" not in body["schema"]]
    if types:
        return Type(" or ".join([types[0].text, *others]), types[0].shape)
    return Type(" or ".join(others))


def _members(schema: Json) -> list[Field]:
    required = schema.get("required", ())
    return [Field(name, _type(member), name in required) for name, member in schema.get("properties", {}).items()]


def _type(schema: Json) -> Type:
    if reference := schema.get("$ref"):
        name = str(reference).removeprefix(_REFERENCE)
        return Type(name, name)
    if alternatives := schema.get("anyOf"):
        types = [_type(alternative) for alternative in alternatives]
        return Type(
            " or ".join(alternative.text for alternative in types),
            next((alternative.shape for alternative in types if alternative.shape), ""),
        )
    if "items" in schema:
        inner = _type(schema["items"])
        null = " or null" if "null" in schema.get("type", ()) else ""
        return Type(f"list of {inner.text}{null}", inner.shape)
    names = schema.get("type", "any JSON value")
    return Type((" or ".join(names) if isinstance(names, list) else str(names)) + _bounds(schema))


def _bounds(schema: Json) -> str:
    if "enum" in schema:
        return ": " + ", ".join("null" if value is None else str(value) for value in schema["enum"])
    low = schema.get("minLength", schema.get("minimum"))
    high = schema.get("maxLength", schema.get("maximum"))
    unit = " characters" if "minLength" in schema or "maxLength" in schema else ""
    if low is not None and high is not None:
        return f", {low} to {high}{unit}"
    return f", at most {high}{unit}" if high is not None else f", at least {low}{unit}" if low is not None else ""
