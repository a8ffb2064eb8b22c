"""A request to a route, and the table of them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from bench.worst.stage import Stage

FORM, JSON = "application/x-www-form-urlencoded", "application/json"


@dataclass(frozen=True, slots=True)
class Ask:
    """A request; `ids` are replaced by the stage's ids in the path."""

    query: str = ""
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """`route` is a method and a template, `name` what is dear about the request."""

    route: str
    name: str
    ask: Callable[[Stage], Ask]


CASES: list[Case] = []


def worst(route: str, name: str) -> Callable[[Callable[[Stage], Ask]], Callable[[Stage], Ask]]:
    """Enter a function that makes a request into the table."""

    def enter(ask: Callable[[Stage], Ask]) -> Callable[[Stage], Ask]:
        CASES.append(Case(route, name, ask))
        return ask

    return enter


def sends(body: Any, **more: Any) -> Ask:
    return Ask(body=orjson.dumps(body), **more)
