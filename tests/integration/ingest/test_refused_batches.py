"""A refused batch is shown: in the log, among the project's rejected spans, and in the answer's reason phrase."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import structlog
from falcon.testing import Result

from app.errors import Unavailable
from app.services.ingest import clocks
from app.services.ingest.rejections import REASONS_PER_ADDRESS, RejectionService
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.exports import export, span
from tests.support.world import World, new_world

JSON = {"Content-Type": "application/json"}
PROTOBUF = {"Content-Type": "application/x-protobuf"}
TRACES, LOGS = "/api/public/otel/v1/traces", "/api/public/otel/v1/logs"


@pytest.fixture(autouse=True)
def _nothing_noted(world: World) -> None:
    """Forget what other tests had refused."""
    world.container.services.refusals._noted.clear()


@pytest.fixture
def logged() -> Iterator[list[Any]]:
    with structlog.testing.capture_logs() as entries:
        yield entries


def rows(world: World) -> list[tuple[str, str, str]]:
    listed = world.get("/api/v1/rejected-spans").json["rejectedSpans"]
    return [(row["code"], row["name"], row["reason"]) for row in listed]


def lines(logged: list[Any]) -> list[tuple[int, str, int | None]]:
    entries = [entry for entry in logged if entry["event"] == "batch_refused"]
    return [(entry["status"], entry["reason"], entry["project_id"]) for entry in entries]


def phrase(answer: Result) -> str:
    return answer.status.partition(" ")[2]


@pytest.mark.parametrize("media_type", [JSON, PROTOBUF])
def test_an_unknown_prompt_is_in_the_log_the_list_and_the_reason_phrase(
    world: World, logged: list[Any], media_type: dict[str, str]
) -> None:
    path = f"/api/public/prompts/{new_world(world.container).prompt()}/otel/v1/traces"

    answer = world.post(path, body=b"", headers=media_type)

    assert (answer.status_code, phrase(answer)) == (404, "There is no such prompt.")
    assert lines(logged) == [(404, "There is no such prompt.", world.project_id)]
    assert rows(world) == [("batch_404", path, "There is no such prompt.")]


def test_a_key_without_the_scope_is_shown_to_its_project(world: World, logged: list[Any]) -> None:
    reader = replace(
        world,
        key=world.container.services.keys.create(
            project_id=world.project_id, name="r", scopes=frozenset({"read"})
        ).secret,
    )
    prompt_id = world.prompt()
    answer = reader.send_to(prompt_id, b"")

    assert (answer.status_code, phrase(answer)) == (403, "This API key lacks the scope ingest.")
    assert [line[::2] for line in lines(logged)] == [(403, world.project_id)]
    [row] = world.get("/api/v1/rejected-spans", params={"promptId": str(prompt_id)}).json["rejectedSpans"]
    assert (row["code"], row["promptId"], row["traceId"]) == ("batch_403", prompt_id, "")


@EMBEDDED_CONTAINER
@pytest.mark.parametrize(
    ("path", "headers", "body", "code", "words"),
    [
        (TRACES, PROTOBUF, b"", "batch_415", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json"),
        (LOGS, {"Content-Type": "text/plain"}, b"", "batch_415", "application/json"),
        (TRACES, JSON | {"Content-Encoding": "br"}, b"", "batch_415", "gzip, deflate or identity"),
        (TRACES + "/v1/traces", JSON, b"{}", "batch_404", "is doubled"),
        ("/api/public/otel", JSON, b"{}", "batch_404", "Only traces and log records"),
        ("/v1/traces", PROTOBUF, b"", "batch_404", "/api/public/prompts/{id}/otel/v1/traces"),
        ("/otlp/v1/logs", PROTOBUF, b"", "batch_404", "/api/public/prompts/{id}/otel/v1/traces"),
        (
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            {"Content-Type": "application/grpc"},
            b"",
            "batch_404",
            "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
        ),
        (TRACES, JSON, b"[]", "batch_400", "This is no OTLP trace export"),
        (LOGS, JSON, b"{", "batch_400", "The body is not valid JSON"),
        (LOGS, JSON, b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[1]}]}]}', "batch_400", "it is no JSON object"),
        (TRACES, JSON | {"Content-Encoding": "gzip"}, b"no gzip", "batch_400", ""),
    ],
)
def test_each_refusal_is_shown_with_its_reason(
    world: World, logged: list[Any], path: str, headers: dict[str, str], body: bytes, code: str, words: str
) -> None:
    answer = world.post(path, body=body, headers=headers)

    assert words in phrase(answer)
    [(status, reason, project_id)] = lines(logged)
    assert (code, project_id) == (f"batch_{status}", world.project_id)
    assert rows(world) == [(code, path, reason)]


@EMBEDDED_CONTAINER
def test_a_batch_that_is_too_large_after_decompression_is_shown(world: World) -> None:
    body = gzip.compress(b" " * (world.container.settings.trace_bytes + 1))
    assert world.send(body, Content_Encoding="gzip").status_code == 413
    assert [code for code, _, _ in rows(world)] == ["batch_413"]


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("header", [None, "Bearer rp_" + "x" * 43, "Basic abc", "Bearer \x7f"])
@pytest.mark.parametrize("path", [TRACES, "/v1/traces", "/api/public/prompts/1/otel/v1/logs"])
def test_a_batch_without_a_valid_key_is_only_logged(
    world: World, logged: list[Any], header: str | None, path: str
) -> None:
    headers = JSON | ({"Authorization": header} if header else {})
    answer = world.client.simulate_post(path, body=b"{}", headers=headers)

    [(status, reason, project_id)] = lines(logged)
    assert (status, project_id) == (answer.status_code, None)
    assert phrase(answer) == answer.json["error"] == reason
    assert rows(world) == []


@EMBEDDED_CONTAINER
def test_spans_that_are_listed_already_are_no_refused_batch(world: World, logged: list[Any]) -> None:
    answer = world.send(export(span({"service.prompt.id": "x"})))

    assert answer.status_code == 400
    assert "service.prompt.id" in phrase(answer)
    assert lines(logged) == []
    assert [code for code, _, _ in rows(world)] == ["bad_prompt_id"]


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("path", ["/api/public/otel/v1/metrics", "/v1/metrics"])
def test_metrics_are_named_in_the_reason_phrase_and_nowhere_else(world: World, logged: list[Any], path: str) -> None:
    answer = world.post(path, body=b"", headers=PROTOBUF)

    assert answer.status_code == 404
    assert "OTEL_METRICS_EXPORTER=none" in phrase(answer) or path == "/v1/metrics"
    assert (lines(logged), rows(world)) == ([], [])


@EMBEDDED_CONTAINER
def test_other_addresses_keep_their_reason_phrases(world: World, logged: list[Any]) -> None:
    assert phrase(world.get("/api/v1/prompts/0")) == "Not Found"
    assert phrase(world.get("/no/such/path")) == "Not Found"
    assert lines(logged) == []


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("path", ["/v1/traces/v1/traces\r\nX-Evil: 1", "/v1/traces" + "/v1/träces…\u2028" * 200])
def test_a_path_adds_no_header_and_no_length_to_the_status_line(world: World, path: str) -> None:
    answer = world.post("/api/public/otel" + path, body=b"")

    assert answer.status_code == 404
    assert len(answer.status) < 450
    assert answer.status.isascii()
    assert answer.status.isprintable()


def test_equal_refusals_are_noted_once_in_a_while(world: World, logged: list[Any]) -> None:
    for _ in range(3):
        assert world.post("/v1/traces", body=b"").status_code == 404
    assert (len(lines(logged)), len(rows(world))) == (1, 1)


@EMBEDDED_CONTAINER
def test_a_caller_with_ever_new_reasons_fills_neither_log_nor_table(world: World, logged: list[Any]) -> None:
    for number in range(REASONS_PER_ADDRESS + 5):
        world.post(TRACES, body=b"", headers={"Content-Type": f"text/{number}"})
    assert (len(lines(logged)), len(rows(world))) == (REASONS_PER_ADDRESS, REASONS_PER_ADDRESS)


@EMBEDDED_CONTAINER
def test_a_refusal_that_can_not_be_stored_changes_no_answer(
    world: World, logged: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise Unavailable("The database is not available.")

    monkeypatch.setattr(RejectionService, "keep", broken)
    assert world.post(TRACES, body=b"", headers=PROTOBUF).status_code == 415
    assert [entry["event"] for entry in logged if entry["log_level"] == "warning"] == [
        "batch_refused",
        "refusal_not_stored",
    ]


@pytest.mark.parametrize(("ahead_s", "codes"), [(7200, ["clock_ahead"]), (1800, [])])
def test_a_span_from_the_future_is_stored_and_listed(world: World, ahead_s: int, codes: list[str]) -> None:
    prompt_id = world.prompt()
    start_ns = int((world.container.now().timestamp() + ahead_s) * 1e9)
    times = {"startTimeUnixNano": str(start_ns), "endTimeUnixNano": str(start_ns + 1)}

    answer = world.send(export(span({"service.prompt.id": prompt_id}, **times)))

    assert (answer.status_code, answer.json) == (200, {"partialSuccess": {}})
    assert world.count("spans") == 1
    assert [code for code, _, _ in rows(world)] == codes


def test_a_clock_that_is_behind_is_listed_and_its_spans_are_stored(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id = world.prompt()
    # As if all batches came over ten minutes.
    monkeypatch.setattr(clocks, "WATCHED_S", 0.0)
    codes: list[str] = []
    for number in range(clocks.BATCHES):
        end_ns = int((world.container.now().timestamp() - 7200) * 1e9)
        times = {"startTimeUnixNano": str(end_ns - 1), "endTimeUnixNano": str(end_ns)}
        sent = span({"service.prompt.id": prompt_id}, spanId=f"{number + 1:016x}", **times)
        assert world.send(export(sent, scope="behind")).status_code == 200
        codes = [code for code, _, _ in rows(world)]

    assert world.count("spans") == clocks.BATCHES
    assert codes == ["clock_behind"]
