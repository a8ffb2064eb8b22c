"""The app that takes only routes with a declared access, and remembers them for the document that is made of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import falcon
from falcon.routing import CompiledRouter, IntConverter, map_http_methods

from app.access import Access, check_declared

Adapt = Callable[[Callable[..., Any]], Callable[..., Any]]
_PARAMETER = re.compile(r"{(?P<name>\w+)(?::(?P<converter>\w+)(?:\([^)]*\))?)?}")


@dataclass(frozen=True, slots=True)
class Route:
    """`parameters` are the path's, each with its converter, "" where it takes any text."""

    path: str
    parameters: Mapping[str, str]
    resource: object
    responders: Mapping[str, Callable[..., None]]
    access: Access


class Digits(IntConverter):
    """Takes ASCII digits alone: of "1_0", "+1" and other scripts' digits each would be one more address of a thing."""

    def convert(self, value: str) -> int | None:
        return super().convert(value) if value.isascii() and value.isdigit() else None


def _as_it_is(method: Callable[..., Any]) -> Callable[..., Any]:
    return method


class Router(CompiledRouter):
    """Answers HEAD wherever it answers GET, by the same responder; Falcon leaves the body out.

    `adapt` makes Falcon's responder of a resource's method.
    """

    def map_http_methods(self, resource: object, *, adapt: Adapt = _as_it_is, **options: Any) -> Any:
        methods = super().map_http_methods(resource, **options)
        responders = {name: adapt(method) for name, method in methods.items()}
        return {"HEAD": responders["GET"], **responders} if "GET" in responders else responders


class RoutedApp(falcon.App[falcon.Request, falcon.Response]):
    """A Falcon app with `routes`, in the order in which they were added.

    `add_route` raises `UndeclaredAccess` for a resource that does not declare who may call each of its methods.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(router=Router(), **options)
        self.router_options.converters["int"] = Digits
        self.routes: list[Route] = []

    def add_route(self, uri_template: str, resource: object, **options: Any) -> None:
        parameters = {match["name"]: match["converter"] or "" for match in _PARAMETER.finditer(uri_template)}
        responders: Any = map_http_methods(resource, options.get("suffix"))
        access = check_declared(uri_template, resource, responders=responders, parameters=parameters)
        super().add_route(uri_template, resource, **options)
        path = _PARAMETER.sub(r"{\g<name>}", uri_template)
        self.routes.append(Route(path, parameters, resource, responders, access))
