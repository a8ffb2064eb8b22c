"""Makes the OpenAPI 3.1 document of the API from routes, operations and schemas, and a page of this document."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Any, ClassVar

import falcon
import orjson
from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from apispec.ext.marshmallow.common import resolve_schema_cls
from marshmallow import Schema

from app import __version__
from app.api.operation import ApiCall, Operation, operation, operation_of
from app.http.access import ByKey, ByProgramToken, Public
from app.http.route_table import Route, RoutedApp
from app.otlp.answers import PROTOBUF, base_address
from app.schemas.answer import AnswerSchema, Json, anything, integer, text
from app.schemas.base import BIGINT_MAX

API = "/api/"
DESCRIPTION = "Run, render and manage versioned prompts; store and replay agents' traces."
_OF_PROGRAMS = "Requires the token of a replay, where the SDK sends its key."
_SECURITY: Mapping[type, Json] = {Public: {"security": []}, ByProgramToken: {"security": [{"replayToken": []}]}}
ERRORS, BODY_ERRORS, KEY_ERRORS = (400, 500, 503), (413, 415), (401, 403, 429)


def _header(description: str, **schema: Any) -> Json:
    return {"description": description, "schema": {"type": "string"} | schema}


def _count(description: str) -> Json:
    return _header(description, type="integer", minimum=0)


REQUEST_HEADERS = {
    "If-Match": _header("The ETag of the draft to change; 412 if the draft has changed since."),
    "If-None-Match": _header("ETags that the caller has; 304 if the ETag of the answer is one of them."),
    "Idempotency-Key": _header(
        "The same key with the same body within 24 hours returns the same run; with another body 409.",
        minLength=1,
        maxLength=255,
        pattern="^[!-~]+$",
    ),
    "Prefer": _header("`respond-async` answers 202 at once."),
    "Last-Event-ID": _header("The id of the last event that the caller received."),
}
RESPONSE_HEADERS = {
    "Location": _header("The address of the new resource."),
    "ETag": _header("The ETag of the answer, for If-None-Match. A draft's ETag is also for If-Match."),
    "X-Run-Id": _header("The run's id, for GET /api/v1/runs/{run_id}."),
    "X-Request-Id": _header("The request id that the caller sent, or a random one."),
    "RateLimit-Policy": _header("The limits of all requests and of ingest requests, as `q` requests in `w` seconds."),
    "RateLimit-Limit": _count("The limit of requests per minute and key; for ingest requests the limit of ingest."),
    "RateLimit-Remaining": _count("Requests left."),
    "RateLimit-Reset": _count("Seconds until the minute of the rate limit ends."),
    "Retry-After": _count("Seconds to wait before the next try."),
    "WWW-Authenticate": _header("Bearer."),
}
RATE_HEADERS = ("RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
STATUS_HEADERS = {201: ("Location",), 202: ("Location",), 401: ("WWW-Authenticate",), 429: ("Retry-After",)}


class Error(AnswerSchema):
    error = text()


class TraceError(Error):
    message = text()
    code = integer()


class Document(AnswerSchema):
    openapi = anything()
    info = anything()
    paths = anything()
    components = anything()
    security = anything()


@dataclass(frozen=True)
class OpenApi:
    """The document at /api/openapi.json. It is made on the first request, when all routes are known."""

    tag: ClassVar = "Openapi"
    access: ClassVar = Public({"GET"})
    app: RoutedApp

    @cached_property
    def document(self) -> Json:
        return build_document(self.app.routes)

    @cached_property
    def content(self) -> bytes:
        return orjson.dumps(self.document)

    @operation("This document", answers={200: Document})
    def on_get(self, call: ApiCall) -> None:
        call.resp.content_type, call.resp.data = falcon.MEDIA_JSON, self.content


def build_document(routes: Sequence[Route]) -> Json:
    """Return the OpenAPI 3.1 document of the described routes below `API`, with the schemas that they use."""
    plugin = MarshmallowPlugin(schema_name_resolver=_namer(routes))
    spec = APISpec(
        title="Reprise",
        version=__version__,
        openapi_version="3.1.0",
        plugins=[plugin],
        info={"description": DESCRIPTION},
        security=[{"apiKey": []}],
    )
    _describe_fields(plugin.converter)
    spec.components.security_scheme("apiKey", {"type": "http", "scheme": "bearer", "bearerFormat": "rp_…"})
    spec.components.security_scheme("replayToken", {"type": "http", "scheme": "bearer", "bearerFormat": "rpp_…"})
    for name, header in RESPONSE_HEADERS.items():
        spec.components.header(name, header)
    for route in routes:
        described = {name: operation_of(method) for name, method in route.responders.items()}
        operations = {
            name.lower(): _operation(plugin, route, name, about) for name, about in described.items() if about
        }
        if operations and route.path.startswith(API):
            spec.path(route.path, operations=operations, parameters=list(_path_parameters(route)))
    return spec.to_dict()


def _describe_fields(converter: Any) -> None:
    """Make an apispec converter use the attributes `documented` and `alternatives` of fields."""

    def alternatives(field: Any, **_kwargs: Any) -> Json:
        alternatives = getattr(field, "alternatives", ())
        described = [
            alternative if isinstance(alternative, dict) else converter.resolve_nested_schema(alternative)
            for alternative in alternatives
        ]
        return {"anyOf": described} if alternatives else {}

    def documented(field: Any, **_kwargs: Any) -> Json:
        return dict(getattr(field, "documented", {}))

    def pattern(_field: Any, ret: Json, **_kwargs: Any) -> Json:
        r"""Convert a pattern for `re.match` to JSON Schema: anchor it with `^`, and replace `\Z` by `$`."""
        pattern = str(ret.get("pattern", ""))
        return {"pattern": "^" + pattern.removesuffix(r"\Z") + "$"} if pattern.endswith(r"\Z") else {}

    def default(_field: Any, ret: Json, **_kwargs: Any) -> Json:
        """Write a boolean default as text, as in a query string."""
        value = ret.get("default")
        return {"default": str(value).lower()} if isinstance(value, bool) and ret.get("type") == "string" else {}

    # Directly after the type, so that validators can override bounds.
    converter.attribute_functions[1:1] = [documented, alternatives]
    converter.attribute_functions += [pattern, default]


def _namer(routes: Sequence[Route]) -> Callable[[Any], str]:
    """Return a function that names a schema by its class; with `Request` appended if an answer has the same name."""
    described = (operation_of(method) for route in routes for method in route.responders.values())
    answers = [schema for about in described if about for schema in about.answers.values() if schema]
    answered = {_plain_name(kind) for schema in answers for kind in (schema, *getattr(schema, "alternatives", ()))}

    def name(schema: Any) -> str:
        kind: Any = resolve_schema_cls(schema)
        plain = _plain_name(kind)
        return f"{plain}Request" if plain in answered and not issubclass(kind, AnswerSchema) else plain

    return name


def _plain_name(kind: type[Any]) -> str:
    """Return a schema's name without the suffixes that distinguish the classes of one noun."""
    return kind.__name__.removesuffix("AnswerSchema").removesuffix("Schema")


def _path_parameters(route: Route) -> Iterator[Json]:
    whole: Json = {"type": "integer", "minimum": 1, "maximum": BIGINT_MAX}
    for name, converter in route.parameters.items():
        schema = whole if converter == "int" else {"type": "string", "minLength": 1}
        yield {"in": "path", "name": name, "required": True, "schema": schema}


def _operation(plugin: MarshmallowPlugin, route: Route, method: str, about: Operation) -> Json:
    scope = route.access.needed(method) if isinstance(route.access, ByKey) else None
    paragraphs = [
        inspect.cleandoc(vars(type(route.resource)).get("__doc__") or ""),
        scope and f"Requires an API key with the scope `{scope}`.",
        _OF_PROGRAMS if isinstance(route.access, ByProgramToken) else "",
    ]
    described: Json = {
        "operationId": f"{method.lower()}{_camel(route.path)}",
        "summary": about.summary,
        "description": "\n\n".join(filter(None, paragraphs)),
        "tags": [getattr(route.resource, "tag", "")],
        "parameters": list(_parameters(plugin, about)),
        "responses": _responses(route, about),
    }
    if about.body:
        content = _json_of(about.body) | _messages(about)
        described["requestBody"] = {"required": not about.body_optional, "content": content}
    return described | _SECURITY.get(type(route.access), {})


def _camel(path: str) -> str:
    parts = re.findall(r"\w+", path.removeprefix(API))
    return "".join(part.title().replace("_", "") for part in parts)


def _parameters(plugin: MarshmallowPlugin, about: Operation) -> Iterator[Json]:
    if about.query:
        converter: Any = plugin.converter
        yield from converter.schema2parameters(about.query, location="query")
    for name in about.headers:
        yield {"in": "header", "name": name, **REQUEST_HEADERS[name]}


def _responses(route: Route, about: Operation) -> Json:
    public = isinstance(route.access, Public)
    errors = {*ERRORS, *about.errors} | (set() if public else set(KEY_ERRORS))
    errors |= set(BODY_ERRORS) if about.body else set()
    errors |= {404} if route.parameters else set()
    error = Error if base_address(route.path) is None else TraceError
    messages = _messages(about)
    texts = {media_type: {"schema": {"type": "string"}} for media_type in about.texts} | messages
    always = ("X-Request-Id",) if public else ("X-Request-Id", *RATE_HEADERS)
    answers = {
        str(status): _answer(status, schema, {*always, *about.answer_headers}, texts if status == HTTPStatus.OK else {})
        for status, schema in about.answers.items()
    }
    return answers | {str(status): _answer(status, error, {"X-Request-Id"}, messages) for status in sorted(errors)}


def _messages(about: Operation) -> Json:
    """Return the content of an OTLP message in protobuf, if the operation supports protobuf."""
    return {PROTOBUF: {"schema": {"type": "string", "format": "binary"}}} if about.protobuf else {}


def _json_of(schema: type[Schema]) -> Json:
    """Return the JSON content of a schema, or of any of its `alternatives`."""
    alternatives = getattr(schema, "alternatives", ())
    return {falcon.MEDIA_JSON: {"schema": {"anyOf": list(alternatives)} if alternatives else schema}}


def _answer(status: int, schema: type[Schema] | None, headers: set[str], texts: Json) -> Json:
    content: Json = (_json_of(schema) if schema else {}) | texts
    named = {
        name: {"$ref": f"#/components/headers/{name}"} for name in sorted({*headers, *STATUS_HEADERS.get(status, ())})
    }
    return {"description": HTTPStatus(status).phrase, "headers": named} | ({"content": content} if content else {})


@dataclass(frozen=True)
class ApiDocsPage:
    """The document as a page. `page` makes the HTML once."""

    tag: ClassVar = "Docs"
    access: ClassVar = Public({"GET"})
    openapi: OpenApi
    page: Callable[[Mapping[str, Any]], str]

    @cached_property
    def html(self) -> bytes:
        return self.page(self.openapi.document).encode()

    @operation("The document as a page", answers={200: None}, texts=("text/html",))
    def on_get(self, call: ApiCall) -> None:
        call.resp.content_type, call.resp.data = falcon.MEDIA_HTML, self.html
