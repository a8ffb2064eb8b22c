"""The address of one prompt accepts what exporters send by default, and answers in the request's encoding."""

from __future__ import annotations

import gzip
import json
import secrets
import zlib
from typing import Any

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from sqlalchemy import select

from app.models.rejected_spans import rejected_spans
from app.otlp.protobuf import ITEM_ELEMENTS_MAX
from app.otlp.wire import WIRE_FIELDS_MAX
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.exports import export, span
from tests.support.protobuf import traces
from tests.support.readable import bodies_of
from tests.support.world import World, new_world
from tests.unit.otlp.test_wire import field

JSON, PROTOBUF = "application/json", "application/x-protobuf"


def new_span(attributes: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A span that names no prompt unless `attributes` do."""
    named = span(attributes)["attributes"][0 if "service.prompt.id" in (attributes or {}) else 1 :]
    return span(traceId=secrets.token_hex(16), spanId=secrets.token_hex(8)) | {"attributes": named} | fields


def status_of(answer: Any) -> Status:
    assert answer.headers["Content-Type"] == PROTOBUF
    return Status.FromString(answer.content)


def sessions(world: World, prompt_id: int) -> list[dict[str, Any]]:
    entries = world.get(f"/api/v1/prompts/{prompt_id}/logs?include=all").json["entries"]
    return [world.get(f"/api/v1/sessions/{entry['id']}").json for entry in entries]


@EMBEDDED_CONTAINER
@pytest.mark.parametrize(("encoding", "compress"), [("", bytes), ("gzip", gzip.compress), ("deflate", zlib.compress)])
@pytest.mark.parametrize("media_type", [JSON, PROTOBUF, "Application/X-Protobuf; charset=x"])
def test_a_batch_of_either_kind_is_stored_and_answered_in_kind(
    world: World, media_type: str, encoding: str, compress: Any
) -> None:
    prompt_id, body = world.prompt(), export(new_span())
    sent = body if media_type == JSON else traces(body)
    answer = world.send_to(prompt_id, compress(sent), Content_Type=media_type, Content_Encoding=encoding)

    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == (JSON if media_type == JSON else PROTOBUF)
    assert answer.content == (b'{"partialSuccess":{}}' if media_type == JSON else b"")
    assert [one["promptId"] for one in sessions(world, prompt_id)] == [prompt_id]


def test_a_span_with_its_own_prompt_keeps_it_and_one_of_another_project_is_rejected(world: World) -> None:
    prompt_id, own, foreign = world.prompt(), world.prompt(), new_world(world.container).prompt()
    spans = [new_span({"service.prompt.id": one}) for one in (own, foreign, "x")]
    answer = world.send_to(prompt_id, traces(export(new_span(), *spans)))

    partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert (answer.status_code, partial.rejected_spans) == (200, 2)
    assert str(foreign) in partial.error_message
    assert (len(sessions(world, prompt_id)), len(sessions(world, own)), world.count("spans")) == (1, 1, 2)


def test_the_resource_names_no_prompt(world: World) -> None:
    prompt_id, other = world.prompt(), world.prompt()
    world.send_to(prompt_id, traces(export(new_span(), resource={"service.prompt.id": other})))

    assert (len(sessions(world, prompt_id)), len(sessions(world, other))) == (1, 0)


def test_a_batch_sent_again_in_either_encoding_is_stored_once(world: World) -> None:
    prompt_id, body = world.prompt(), export(new_span())
    for sent, media_type in ((traces(body), PROTOBUF), (body, JSON), (traces(body), PROTOBUF)):
        assert world.send_to(prompt_id, sent, Content_Type=media_type).status_code == 200
    assert world.count("spans") == 1


def test_equal_bodies_to_two_prompts_are_different_batches(world: World) -> None:
    one, other = world.prompt(), world.prompt()
    foreign = new_span({"service.prompt.id": 10**15})
    for prompt_id in (one, other):
        assert world.send_to(prompt_id, traces(export(new_span(), foreign))).status_code == 200
    assert (len(sessions(world, one)), len(sessions(world, other))) == (1, 1)


@pytest.mark.parametrize("media_type", [JSON, PROTOBUF])
def test_a_batch_of_which_nothing_can_be_stored_is_400(world: World, media_type: str) -> None:
    body = export(new_span({"service.prompt.id": "x"}))
    answer = world.send_to(world.prompt(), body if media_type == JSON else traces(body), Content_Type=media_type)

    assert answer.status_code == 400
    code, message = (
        (answer.json["code"], answer.json["message"])
        if media_type == JSON
        else (status_of(answer).code, status_of(answer).message)
    )
    assert code == 3
    assert "service.prompt.id" in message
    assert world.get("/api/v1/rejected-spans").json["rejectedSpans"][0]["code"] == "bad_prompt_id"


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("kind", ["unknown", "foreign", "no number", "nothing"])
@pytest.mark.parametrize("media_type", [JSON, PROTOBUF])
def test_a_prompt_that_the_key_does_not_have_is_404_before_the_body_is_read(
    world: World, kind: str, media_type: str
) -> None:
    ids = {"unknown": 10**15, "foreign": new_world(world.container).prompt(), "no number": "x", "nothing": 0}
    path = f"/api/public/prompts/{ids[kind]}/otel/v1/traces"
    answer = world.post(path, body=b"no export", headers={"Content-Type": media_type})

    assert answer.status_code == 404
    if media_type == JSON:
        assert answer.json == {"error": "There is no such prompt.", "message": "There is no such prompt.", "code": 5}
    else:
        assert (status_of(answer).code, status_of(answer).message) == (5, "There is no such prompt.")


def test_an_archived_prompt_accepts_spans_as_before(world: World) -> None:
    prompt_id = world.prompt()
    assert world.delete(f"/api/v1/prompts/{prompt_id}").status_code == 204
    assert world.send_to(prompt_id, traces(export(new_span()))).status_code == 200


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("body", [b"\x0a", b"{}", b"\xff" * 30, b"not protobuf"])
def test_what_is_no_export_is_400(world: World, body: bytes) -> None:
    answer = world.send_to(world.prompt(), body)

    assert (answer.status_code, status_of(answer).code) == (400, 3)
    assert "no OTLP protobuf export" in status_of(answer).message


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("media_type", ["text/plain", "", "application/protobuf", "application/grpc"])
def test_another_media_type_is_refused_in_json_naming_both(world: World, media_type: str) -> None:
    answer = world.send_to(world.prompt(), b"", Content_Type=media_type)

    assert (answer.status_code, answer.headers["Content-Type"]) == (415, JSON)
    assert JSON in answer.json["error"]
    assert PROTOBUF in answer.json["error"]


@EMBEDDED_CONTAINER
def test_the_address_without_a_prompt_names_this_one_when_it_refuses_protobuf(world: World) -> None:
    answer = world.send(traces(export(new_span())), Content_Type=PROTOBUF)

    assert (answer.status_code, answer.headers["Content-Type"]) == (415, JSON)
    assert "/api/public/prompts/{id}/otel/v1/traces" in answer.json["error"]


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("headers", [{"Authorization": ""}, {"Authorization": "Bearer rp_none"}])
def test_no_key_is_401_in_protobuf(world: World, headers: dict[str, str]) -> None:
    path = f"/api/public/prompts/{world.prompt()}/otel/v1/traces"
    answer = world.client.simulate_post(path, body=b"", headers=headers | {"Content-Type": PROTOBUF})

    assert (answer.status_code, status_of(answer).code) == (401, 16)


@EMBEDDED_CONTAINER
def test_too_much_is_413_in_protobuf(world: World) -> None:
    prompt_id = world.prompt()
    for body, encoding in (
        (b" " * (world.container.settings.trace_wire_bytes + 1), ""),
        (gzip.compress(b" " * (world.container.settings.trace_bytes + 1)), "gzip"),
    ):
        answer = world.send_to(prompt_id, body, Content_Encoding=encoding)
        assert (answer.status_code, status_of(answer).code) == (413, 3)


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("path", ["/v1/traces/v1/traces", "/v1/metrics", "", "/"])
def test_other_paths_are_404_saying_where_spans_go(world: World, path: str) -> None:
    base = f"/api/public/prompts/{world.prompt()}/otel"
    answer = world.post(base + path, body=b"", headers={"Content-Type": PROTOBUF})

    assert (answer.status_code, status_of(answer).code) == (404, 5)
    assert ("doubled" if "traces" in path else f"{base}/v1/traces") in status_of(answer).message


@EMBEDDED_CONTAINER
def test_only_the_bombs_are_refused_or_rejected(world: World) -> None:
    """64 MiB of messages of two bytes would be gigabytes, were they parsed."""
    prompt_id, limit = world.prompt(), world.container.settings.trace_bytes
    groups = field(1, b"") * (limit // 2)
    answer = world.send_to(prompt_id, gzip.compress(groups, 1), Content_Encoding="gzip")
    assert (answer.status_code, status_of(answer).code) == (400, 3)
    assert str(WIRE_FIELDS_MAX) in status_of(answer).message

    empty = field(9, b"") * (ITEM_ELEMENTS_MAX + 1)
    answer = world.send_to(prompt_id, gzip.compress(field(1, field(2, field(2, empty))), 1), Content_Encoding="gzip")
    assert answer.status_code == 400
    assert "attributes and values" in status_of(answer).message
    assert world.count("spans") == 0


def test_only_the_span_over_its_limit_is_rejected_at_a_prompts_address(world: World) -> None:
    prompt_id = world.prompt()
    large = new_span({"note": "x" * (world.container.settings.span_bytes + 1)})
    answer = world.send_to(prompt_id, traces(export(new_span(), large)))

    assert ExportTraceServiceResponse.FromString(answer.content).partial_success.rejected_spans == 1
    assert world.count("spans") == 1


def test_what_is_masked_is_stored_masked_and_belongs_to_the_prompt_of_the_address(world: World) -> None:
    rule = {"kind": "pattern", "value": "[0-9]{4}-[0-9]{4}", "replacement": "[card]"}
    assert world.put("/api/v1/data-policy", json={"masking": [rule]}).status_code == 200
    prompt_id = world.prompt()
    said = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "My card is 1234-5678."}]}])
    chat = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": said, "n": 5, "gen_ai.conversation.id": "c"}
    answer = world.send_to(prompt_id, traces(export(new_span(chat), new_span({"quiet": "nothing to mask"}))))

    assert (answer.status_code, answer.content) == (200, b"")
    shown = {one["conversationId"]: one["turns"][0] for one in sessions(world, prompt_id)}
    assert shown["c"]["user"] == "My card is [card]."
    assert shown["c"]["spans"][0]["attributes"]["n"] == 5
    assert [b"1234" in body for body in bodies_of(world, world.project_id).values()] == [False, False]


def test_text_of_every_kind_comes_back_as_it_was_sent(world: World) -> None:
    prompt_id, said = world.prompt(), "<script>\0 \u2028 🦊 " + "long " * 40_000
    chat = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps([{"role": "user", "content": said}])}
    world.send_to(prompt_id, traces(export(new_span(chat))))

    assert sessions(world, prompt_id)[0]["turns"][0]["user"] == said


def test_a_span_that_can_not_be_read_is_rejected_under_the_prompt_of_its_address(world: World) -> None:
    prompt_id = world.prompt()
    batch = {"resourceSpans": [{"scopeSpans": [{"spans": [new_span(traceId="zz", name="what a user wrote")]}]}]}

    assert world.post(f"/api/public/prompts/{prompt_id}/otel/v1/traces", json=batch).status_code == 400

    c = rejected_spans.c
    with world.container.database.read() as connection:
        rows = connection.execute(select(c.name, c.prompt_id).where(c.project_id == world.project_id)).all()
    assert [tuple(row) for row in rows] == [("what a user wrote", prompt_id)]
