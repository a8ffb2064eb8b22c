"""Resources of the API, and operations with a description of their requests and answers.

    class Projects(Resource, tag="Projects", GET="admin", POST="admin"):
        @operation("Make a project", body=ProjectSchema, answers={201: Project}, location="/api/v1/projects/{id}")
        def on_post(self, key: ApiKey, command: Command) -> ProjectRow: ...

The method declares the arguments that it needs: `key`, the caller's API key; `command`, loaded by the schema of `body`
or `query`; `call` (an `ApiCall`), if it reads headers or its answer is not JSON; and parameters of the path. The schema
of the first status in `answers` dumps the returned object. An `ApiReply` chooses another status. A method that returns
None answers without a body, or has answered through its `call`.

`app/api/routes.py` registers the `Responder` of each method with Falcon.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar, Literal, TypeVar

import falcon
import orjson
from marshmallow import Schema

from app.api.kept_answers import ANSWERED, KeepableAnswer, KeptRoute
from app.http.access import Access, ByKey, Scope
from app.http.bodies import read_capped, read_json
from app.http.middleware import route_of
from app.http.route_table import Route
from app.schemas.answer import Dump, dumper
from app.schemas.base import load
from app.wiring.container import Container

Method = TypeVar("Method", bound=Callable[..., Any])
Answers = Mapping[int, type[Schema] | None]
# A schema without a `command` loads to keyword arguments for the service's method.
Command = dict[str, Any]
Limit = Literal["json", "run", "traces", "import"]
Limits = Mapping[Limit, int]


@dataclass(frozen=True, slots=True)
class Operation:
    """The description of a method, used by the OpenAPI document and the method's `Responder`.

    - `answers`: the schema of each success status; None for an answer without a body.
    - `errors`: error statuses in addition to the common ones of this kind of operation.
    - `headers`, `answer_headers`: names in `app/api/openapi.py`. With "If-None-Match" in `headers`, a caller that has
      the answer gets 304. With "ETag" in `answer_headers`, the answer has an ETag; it begins with the result's `etag`.
    - `location`: the address of the new resource, with path parameters and answer fields in braces.
    - `limit`: the name of the limit for the body's bytes.
    - `texts`: media types of 200 other than JSON: CSV, a page, a stream of events.
    - `kept`: the answer may be sent again while the result's `source` is current (`app/api/kept_answers.py`).
    - `protobuf`: the request may be an OTLP message in protobuf; then the answer is protobuf, too.
    """

    summary: str
    answers: Answers
    body: type[Schema] | None = None
    body_optional: bool = False
    limit: Limit = "json"
    query: type[Schema] | None = None
    headers: tuple[str, ...] = ()
    location: str = ""
    answer_headers: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()
    kept: bool = False
    protobuf: bool = False


def operation(summary: str, **described: Any) -> Callable[[Method], Method]:
    """Describe a method with the fields of `Operation`."""
    about = Operation(summary, **described)

    def describe(method: Method) -> Method:
        vars(method)["operation"] = about
        return method

    return describe


def operation_of(method: object) -> Operation | None:
    """Return the description that `@operation` gave a method; None for a method without one."""
    return getattr(method, "operation", None)


def kept_routes(routes: Iterable[Route]) -> dict[str, KeptRoute]:
    """Return the routes of the operations with `kept`, one for each method."""
    return {
        method: KeptRoute.of(route.path, route.access.methods[method])
        for route in routes
        for method, responder in route.responders.items()
        if isinstance(route.access, ByKey) and (about := operation_of(responder)) and about.kept
    }


@dataclass(frozen=True, slots=True)
class ApiReply:
    """A result with one of several success statuses. `location` replaces the operation's."""

    status: int
    result: Any
    location: str = ""


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A request and its answer, for methods that need more than key, command and path."""

    req: falcon.Request
    resp: falcon.Response
    body_bytes: int

    @property
    def epoch(self) -> bytes:
        """The epoch of the key's project when the request came."""
        epoch: bytes = self.req.context.epoch
        return epoch

    @property
    def if_match(self) -> frozenset[str] | None:
        """The drafts, or "*", one of which must be the present draft. None if the caller requests no check.

        Only the beginning of a strong ETag names the draft. The rest changes with a commit, too.
        """
        tags = self.req.if_match
        if tags is None:
            return None
        return frozenset(str(tag).partition(".")[0] for tag in tags if not getattr(tag, "is_weak", False))

    def read_bytes(self) -> bytes:
        """Return the body's bytes, within the operation's limit."""
        return read_capped(self.req, self.body_bytes)

    def read_json(self) -> Any:
        """Return the body as JSON, within the operation's limit."""
        return read_json(self.req, self.body_bytes)


class Resource:
    """The base of the API's resources. Keywords of the class name the API key scope that each HTTP method requires.

    `tag` is the resource's group in the OpenAPI document, by default the noun of its module.
    """

    access: ClassVar[Access]
    tag: ClassVar[str]

    def __init_subclass__(cls, tag: str = "", **scopes: Scope) -> None:
        cls.access = vars(cls).get("access", ByKey(scopes))
        cls.tag = tag or cls.__module__.rpartition(".")[2].capitalize()

    def __init__(self, container: Container) -> None:
        self.container = container
        self.services = container.services


class Responder:
    """Falcon's responder for a method: parses the request, calls the method, dumps its result."""

    def __init__(self, method: Callable[..., Any], about: Operation, limits: Limits) -> None:
        self._method = method
        self.__name__ = method.__name__
        self.operation = about
        self._body_bytes = limits[about.limit] if about.body else 0
        self._takes = inspect.signature(method).parameters.keys() & {"key", "command", "call"}
        self._read_command = _reader(about, self._body_bytes)
        self._statuses = {status: falcon.code_to_http_status(status) for status in about.answers}
        self._success = next(iter(about.answers))
        self._dumpers: dict[int, Dump] = {
            status: dumper(schema) for status, schema in about.answers.items() if schema is not None
        }

    def __call__(self, req: falcon.Request, resp: falcon.Response, **arguments: Any) -> None:
        path = dict(arguments)
        resp.status = self._statuses[self._success]
        if "key" in self._takes:
            arguments["key"] = req.context.key
        if "command" in self._takes:
            arguments["command"] = self._read_command(req)
        if "call" in self._takes:
            arguments["call"] = ApiCall(req, resp, self._body_bytes)
        result = self._method(**arguments)
        reply = result if isinstance(result, ApiReply) else ApiReply(self._success, result)
        if reply.result is not None:
            self._answer(req, resp, reply, path)

    def _answer(self, req: falcon.Request, resp: falcon.Response, reply: ApiReply, path: Mapping[str, Any]) -> None:
        if self.operation.kept and reply.result.source is not None:
            req.env[ANSWERED] = KeepableAnswer(reply.result.source, route_of(req.uri_template or ""))
        answer = self._dumpers[reply.status](reply.result)
        resp.status = self._statuses[reply.status]
        if self.operation.location:
            resp.location = reply.location or self.operation.location.format_map({**answer, **path})
        body = orjson.dumps(answer)
        if "ETag" in self.operation.answer_headers:
            tag = ".".join(filter(None, (reply.result.etag, blake2b(body, digest_size=16).hexdigest())))
            resp.etag = tag
            if "If-None-Match" in self.operation.headers and _has(req, tag):
                resp.status = falcon.HTTP_304
                return
        resp.content_type = falcon.MEDIA_JSON
        resp.data = body


def _has(req: falcon.Request, tag: str) -> bool:
    """Return whether the caller has the answer with this ETag, by weak comparison. "*" matches any answer."""
    return any(str(etag) in (tag, "*") for etag in req.if_none_match or ())


def _reader(about: Operation, body_bytes: int) -> Callable[[falcon.Request], Any]:
    """Return a function that loads a request's command. The schema is made only once."""
    if about.body:
        body = about.body()
        return lambda req: load(body, read_json(req, body_bytes, optional=about.body_optional))
    query = about.query() if about.query else None
    return lambda req: load(query, req.params) if query else None


def bound(method: Callable[..., Any], limits: Limits) -> Callable[..., Any]:
    """Return the `Responder` of an operation. Return any other method unchanged: it has Falcon's signature."""
    about = operation_of(method)
    return method if about is None else Responder(method, about, limits)
