"""The API's OpenAPI 3.1 document, made of the routes, of what their responders say, and of the schemas."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from http import HTTPStatus
from typing import Any

import falcon
import orjson
from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from apispec.ext.marshmallow.common import resolve_schema_cls
from marshmallow import Schema

from app import __version__
from app.access import ByKey, Public
from app.api import openapi_fields
from app.api.openapi_headers import ANSWERED, BY_STATUS, EVERY_ANSWER, SENT, WITH_A_KEY
from app.api.operation import Operation, operation, operation_of
from app.http.route_table import Route, RoutedApp
from app.schemas.answer import Answer
from app.schemas.answers.common import Error, TraceError
from app.schemas.answers.shapes import anything, shape
from app.schemas.base import BIGINT_MAX

Json = dict[str, Any]
API = "/api/"
TRACES = "/api/public/otel/"
DESCRIPTION = "Run, render and manage versioned prompts; take in agents' traces and replay them."
ALWAYS, WITH_BODY, WITH_KEY = (400, 500, 503), (413, 415), (401, 403, 429)
Document = shape("Document", {name: anything() for name in ("openapi", "info", "paths", "components", "security")})


class OpenApi:
    """The document at /api/openapi.json, made when it is first asked for: then all routes are known."""

    access = Public({"GET"})

    def __init__(self, app: RoutedApp) -> None:
        self._app = app

    @cached_property
    def document(self) -> Json:
        return build_document(self._app.routes)

    @operation("This document", answers={200: Document})
    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        resp.content_type = falcon.MEDIA_JSON
        resp.data = orjson.dumps(self.document)


def undescribed(routes: Sequence[Route]) -> list[str]:
    """Methods of the API that have no `@operation`."""
    return [
        f"{method} {route.path}"
        for route in _of_api(routes)
        for method, responder in route.responders.items()
        if operation_of(responder) is None
    ]


def build_document(routes: Sequence[Route]) -> Json:
    plugin = MarshmallowPlugin(schema_name_resolver=_namer(routes))
    spec = APISpec(
        title="Reprise",
        version=__version__,
        openapi_version="3.1.0",
        plugins=[plugin],
        info={"description": DESCRIPTION},
        security=[{"apiKey": []}],
    )
    openapi_fields.teach(plugin.converter)
    spec.components.security_scheme("apiKey", {"type": "http", "scheme": "bearer", "bearerFormat": "rp_…"})
    for name, header in ANSWERED.items():
        spec.components.header(name, header)
    for route in _of_api(routes):
        described = {method: operation_of(responder) for method, responder in route.responders.items()}
        operations = {
            method.lower(): _operation(plugin, route, method, about) for method, about in described.items() if about
        }
        if operations:
            spec.path(route.path, operations=operations, parameters=list(_path_parameters(route)))
    return spec.to_dict()


def _namer(routes: Sequence[Route]) -> Callable[[Any], str]:
    """Answers have the name they are given; a request that would have the same is called `…Request`."""
    described = (operation_of(responder) for route in routes for responder in route.responders.values())
    answered = {schema.__name__ for about in described if about for schema in about.answers.values() if schema}

    def name(schema: Any) -> str:
        found = resolve_schema_cls(schema)
        own = str(found.__name__)  # type: ignore[union-attr] # never a list: our schemas have names of their own
        if issubclass(found, Answer):  # type: ignore[arg-type]
            return own
        plain = own.removesuffix("Schema")
        return f"{plain}Request" if plain in answered else plain

    return name


def _of_api(routes: Sequence[Route]) -> Iterator[Route]:
    return (route for route in routes if route.path.startswith(API))


def _path_parameters(route: Route) -> Iterator[Json]:
    whole: Json = {"type": "integer", "minimum": 1, "maximum": BIGINT_MAX}
    for name, converter in route.parameters.items():
        schema = whole if converter == "int" else {"type": "string", "minLength": 1}
        yield {"in": "path", "name": name, "required": True, "schema": schema}


def _operation(plugin: MarshmallowPlugin, route: Route, method: str, about: Operation) -> Json:
    public = isinstance(route.access, Public)
    scope = route.access.scope(method) if isinstance(route.access, ByKey) else None
    words = [inspect.getdoc(type(route.resource)) or "", scope and f"Takes a key with the scope `{scope}`."]
    found: Json = {
        "operationId": f"{method.lower()}{_camel(route.path)}",
        "summary": about.summary,
        "description": "\n\n".join(filter(None, words)),
        "tags": [type(route.resource).__module__.rpartition(".")[2].replace("_", " ").capitalize()],
        "parameters": list(_parameters(plugin, about)),
        "responses": _responses(route, about, public=public),
    }
    if about.body:
        content = {falcon.MEDIA_JSON: {"schema": about.body}}
        found["requestBody"] = {"required": not about.body_optional, "content": content}
    return found | ({"security": []} if public else {})


def _camel(path: str) -> str:
    words = re.findall(r"\w+", path.removeprefix(API))
    return "".join(word.title().replace("_", "") for word in words)


def _parameters(plugin: MarshmallowPlugin, about: Operation) -> Iterator[Json]:
    if about.query:
        converter: Any = plugin.converter
        yield from converter.schema2parameters(about.query, location="query")
    for name in about.headers:
        yield {"in": "header", "name": name, **SENT[name]}


def _responses(route: Route, about: Operation, *, public: bool) -> Json:
    errors = {*ALWAYS, *about.errors} | (set() if public else set(WITH_KEY))
    errors |= set(WITH_BODY) if about.body else set()
    errors |= {404} if route.parameters else set()
    said = TraceError if route.path.startswith(TRACES) else Error
    answers = {str(status): _answer(status, schema, about, public=public) for status, schema in about.answers.items()}
    return answers | {str(status): _answer(status, said, None, public=public) for status in sorted(errors)}


def _answer(status: int, schema: type[Schema] | None, about: Operation | None, *, public: bool) -> Json:
    names = {*EVERY_ANSWER, *BY_STATUS.get(status, ()), *(about.answer_headers if about else ())}
    names |= set() if public or about is None else set(WITH_A_KEY)
    content: Json = {falcon.MEDIA_JSON: {"schema": schema}} if schema else {}
    if about and status == HTTPStatus.OK:
        content |= {media_type: {"schema": {"type": "string"}} for media_type in about.texts}
    headers = {name: {"$ref": f"#/components/headers/{name}"} for name in sorted(names)}
    return {"description": HTTPStatus(status).phrase, "headers": headers} | ({"content": content} if content else {})
