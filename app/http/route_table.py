"""The Falcon app. It accepts only routes with declared access, and keeps them for the OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import falcon
from falcon.routing import CompiledRouter, IntConverter, map_http_methods

from app.http.access import Access, check_declared

Adapt = Callable[[Callable[..., Any]], Callable[..., Any]]
_PARAMETER = re.compile(r"{(?P<name>\w+)(?::(?P<converter>\w+)(?:\([^)]*\))?)?}")


@dataclass(frozen=True, slots=True)
class Route:
    """A route of the app. `parameters` maps names in the path to converters; "" means any text."""

    path: str
    parameters: Mapping[str, str]
    resource: object
    responders: Mapping[str, Callable[..., None]]
    access: Access


class Digits(IntConverter):
    """Accepts only ASCII digits. "1_0", "+1" and digits of other scripts would be further addresses of one thing."""

    def convert(self, value: str) -> int | None:
        return super().convert(value) if value.isascii() and value.isdigit() else None


def _as_it_is(method: Callable[..., Any]) -> Callable[..., Any]:
    return method


class Router(CompiledRouter):
    """Answers HEAD with the responder of GET; Falcon omits the body.

    `adapt` turns a resource's method into Falcon's responder.
    """

    def map_http_methods(self, resource: object, *, adapt: Adapt = _as_it_is, **options: Any) -> Any:
        methods = super().map_http_methods(resource, **options)
        responders = {name: adapt(method) for name, method in methods.items()}
        return {"HEAD": responders["GET"], **responders} if "GET" in responders else responders


class Front(Protocol):
    """Answers some requests itself, and lets the application answer the others."""

    def answer(
        self,
        env: dict[str, Any],
        start_response: Callable[..., Any],
        application: Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]],
        /,
    ) -> Iterable[bytes]: ...


class RoutedApp(falcon.App[falcon.Request, falcon.Response]):
    """A Falcon app with `routes`, in the order in which they were added, and perhaps a `front`.

    `add_route` raises `UndeclaredAccess` for a resource that does not declare who may call each of its methods.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(router=Router(), **options)
        self.router_options.converters["int"] = Digits
        self.routes: list[Route] = []
        self.front: Front | None = None

    def __call__(self, env: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if self.front is None:
            return super().__call__(env, start_response)
        return self.front.answer(env, start_response, super().__call__)

    def add_route(self, uri_template: str, resource: object, **options: Any) -> None:
        parameters = {match["name"]: match["converter"] or "" for match in _PARAMETER.finditer(uri_template)}
        responders: Any = map_http_methods(resource, options.get("suffix"))
        access = check_declared(uri_template, resource, responders=responders, parameters=parameters)
        super().add_route(uri_template, resource, **options)
        path = _PARAMETER.sub(r"{\g<name>}", uri_template)
        self.routes.append(Route(path, parameters, resource, responders, access))
