"""The receiver keeps to the rules of OTLP over HTTP, and answers bad input with words that help."""

from __future__ import annotations

import gzip
import json
import secrets
import zlib
from typing import Any

import pytest

from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.exports import export, span
from tests.support.world import World, new_world

TRACES = "/api/public/otel/v1/traces"


def valid(world: World, **attributes: Any) -> bytes:
    return export(new_span(world.prompt(), **attributes))


def new_span(prompt_id: int, **attributes: Any) -> dict[str, Any]:
    return span(
        {"service.prompt.id": prompt_id, **attributes}, traceId=secrets.token_hex(16), spanId=secrets.token_hex(8)
    )


def test_a_stored_batch_is_answered_with_an_empty_partial_success(world: World) -> None:
    answer = world.send(valid(world))

    assert (answer.status_code, answer.json) == (200, {"partialSuccess": {}})
    assert world.count("spans") == 1


@pytest.mark.parametrize("usage", ['{"input": 18446744073709551616}', '{"input": 1e30, "output": 1e300}'])
def test_a_count_in_json_that_no_database_can_hold_does_not_keep_out_the_batch(world: World, usage: str) -> None:
    prompt_id = world.prompt()
    platform = {"langfuse.observation.type": "generation", "langfuse.observation.usage_details": usage}

    answer = world.send(export(new_span(prompt_id, **platform), new_span(prompt_id)))

    assert (answer.status_code, answer.json) == (200, {"partialSuccess": {}})
    listed = world.get(f"/api/v1/sessions?promptId={prompt_id}").json["sessions"]
    assert [session["usage"]["inputTokens"] for session in listed] == [0]
    assert world.count("spans") == 2


@EMBEDDED_CONTAINER
@pytest.mark.parametrize(
    "content_type", ["application/json", "Application/JSON; charset=UTF-8", "application/json ;x=y"]
)
def test_the_content_type_may_be_in_any_case_and_have_parameters(world: World, content_type: str) -> None:
    assert world.send(valid(world), Content_Type=content_type).status_code == 200


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("content_type", ["application/x-protobuf", "text/plain", ""])
def test_another_content_type_is_refused_saying_what_is_taken(world: World, content_type: str) -> None:
    answer = world.send(valid(world), Content_Type=content_type)

    assert answer.status_code == 415
    assert "OTEL_EXPORTER_OTLP_PROTOCOL=http/json" in answer.json["error"]
    assert answer.json["code"] == 3


@EMBEDDED_CONTAINER
@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("gzip", lambda body: gzip.compress(body[:50]) + gzip.compress(body[50:])),
        ("deflate", zlib.compress),
        ("deflate", lambda body: zlib.compressobj(wbits=-15).compress(body) + b""),
        ("identity", lambda body: body),
    ],
    ids=["gzip", "any case", "gzip in members", "deflate", "bare deflate cut short", "identity"],
)
def test_compressed_batches_are_taken(world: World, encoding: str, compress: Any, request: Any) -> None:
    answer = world.send(compress(valid(world)), Content_Encoding=encoding)

    cut = "cut short" in request.node.name
    assert answer.status_code == (400 if cut else 200), answer.text


@EMBEDDED_CONTAINER
def test_a_bare_deflate_stream_is_taken(world: World) -> None:
    stream = zlib.compressobj(wbits=-15)
    body = stream.compress(valid(world)) + stream.flush()

    assert world.send(body, Content_Encoding="deflate").status_code == 200


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip"])
def test_an_unknown_encoding_is_refused(world: World, encoding: str) -> None:
    answer = world.send(valid(world), Content_Encoding=encoding)

    assert answer.status_code == 415
    assert "gzip" in answer.json["error"]


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b'{"resourceSpans": 5}', b"\x00", b"[" * 100_000])
def test_what_is_no_export_is_400(world: World, body: bytes) -> None:
    answer = world.send(body)

    assert answer.status_code == 400
    assert answer.json["error"] == answer.json["message"]
    assert answer.json["code"] == 3


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("body", [b"not gzip", gzip.compress(b"{}", mtime=0)[:-5], b""])
def test_a_broken_gzip_stream_is_400(world: World, body: bytes) -> None:
    assert world.send(body, Content_Encoding="gzip").status_code == 400


@pytest.mark.parametrize("body", [b"{}", b'{"resourceSpans": []}', b'{"resourceSpans": null}', export()])
def test_a_batch_without_spans_is_fine(world: World, body: bytes) -> None:
    assert (world.send(body).status_code, world.send(body).json) == (200, {"partialSuccess": {}})


@EMBEDDED_CONTAINER
def test_a_bomb_is_413(world: World) -> None:
    bomb = gzip.compress(b" " * (world.container.settings.trace_bytes + 1))

    answer = world.send(bomb, Content_Encoding="gzip")

    assert len(bomb) < 100_000
    assert answer.status_code == 413


@EMBEDDED_CONTAINER
def test_too_much_on_the_wire_is_413_whatever_length_is_announced(world: World) -> None:
    body = b" " * (world.container.settings.trace_wire_bytes + 1)

    assert world.send(body).status_code == 413


def test_some_rejected_spans_leave_the_others_stored_and_are_explained(world: World) -> None:
    prompt_id = world.prompt()
    bad = new_span(prompt_id) | {"traceId": "00"}
    foreign = new_span(999_999_999)

    answer = world.send(export(new_span(prompt_id), bad, foreign, foreign | {"spanId": "f" * 16}))

    partial = answer.json["partialSuccess"]
    assert answer.status_code == 200
    assert partial["rejectedSpans"] == "3"
    assert "2 spans rejected" in partial["errorMessage"]
    assert world.count("spans") == 1


def test_a_batch_of_which_nothing_can_be_stored_is_400(world: World) -> None:
    answer = world.send(export(span({"service.prompt.id": "x"})))

    assert answer.status_code == 400
    assert "service.prompt.id" in answer.json["error"]
    assert world.count("spans") == 0


def test_a_prompt_of_another_project_accepts_no_spans(world: World) -> None:
    other = new_world(world.container)

    assert world.send(export(new_span(other.prompt()))).status_code == 400
    assert other.count("spans") == world.count("spans") == 0


def test_rejected_spans_can_be_read_with_their_reason_newest_first(world: World) -> None:
    world.send(export(span({"service.prompt.id": "x"}, name="first")))
    world.send(export(span({"service.prompt.id": None}, name="second", spanId="zz")))

    answer = world.get("/api/v1/rejected-spans", params={"limit": 1})
    rest = world.get("/api/v1/rejected-spans", params={"limit": 1, "cursor": answer.json["nextCursor"]})

    assert [one["name"] for one in answer.json["rejectedSpans"]] == ["second"]
    assert rest.json["rejectedSpans"][0]["name"] == "first"
    assert "service.prompt.id" in rest.json["rejectedSpans"][0]["reason"]
    assert rest.json["nextCursor"] is None


def test_rejected_spans_can_be_picked_by_the_prompt_that_they_named(world: World) -> None:
    prompt_id = world.prompt()
    world.send(export(new_span(prompt_id, kept="no") | {"traceId": "0"}, new_span(prompt_id), new_span(999_999_999)))

    answer = world.get("/api/v1/rejected-spans", params={"promptId": str(prompt_id)})

    assert [(one["promptId"], one["code"]) for one in answer.json["rejectedSpans"]] == [(prompt_id, "bad_trace_id")]


@EMBEDDED_CONTAINER
@pytest.mark.parametrize(
    ("signal", "words"),
    [("/v1/metrics", "OTEL_METRICS_EXPORTER=none"), ("/v1/profiles", "Only traces"), ("/", "Only traces")],
)
def test_other_signals_are_404_with_what_to_change(world: World, signal: str, words: str) -> None:
    answer = world.post(f"/api/public/otel{signal}", body=b"{}")

    assert answer.status_code == 404
    assert words in answer.json["error"]


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs", "/v1/metrics"])
def test_a_doubled_path_is_404_saying_so(world: World, path: str) -> None:
    answer = world.post(TRACES.removesuffix("/v1/traces") + path * 2, body=b"{}")

    assert (answer.status_code, answer.json["code"]) == (404, 5)
    assert answer.json["error"].startswith(f"The path {path} is doubled")


@EMBEDDED_CONTAINER
def test_no_key_is_401_in_the_form_of_otlp(world: World) -> None:
    answer = world.client.simulate_post(TRACES, body=b"{}", headers={"Content-Type": "application/json"})

    assert answer.status_code == 401
    assert answer.json["code"] == 16
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@EMBEDDED_CONTAINER
def test_a_trailing_slash_makes_no_difference_and_redirects_nowhere(world: World) -> None:
    answer = world.post(TRACES + "/", body=valid(world), headers={"Content-Type": "application/json"})

    assert answer.status_code == 200


def test_text_of_every_kind_comes_back_as_it_was_sent(world: World) -> None:
    prompt_id = world.prompt()
    text = "<script>\0 \u2028 🦊 " + "long " * 40_000
    said = json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}])

    world.send(export(new_span(prompt_id, **{"gen_ai.operation.name": "chat", "gen_ai.input.messages": said})))

    entry = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"][0]
    session = world.get(f"/api/v1/sessions/{entry['id']}").json
    assert session["turns"][0]["user"] == text
    assert entry["preview"] == text[:300]


def test_half_a_surrogate_pair_loses_no_batch(world: World) -> None:
    prompt_id = world.prompt()
    body = export(new_span(prompt_id, note="HERE")).replace(b"HERE", b"cut \\ud83d")

    assert world.send(body).status_code == 200
    entry = world.get(f"/api/v1/prompts/{prompt_id}/logs?include=all").json["entries"][0]
    shown = world.get(f"/api/v1/sessions/{entry['id']}").json["turns"][0]["spans"][0]
    assert shown["attributes"]["note"] == "cut \ufffd"


def test_only_the_span_over_its_limit_is_rejected(world: World) -> None:
    prompt_id = world.prompt()
    large = new_span(prompt_id, note="x" * (world.container.settings.span_bytes + 1))

    answer = world.send(export(new_span(prompt_id), large))

    assert answer.json["partialSuccess"]["rejectedSpans"] == "1"
    assert world.count("spans") == 1


def test_a_span_of_one_megabyte_is_stored_among_hundreds(world: World) -> None:
    prompt_id = world.prompt()
    spans = [new_span(prompt_id, note="é" * 500_000) for _ in range(9)] + [new_span(prompt_id) for _ in range(300)]

    answer = world.send(gzip.compress(export(*spans), 1), Content_Encoding="gzip")

    assert answer.json == {"partialSuccess": {}}
    assert world.count("spans") == 309
