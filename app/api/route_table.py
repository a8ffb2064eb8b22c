"""The app that remembers its routes, for the document that is made of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import falcon
from falcon.routing import IntConverter, map_http_methods

_PARAMETER = re.compile(r"{(?P<name>\w+)(?::(?P<converter>\w+)(?:\([^)]*\))?)?}")


@dataclass(frozen=True, slots=True)
class Route:
    """`parameters` are the path's, each with its converter, "" where it takes any text."""

    path: str
    parameters: Mapping[str, str]
    resource: object
    responders: Mapping[str, Callable[..., None]]


class Digits(IntConverter):
    """Falcon's own takes "1_0", "+1" and the digits of every script, too: all further addresses of one thing."""

    def convert(self, value: str) -> int | None:
        return super().convert(value) if value.isascii() and value.isdigit() else None


class RoutedApp(falcon.App[falcon.Request, falcon.Response]):
    """A Falcon app with `routes`, in the order in which they were added."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.router_options.converters["int"] = Digits
        self.routes: list[Route] = []

    def add_route(self, uri_template: str, resource: object, **options: Any) -> None:
        super().add_route(uri_template, resource, **options)
        parameters = {match["name"]: match["converter"] or "" for match in _PARAMETER.finditer(uri_template)}
        responders: Any = map_http_methods(resource, options.get("suffix"))
        self.routes.append(Route(_PARAMETER.sub(r"{\g<name>}", uri_template), parameters, resource, responders))
