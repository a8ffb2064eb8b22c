"""The OpenAPI document: every route is in it, and what is in it holds. Answers are held to it wherever tests ask
for some through `World` (tests/support/checked_client.py)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import falcon
import pytest
from jsonschema_rs import Draft202012Validator

from app.api.openapi import Error, build_document
from app.api.operation import operation
from app.http.access import Public
from app.http.route_table import RoutedApp
from app.schemas.answer import AnswerSchema, integer
from app.schemas.base import StrictSchema, Text
from tests.support.api_routes import api_routes
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.contract import Contract
from tests.support.world import World


@pytest.fixture
def document(world: World) -> dict[str, Any]:
    answer = world.client.simulate_get("/api/openapi.json")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json
    return found


def _schemas(document: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects in the document, schemas among them."""
    if isinstance(document, dict):
        yield document
    for part in document.values() if isinstance(document, dict) else document if isinstance(document, list) else ():
        yield from _schemas(part)


@EMBEDDED_CONTAINER
def test_every_route_is_in_the_document(world: World, document: dict[str, Any]) -> None:
    routes = {(route.method, route.template) for route in api_routes(world.client.app)}
    missing = routes - Contract(document).operations()
    assert missing == set(), "describe these with @operation (app/api/operation.py)"
    assert Contract(document).operations() == routes


@EMBEDDED_CONTAINER
def test_each_default_is_a_value_that_is_accepted(document: dict[str, Any]) -> None:
    with_defaults = [schema for schema in _schemas(document) if "default" in schema]
    assert len(with_defaults) > 50
    for schema in with_defaults:
        validator = Draft202012Validator({**schema, "components": document["components"]})
        assert validator.is_valid(schema["default"]), schema


def test_a_route_without_a_description_is_named() -> None:
    class Silent:
        access = Public({"GET"})

        def on_get(self, req: falcon.Request, resp: falcon.Response, thing_id: int) -> None: ...

    app = RoutedApp()
    app.add_route("/api/v1/things/{thing_id:int(min=1, max=9)}", Silent())
    app.add_route("/elsewhere", Silent(), suffix=None)
    assert build_document(app.routes)["paths"] == {}


def test_a_request_and_an_answer_of_one_name_are_different_schemas() -> None:
    class ThingSchema(StrictSchema):
        name = Text(required=True)

    class Thing(AnswerSchema):
        id = integer()

    class Things:
        access = Public({"POST"})

        @operation("Make a thing", body=ThingSchema, answers={201: Thing})
        def on_post(self, req: falcon.Request, resp: falcon.Response) -> None: ...

    app = RoutedApp()
    app.add_route("/api/v1/things", Things())
    schemas = build_document(app.routes)["components"]["schemas"]
    assert list(schemas["Thing"]["properties"]) == ["id"]
    assert list(schemas["ThingRequest"]["properties"]) == ["name"]


@EMBEDDED_CONTAINER
def test_the_document_is_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    identifiers = [one["operationId"] for one in operations(document)]
    assert len(set(identifiers)) == len(identifiers)
    assert all(one["summary"] and one["tags"] for one in operations(document))


@EMBEDDED_CONTAINER
def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    for reference in references(document):
        place: Any = document
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]
        assert isinstance(place, dict)


@EMBEDDED_CONTAINER
def test_what_needs_a_key_is_marked_and_names_its_scope(document: dict[str, Any]) -> None:
    for path, described in document["paths"].items():
        for one in (value for key, value in described.items() if key != "parameters"):
            public = one.get("security") == []
            assert public == (path in {"/api/openapi.json", "/api/docs"})
            needed = "token of a replay" if path.startswith("/api/replay/") else "scope `"
            assert public != (needed in one["description"])
            assert public != ("401" in one["responses"])


@EMBEDDED_CONTAINER
def test_parameters_of_paths_are_described(document: dict[str, Any]) -> None:
    described = document["paths"]["/api/v1/prompts/{prompt_id}/versions/{commit_hash}"]["parameters"]
    assert [(one["name"], one["schema"]["type"]) for one in described] == [
        ("prompt_id", "integer"),
        ("commit_hash", "string"),
    ]


@EMBEDDED_CONTAINER
def test_limits_of_requests_are_in_the_document(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    new = schemas["NewPrompt"]
    assert new["required"] == ["name", "value"]
    assert new["additionalProperties"] is False
    assert (new["properties"]["name"]["minLength"], new["properties"]["name"]["maxLength"]) == (1, 128)
    assert new["properties"]["placeholders"]["maxItems"] == 100
    assert schemas["Placeholder"]["properties"]["key"]["pattern"] == "^[A-Za-z0-9_]{1,64}$"
    assert schemas["RunRequest"]["properties"]["id"]["type"] == ["integer", "string"]


CONTRACT = {
    "paths": {
        "/api/things/{id}": {
            "get": {
                "responses": {
                    "200": {
                        "headers": {"X-Request-Id": {}},
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}},
                    },
                    "204": {},
                }
            }
        }
    },
    "components": {
        "schemas": {
            "Thing": {"type": "object", "required": ["id"], "properties": {"id": {}}, "additionalProperties": False}
        }
    },
}
JSON = {"content-type": "application/json", "x-request-id": "1"}


@pytest.mark.parametrize(
    ("status", "headers", "body", "words"),
    [
        (200, JSON, b'{"id": 1}', None),
        (204, {}, b"", None),
        (404, JSON, b"{}", "404 is not described"),
        (200, {"content-type": "application/json"}, b'{"id": 1}', "no header X-Request-Id"),
        (200, JSON, b"{}", '"id" is a required property'),
        (200, JSON, b'{"id": 1, "secret": 2}', "'secret' was unexpected"),
        (200, JSON | {"content-type": "text/html"}, b"<p>", "'text/html' is not described"),
        (204, {}, b"x", "a body that is not described"),
    ],
)
def test_the_check_of_answers_can_fail(status: int, headers: dict[str, str], body: bytes, words: str | None) -> None:
    problems = Contract(CONTRACT).problems("GET", "/api/things/1", status, headers, body)
    assert len(problems) == (0 if words is None else 1)
    assert words is None or words in problems[0]


def test_an_error_has_one_field() -> None:
    assert list(Error().fields) == ["error"]


def operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for described in document["paths"].values() for name, one in described.items() if name != "parameters"]


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*map(references, value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


@EMBEDDED_CONTAINER
def test_the_page_has_all_that_the_document_has(world: World, document: dict[str, Any]) -> None:
    answer = world.client.simulate_get("/api/docs")

    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    for method, path in Contract(document).operations():
        assert f"<h2><code>{method} {path}</code></h2>" in answer.text
    anchors = set(re.findall(r'id="([^"]+)"', answer.text))
    assert set(re.findall(r'href="#([^"]+)"', answer.text)) <= anchors
    assert {f"shape-{name}" for name in document["components"]["schemas"]} <= anchors


@EMBEDDED_CONTAINER
def test_the_page_loads_nothing_from_elsewhere(world: World) -> None:
    answer = world.client.simulate_get("/api/docs")
    assert re.findall(r'(?:src|href)="(?:https?:)?//[^"]*"', answer.text) == []
    assert "<script" not in answer.text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "style-src 'self'" in answer.headers["Content-Security-Policy"]
