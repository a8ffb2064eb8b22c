"""Requests made from the route table: every route for the fullest object that its path can name, by every query.

Bodies are sent in every shape that a reader of JSON or of forms may dislike, as a whole and in each field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any
from urllib.parse import urlencode

from marshmallow import Schema, fields, validate

from app.api.operation import Operation, operation_of
from app.http.exports import ExportQuerySchema
from app.http.route_table import Route, RoutedApp
from app.schemas import sessions, usage
from app.schemas.base import Day, Identifier, Moment, QueryBoolean, Text
from app.web.list_queries import LogFormSchema
from bench.worst import texts
from bench.worst.case import FORM, JSON, Ask, Case
from bench.worst.stage import Stage

OBJECTS: Mapping[str, tuple[str, ...]] = {
    "session_id": ("session_many_turns", "session_large_texts", "session_many_spans"),
    "test_case_id": ("test_case_steps", "test_case_turns", "test_case_texts", "test_case_matchers"),
    "replay_id": ("replay_steps", "replay_turns", "replay_texts", "replay_matchers", "replay_small"),
    "experiment_id": ("experiment_id", "experiment_running"),
    "kind": ("sessions", "runs", "test-cases"),
    "name": ("app.css", "replays"),
    "text": ("user", "0-text"),
}
"""The fullest objects of a parameter where several are full, each in its way."""

SINCE, UNTIL = ("from", "since"), ("to", "until")
FIRST, LAST = "2020-01-02", "2030-01-01"
OF_PAGES: Mapping[str, type[Schema]] = {
    "/sessions": sessions.SessionQuerySchema,
    "/sessions.csv": sessions.SessionExportSchema,
    "/sessions.jsonl": sessions.SessionExportSchema,
    "/logs": LogFormSchema,
    "/exports/{kind}": ExportQuerySchema,
}
"""The queries of pages, by the ends of their paths."""
CHOICES_OF_PAGES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "/usage": {"days": ("365",), "by": ("prompt", "version", "model", "key", "day")},
    "/usage.csv": {"days": ("365",)},
    "/insight": {"days": ("365",), "by": ("version", "model", "day")},
    "/sessions/{session_id}": {"turn": ("2",), "go": ("next",), "q": tuple(texts.SEARCHES.values())},
    "/compare": {"from": ("{commit_hash}",)},
    "/test-cases": {"search": ("%_" * 50,), "sort": ("name", "-name")},
}
"""What else pages read of an address."""
OBJECTS_OF_QUERIES = {"promptId": "prompt_id", "runId": "run_id", "testCaseId": "test_case_steps"}


def requests(app: RoutedApp, *, by_fields: bool = True) -> Iterator[Case]:
    """A request for each route, object and query; requests with bodies have no query.

    Without `by_fields` lists are asked for their largest page only.
    """
    for route in app.routes:
        for method, responder in route.responders.items():
            asked = [{}, *queries(route, operation_of(responder), by_fields)] if method == "GET" else [{}]
            for ids, query in product(objects(route), asked):
                name = " ".join([*(str(value) for value in ids.values()), *(f"{k}={v[:20]}" for k, v in query.items())])
                yield _case(f"{method} {route.path}", name, ids, query)


def _case(route: str, name: str, ids: Mapping[str, str], query: Mapping[str, str]) -> Case:
    def ask(stage: Stage) -> Ask:
        texts = {field: value.format(**stage.ids) for field, value in query.items()}
        form = urlencode({"csrf": stage.csrf}).encode() if route.startswith("POST ") and "/api/" not in route else b""
        return Ask(urlencode(texts), form, FORM if form else JSON, ids=ids)

    return Case(route, name, ask)


def objects(route: Route) -> Iterator[dict[str, str]]:
    """Each choice of the fullest objects for the parameters of a path."""
    several = [name for name in route.parameters if name in OBJECTS]
    for chosen in product(*(OBJECTS[name] for name in several)):
        if not (route.path.endswith("/events") and "experiment_running" in chosen):  # its events have no end
            yield dict(zip(several, chosen, strict=True))


def queries(route: Route, about: Operation | None, by_fields: bool) -> Iterator[dict[str, str]]:
    """Yield the queries of a route: the largest page, and the largest page with each value of each other field."""
    end = next((end for end in OF_PAGES if about is None and route.path.endswith(end)), "")
    schema = about.query if about else OF_PAGES.get(end)
    choices = next(
        (of_page for end, of_page in CHOICES_OF_PAGES.items() if about is None and route.path.endswith(end)), {}
    )
    values = {**(dict(_dearest(schema())) if schema else {}), **choices}
    whole = {name: listed[-1] for name, listed in values.items() if name in (*SINCE, *UNTIL, "limit", "days")}
    if "from" in whole:  # with which `since` names a day at most a month ago
        whole.pop("since", None)
    if whole:
        yield whole
    for name, listed in values.items():
        if by_fields and name not in whole:
            yield from (whole | {name: value} for value in listed)


def _dearest(schema: Schema) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, field in schema.load_fields.items():
        if values := _values(str(field.data_key or name), field):
            yield str(field.data_key or name), values


def _values(name: str, field: Any) -> tuple[str, ...]:
    checks = field.validators
    if choices := next((check.choices for check in checks if isinstance(check, validate.OneOf)), ()):
        return tuple(str(choice) for choice in choices if choice)
    match field:
        case QueryBoolean():
            return ("true", "false")
        case Day():
            return (FIRST if name in SINCE else LAST,)
        case Moment():
            return (f"{FIRST if name in SINCE else LAST}T00:00:00Z",)
        case usage.Groups():
            return (",".join(field._known),)
        case Identifier() if name in OBJECTS_OF_QUERIES:
            return (f"{{{OBJECTS_OF_QUERIES[name]}}}",)
        case fields.Integer() | fields.Float():
            most = next((check.max for check in checks if isinstance(check, validate.Range)), None)
            return (str(most if name == "limit" else 0 if name.startswith("min") else 2**31),)
        case Text():
            return _texts(name, field)
    return ()


def _texts(name: str, field: Text) -> tuple[str, ...]:
    longest = next((check.max for check in field.validators if isinstance(check, validate.Length)), None) or 2_000
    if name in ("q", "search"):
        return (*(text[:longest] for text in texts.SEARCHES.values()), "%_" * min(100, longest // 2))
    return ("x" * longest,)
