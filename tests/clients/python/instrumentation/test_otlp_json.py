"""Spans as OTLP JSON: as opentelemetry-proto reads them, whatever an application put on them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanContext, SpanKind, StatusCode
from reprise_client.instrumentation.otlp_json import MAX_DEPTH, batches

from app.otlp.decode import decode
from tests.fakes.collector import attributes_of, spans_of
from tests.support import protobuf


class Provider:
    """A provider that keeps its spans."""

    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        self._provider = TracerProvider(resource=Resource({"service.name": "shop"}))
        self._provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.tracer = self._provider.get_tracer("app", "1.2")

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._kept.get_finished_spans())


@pytest.fixture
def provider() -> Provider:
    return Provider()


def unexpected(error: Exception) -> None:
    """Fail the test of a span that can't be encoded."""
    raise error


def encoded(provider: Provider) -> Any:
    [batch] = batches(provider.spans, unexpected)
    return json.loads(batch.body)


def test_a_span_has_all_that_it_was_recorded_with(provider: Provider) -> None:
    with provider.tracer.start_as_current_span("outer") as outer:
        link = Link(outer.get_span_context(), {"why": "retry"})
        with provider.tracer.start_as_current_span("inner", kind=SpanKind.CLIENT, links=[link]) as inner:
            inner.add_event("said", {"text": "hello"})
            inner.set_status(StatusCode.ERROR, "it broke")

    exported = encoded(provider)

    span = spans_of(exported)[0]
    context = outer.get_span_context()
    assert span["name"] == "inner"
    assert span["kind"] == 3
    assert span["traceId"] == f"{context.trace_id:032x}"
    assert span["parentSpanId"] == f"{context.span_id:016x}"
    assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
    assert span["status"] == {"code": 2, "message": "it broke"}
    assert span["events"][0]["name"] == "said"
    assert span["links"][0]["spanId"] == f"{context.span_id:016x}"
    [resource] = exported["resourceSpans"]
    assert resource["resource"]["attributes"] == [{"key": "service.name", "value": {"stringValue": "shop"}}]
    assert resource["scopeSpans"][0]["scope"] == {"name": "app", "version": "1.2"}


def test_every_type_of_value_has_its_field(provider: Provider) -> None:
    values = {
        "text": "Grüße \0 🙂 <b>",
        "yes": True,
        "number": 3,
        "part": 0.5,
        "none": float("nan"),
        "list": ["a", "b"],
    }
    provider.tracer.start_span("one", attributes=values).end()

    [span] = spans_of(encoded(provider))

    assert attributes_of(span) == {
        "text": "Grüße \0 🙂 <b>",
        "yes": True,
        "number": "3",
        "part": 0.5,
        "none": "NaN",
        "list": {"values": [{"stringValue": "a"}, {"stringValue": "b"}]},
    }


def test_the_official_classes_read_it(provider: Provider) -> None:
    with provider.tracer.start_as_current_span("outer", attributes={"text": "hello", "numbers": [1, 2]}):
        provider.tracer.start_span("inner").end()

    assert protobuf.traces(encoded(provider))


@pytest.mark.parametrize(
    "value",
    ["\ud800 lone", 2**70, -(2**70), float("inf"), "x" * 200_000],
    ids=["surrogate", "big", "-big", "inf", "long"],
)
def test_the_server_accepts_any_value(provider: Provider, value: Any) -> None:
    provider.tracer.start_span("one", attributes={"service.prompt.id": 17, "value": value}).end()

    [batch] = batches(provider.spans, unexpected)

    assert len(decode(batch.body).spans) == 1


@pytest.mark.parametrize("end", [float("nan"), float("inf"), -1, "soon"], ids=str)
def test_the_server_gives_a_span_with_an_invalid_end_the_time_of_its_start(provider: Provider, end: Any) -> None:
    provider.tracer.start_span("one", attributes={"service.prompt.id": 17}).end(end)

    [batch] = batches(provider.spans, unexpected)

    [span] = decode(batch.body).spans
    assert span.end_ns == span.start_ns


def test_a_value_that_is_nested_deeply_is_cut() -> None:
    deep: Any = "end"
    for _ in range(10_000):
        deep = [deep]
    context = SpanContext(1, 1, is_remote=False)

    [batch] = batches([ReadableSpan("one", context, attributes={"deep": deep}, resource=Resource({}))], unexpected)

    assert batch.body.count(b"arrayValue") == MAX_DEPTH


def test_spans_that_are_large_together_are_several_batches(provider: Provider) -> None:
    for number in range(10):
        provider.tracer.start_span(f"span {number}", attributes={"text": "x" * 1000}).end()

    found = list(batches(provider.spans, unexpected, limit=4000))

    assert len(found) > 2
    assert sum(batch.spans for batch in found) == 10
    names = [span["name"] for batch in found for span in spans_of(json.loads(batch.body))]
    assert names == [f"span {number}" for number in range(10)]
