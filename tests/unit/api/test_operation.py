"""Operations: what their responders read from a request, and make of a result."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import Any

import falcon
import pytest
from falcon.testing import TestClient
from marshmallow import fields

from app.api.operation import ApiCall, ApiReply, Limits, bound, operation
from app.http import errors
from app.http.access import Public
from app.http.route_table import RoutedApp
from app.schemas.answer import AnswerSchema, integer, text
from app.schemas.base import StrictSchema, Text


class ThingSchema(StrictSchema):
    name = Text(load_default="nameless")


class ThingQuery(StrictSchema):
    limit = fields.Integer(load_default=5)


class Thing(AnswerSchema):
    id = integer()
    name = text()


@dataclass(frozen=True)
class Made:
    id: int
    name: str
    etag: str | None = "e1"


class Things:
    access = Public({"GET", "POST", "PUT", "PATCH", "DELETE"})

    @operation(
        "List",
        query=ThingQuery,
        headers=("If-None-Match",),
        answers={200: Thing, 304: None},
        answer_headers=("ETag",),
    )
    def on_get(self, command: dict[str, Any], thing_id: int) -> Made:
        return Made(thing_id, str(command["limit"]), "e1" if thing_id == 1 else None)

    @operation(
        "Make", body=ThingSchema, body_optional=True, answers={201: Thing}, location="/things/{thing_id}/of/{name}"
    )
    def on_post(self, command: dict[str, Any], thing_id: int) -> Made:
        return Made(thing_id + 1, command["name"])

    @operation("Put", body=ThingSchema, limit="import", answers={200: Thing, 201: Thing})
    def on_put(self, command: dict[str, Any], thing_id: int) -> ApiReply:
        return ApiReply(201, Made(thing_id, command["name"]))

    @operation("Stream", answers={200: None}, texts=("text/plain",))
    def on_patch(self, call: ApiCall, thing_id: int) -> None:
        call.resp.content_type = "text/plain"
        call.resp.text = ", ".join(sorted(call.if_match or {"none"}))

    @operation("Delete", answers={204: None})
    def on_delete(self, thing_id: int) -> None: ...


def app_of(resource: object, limits: Limits) -> RoutedApp:
    app = RoutedApp()
    errors.install(app)
    app.add_route("/things/{thing_id:int}", resource, adapt=partial(bound, limits=limits))
    return app


@pytest.fixture
def client() -> TestClient:
    return TestClient(app_of(Things(), limits={"json": 30, "import": 60}))


def test_a_query_is_loaded_and_the_result_dumped(client: TestClient) -> None:
    answer = client.simulate_get("/things/1", query_string="limit=7")
    assert (answer.status_code, answer.json) == (200, {"id": 1, "name": "7"})
    assert answer.headers["content-type"] == "application/json"
    assert client.simulate_get("/things/1", query_string="limit=x").status_code == 400


def test_an_etag_begins_with_that_of_the_result_and_is_another_for_another_answer(client: TestClient) -> None:
    of_result, plain = (client.simulate_get(path).headers["etag"] for path in ("/things/1", "/things/2"))
    assert of_result.startswith('"e1.')
    assert re.fullmatch('"[0-9a-f]{32}"', plain)
    assert client.simulate_get("/things/1").headers["etag"] == of_result
    assert client.simulate_get("/things/1", query_string="limit=7").headers["etag"] != of_result


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', '"other",W/{}, "x"', "*"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_caller_that_has_the_answer_gets_304_without_a_body(client: TestClient, form: str, method: str) -> None:
    tag = client.simulate_get("/things/1").headers["etag"]
    answer = client.simulate_request(method, "/things/1", headers={"If-None-Match": form.format(tag)})
    assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)


@pytest.mark.parametrize("form", ['"other"', "", '"e1"', "nonsense"])
def test_a_caller_that_has_another_gets_the_answer(client: TestClient, form: str) -> None:
    assert client.simulate_get("/things/1", headers={"If-None-Match": form}).status_code == 200


def test_head_is_answered_as_get_is(client: TestClient) -> None:
    answer = client.simulate_head("/things/1")
    assert (answer.status_code, answer.text) == (200, "")


def test_what_is_made_has_its_location(client: TestClient) -> None:
    answer = client.simulate_post("/things/1", json={"name": "n"})
    assert (answer.status_code, answer.headers["location"]) == (201, "/things/1/of/n")
    assert client.simulate_post("/things/1").json == {"id": 2, "name": "nameless"}


def test_an_operation_names_the_limit_of_its_body(client: TestClient) -> None:
    body = {"name": "n" * 30}
    assert client.simulate_post("/things/1", json=body).status_code == 413
    assert client.simulate_put("/things/1", json=body).status_code == 201


def test_a_limit_that_the_app_does_not_know_is_found_when_the_route_is_added() -> None:
    with pytest.raises(KeyError):
        app_of(Things(), limits={"json": 30})


def test_a_method_may_answer_through_its_call(client: TestClient) -> None:
    answer = client.simulate_patch("/things/1", headers={"If-Match": '"a", W/"b", "c"'})
    assert (answer.status_code, answer.text) == (200, "a, c")


def test_a_method_that_returns_nothing_answers_without_a_body(client: TestClient) -> None:
    answer = client.simulate_delete("/things/1")
    assert (answer.status_code, answer.content) == (204, b"")


def test_methods_can_be_called_without_a_request() -> None:
    assert Things().on_put({"name": "n"}, 1).result == Made(1, "n")


def test_methods_that_are_no_operations_have_falcons_signature() -> None:
    class ByHand:
        access = Public({"GET"})

        def on_get(self, _req: falcon.Request, resp: falcon.Response, thing_id: int) -> None:
            resp.media = {"by": f"hand {thing_id}"}

    assert TestClient(app_of(ByHand(), limits={})).simulate_get("/things/1").json == {"by": "hand 1"}
