"""Spans are sent in bounded batches, as often as needed, and an instance's answers are counted and reported."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.remote import Remote
from reprise_formats.importers.records import ImportedRecord
from reprise_formats.importers.sending import BATCH_BYTES, BATCH_SPANS, ID_MAX, Import
from reprise_formats.importers.spans import ImportedSpan


def convert(record: Any, at_ns: int) -> list[ImportedSpan]:
    return [
        ImportedSpan(record["id"], str(number), None, "x" * record.get("size", 1), at_ns, at_ns)
        for number in range(record.get("spans", 1))
    ]


def records(*values: dict[str, Any]) -> Iterator[ImportedRecord]:
    return iter([ImportedRecord(f"line {number}", value) for number, value in enumerate(values, 1)])


class Instance:
    """Answers each batch with the next of `answers`, then with success; keeps how many spans each batch had."""

    def __init__(self, *answers: httpx.Response) -> None:
        self.batches: list[int] = []
        self.reports: list[str] = []
        self.slept: list[float] = []
        self._answers = iter(answers)
        self._remote = Remote(
            "http://reprise", "rp_key", transport=httpx.MockTransport(self._answer), sleep=self.slept.append
        )

    def run(self, *values: dict[str, Any], strict: bool = False, **limits: int) -> Import:
        def send(body: bytes, headers: dict[str, str]) -> httpx.Response:
            return self._remote.ingest("/traces", body, headers)

        done = Import(convert, "x", send, self.reports.append, strict, **limits)
        done.run(records(*values), 10**18)
        return done

    def _answer(self, request: httpx.Request) -> httpx.Response:
        assert request.headers["Content-Encoding"] == "gzip"
        batch = json.loads(gzip.decompress(request.content))
        self.batches.append(len(batch["resourceSpans"]))
        return next(self._answers, httpx.Response(200, json={"partialSuccess": {}}))


def test_a_record_with_spans_that_repeat_much_is_not_imported() -> None:
    instance = Instance()
    repeated = {"id": "a", "spans": 10, "size": 1000}

    done = instance.run(repeated, {"id": "b"}, repeated | {"id": "c", "spans": 2}, record_bytes=5_000)

    assert (done.spans, done.unread) == (3, 1)
    assert instance.reports == ["line 1: has more than 5,000 bytes of spans, of which each repeats what they share"]


def test_an_import_has_a_limit_of_all_spans() -> None:
    instance = Instance()

    done = instance.run(*({"id": id_, "size": 1000} for id_ in "abc"), {"id": "d"}, total_bytes=3_000)

    assert (done.spans, done.unread) == (2, 2)
    assert instance.reports[:1] == ["line 3: comes after spans of 3,000 bytes, which are all of an import"]


def test_records_that_are_not_imported_count_for_the_limit_of_all_spans() -> None:
    instance = Instance()
    repeated = {"id": "a", "spans": 10, "size": 1000}

    done = instance.run(repeated, repeated, {"without": "id"}, record_bytes=2_000, total_bytes=4_000)

    assert (done.spans, done.unread) == (0, 3)
    assert "comes after" in instance.reports[2]  # it is not converted, which would fail


def test_a_trace_with_a_very_long_id_is_not_imported() -> None:
    """It is hashed for each of its spans."""
    instance = Instance()

    done = instance.run({"id": "a" * (ID_MAX + 1)}, {"id": "a" * ID_MAX})

    assert (done.spans, done.unread) == (1, 1)
    assert instance.reports == ["line 1: has the id of a trace with more than 1,000 characters"]


def test_batches_are_bounded_by_their_spans_and_bytes() -> None:
    instance = Instance()

    done = instance.run({"id": "a", "spans": BATCH_SPANS + 1}, {"id": "b", "size": BATCH_BYTES}, {"id": "c"})

    assert instance.batches == [BATCH_SPANS, 1, 1, 1]
    assert (done.spans, done.sessions) == (BATCH_SPANS + 3, 3)


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_instance_is_sent_the_batch_again_when_it_asks_for_it(status: int) -> None:
    instance = Instance(httpx.Response(status, headers={"Retry-After": "3"}, json={"error": "busy"}))

    assert instance.run({"id": "a"}).spans == 1
    assert (instance.batches, instance.slept) == ([1, 1], [3.0])


def test_a_batch_is_sent_again_when_its_answer_was_lost() -> None:
    class Lost(Instance):
        def _answer(self, request: httpx.Request) -> httpx.Response:
            answer = super()._answer(request)
            if len(self.batches) == 1:
                raise httpx.ReadTimeout("lost", request=request)
            return answer

    instance = Lost()

    assert (instance.run({"id": "a"}).spans, instance.batches) == (1, [1, 1])


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, {"partialSuccess": {"rejectedSpans": "2", "errorMessage": "too long"}}),
        (400, {"error": "too long", "message": "too long", "code": 3}),
    ],
)
def test_what_is_rejected_is_counted_and_reported_in_the_servers_words(status: int, body: Any) -> None:
    instance = Instance(httpx.Response(status, json=body))

    done = instance.run({"id": "a", "spans": 2})

    assert (done.spans, done.rejected, instance.reports) == (0, 2, ["too long"])


def test_a_batch_that_is_too_large_for_a_proxy_is_sent_in_halves() -> None:
    instance = Instance(*[httpx.Response(413, text="<html>Too large</html>")] * 3)

    done = instance.run({"id": "a", "spans": 4})

    assert instance.batches == [4, 2, 1, 1, 2]
    assert (done.spans, done.rejected, instance.reports) == (3, 1, ["The server answered 413."])


@pytest.mark.parametrize("answer", [{"text": "<html>"}, {"json": {"ok": True}}, {"json": 7}])
def test_a_success_of_another_server_ends_the_import(answer: dict[str, Any]) -> None:
    with pytest.raises(CouldNotRun):
        Instance(httpx.Response(200, **answer)).run({"id": "a"})


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_a_refusal_ends_the_import(status: int) -> None:
    instance = Instance(httpx.Response(status, json={"error": "No."}))

    with pytest.raises(CouldNotRun, match=f"{status}: No"):
        instance.run({"id": "a"})


def test_a_record_of_which_one_span_can_not_be_written_sends_none() -> None:
    instance = Instance()
    run = Import(lambda _record, _at: [*convert({"id": "a"}, 1), _unwritable()], "x", _never, instance.reports.append)

    run.run(records({}), 1)

    assert (run.spans, run.unread, len(instance.reports)) == (0, 1, 1)


def _unwritable() -> ImportedSpan:
    return ImportedSpan("a", "b", None, "c", 1, 1, {"d": float("nan")})


def _never(*_: Any) -> Any:
    raise AssertionError("nothing is to be sent")


def test_strict_sends_what_came_before_and_stops() -> None:
    instance = Instance()
    read = iter([ImportedRecord("line 1", {"id": "a"}), ImportedRecord("line 2", {}, "is bad"), _never])
    run = Import(
        convert, "x", lambda body, headers: instance._remote.ingest("/", body, headers), instance.reports.append, True
    )

    run.run(read, 1)  # type: ignore[arg-type]

    assert (run.spans, run.unread, instance.reports) == (1, 1, ["line 2: is bad"])
