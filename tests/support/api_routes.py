"""The API's routes as the router has them: what walks them can forget none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import falcon.inspect

_PARAMETER = re.compile(r"{(\w+)(?::[^{}]*)?}")


@dataclass(frozen=True, slots=True, order=True)
class ApiRoute:
    """A method of a path under /api; `template` is the path with `{names}`, without converters."""

    template: str
    method: str

    @property
    def parameters(self) -> list[str]:
        return _PARAMETER.findall(self.template)

    def path(self, values: Mapping[str, object]) -> str:
        """The path with its parameters filled in; KeyError names one that is missing."""
        return _PARAMETER.sub(lambda match: str(values[match[1]]), self.template)

    def __str__(self) -> str:
        return f"{self.method} {self.template}"


def api_routes(app: falcon.App[falcon.Request, falcon.Response]) -> list[ApiRoute]:
    return sorted(set(_routes(app)))


def _routes(app: falcon.App[falcon.Request, falcon.Response]) -> Iterator[ApiRoute]:
    for route in falcon.inspect.inspect_routes(app):
        if route.path.startswith("/api/"):
            template = _PARAMETER.sub(r"{\1}", route.path)
            # The internal ones answer OPTIONS, and 405 to what a resource does not take.
            yield from (ApiRoute(template, method.method) for method in route.methods if not method.internal)
