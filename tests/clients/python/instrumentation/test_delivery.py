"""Spans reach Reprise: at once, after an outage, after the process died; and what never will is dropped with a word."""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from pathlib import Path

import httpx
import pytest
from opentelemetry import context, trace
from reprise_client.instrumentation import Limits, delivery
from reprise_client.instrumentation.delivery import Delivery
from reprise_client.instrumentation.endpoint import Away, Outcome, Stored, TraceEndpoint
from reprise_client.instrumentation.otlp_json import Batch
from reprise_client.instrumentation.spool import Spool

from tests.clients.python.instrumentation.conftest import KEY, Instrument, batches_in
from tests.fakes.collector import Collector, Reply
from tests.support.waiting import wait_until

LOGGER = "reprise_client.instrumentation"


def record(*names: str) -> None:
    for name in names:
        trace.get_tracer("app").start_span(name).end()


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [entry.getMessage() for entry in caplog.records if entry.name == LOGGER and entry.levelno >= logging.WARNING]


def test_spans_go_to_the_address_of_the_prompt_with_the_key(start: Instrument, collector: Collector) -> None:
    instrumentation = start()
    record("one", "two")

    assert instrumentation.flush(60)

    path, headers, _ = collector.requests[0]
    assert path == "/api/public/prompts/17/otel/v1/traces"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert (headers["Content-Type"], headers["Content-Encoding"]) == ("application/json", "gzip")
    assert collector.names == ["one", "two"]


def test_nothing_stays_on_disk_that_is_stored(start: Instrument, tmp_path: Path) -> None:
    instrumentation = start()
    record("one")

    assert instrumentation.flush(60)

    assert batches_in(tmp_path) == []


def test_spans_are_sent_without_being_flushed(start: Instrument, collector: Collector) -> None:
    start()
    record("one")

    wait_until(lambda: collector.names == ["one"], "the span")


def test_what_is_recorded_while_reprise_is_away_is_sent_in_order_when_it_is_back(
    start: Instrument, collector: Collector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    instrumentation = start()
    collector.stop()
    for name in ("one", "two", "three"):
        record(name)
        assert not instrumentation.flush(60)
    assert len(batches_in(tmp_path)) == 3

    collector.start()

    wait_until(lambda: batches_in(tmp_path) == [], "the batches")
    assert collector.names == ["one", "two", "three"]
    assert len(warnings(caplog)) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_batch_that_can_not_be_taken_now_is_sent_again(start: Instrument, collector: Collector, status: int) -> None:
    collector.replies.append(Reply(status, {"message": "not now"}))
    instrumentation = start()
    record("one")
    instrumentation.flush(60)

    wait_until(lambda: collector.names == ["one"], "the span")


def test_an_answer_that_is_not_that_of_reprise_loses_nothing(start: Instrument, collector: Collector) -> None:
    collector.always = Reply(200, {"login": "please"})
    instrumentation = start()
    record("one")
    assert not instrumentation.flush(60)
    collector.always = Reply()

    wait_until(instrumentation.flush, "the span")


def test_the_time_that_reprise_asks_for_is_waited(start: Instrument, collector: Collector) -> None:
    collector.always = Reply(429, {"message": "too many"}, {"Retry-After": "100"})
    instrumentation = start()
    record("one")
    assert not instrumentation.flush(60)
    asked = len(collector.requests)

    for _ in range(3):
        assert not instrumentation.flush(60)

    assert len(collector.requests) == asked


def test_the_next_process_sends_what_one_left(start: Instrument, collector: Collector, tmp_path: Path) -> None:
    collector.stop()
    first = start()
    record("one")
    first.shutdown()
    assert len(batches_in(tmp_path)) == 1

    collector.start()
    start()

    wait_until(lambda: collector.names == ["one"], "the span")


def test_a_request_that_a_shutdown_meets_has_ended_after_it(tmp_path: Path) -> None:
    retrying, ended = threading.Event(), threading.Event()

    class Unreachable(TraceEndpoint):
        """Fails the first request at once, and a later one after some time."""

        def send(self, http: httpx.Client, body: bytes) -> Outcome:
            if retrying.is_set():
                time.sleep(0.2)
                ended.set()
            retrying.set()
            return Away("connection refused")

    leaving = Delivery(Spool(tmp_path, Limits()), Unreachable("http://127.0.0.1:9", KEY))
    leaving.put(Batch(b"{}", 1))
    assert retrying.wait(60)

    leaving.shutdown(60)

    assert ended.is_set()
    assert leaving._thread is not None
    assert not leaving._thread.is_alive()


def test_a_prompts_batches_go_to_no_other_prompt(start: Instrument, collector: Collector, tmp_path: Path) -> None:
    collector.stop()
    first = start(prompt=17)
    record("one")
    first.shutdown()
    collector.start()

    second = start(prompt=18)

    assert second.flush(60)
    assert collector.requests == []
    assert len(batches_in(tmp_path)) == 1


@pytest.mark.parametrize("status", [301, 400, 401, 404, 413])
def test_what_reprise_refuses_is_dropped_with_one_warning_in_its_words(
    start: Instrument, collector: Collector, tmp_path: Path, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    collector.always = Reply(status, {"code": 5, "message": "There is no such prompt."})
    instrumentation = start()
    for name in ("one", "two"):
        record(name)
        instrumentation.flush(60)

    assert batches_in(tmp_path) == []
    assert warnings(caplog) == [f"Reprise refused 1 spans, which are dropped: {status}: There is no such prompt."]


@pytest.mark.parametrize("body", [{"message": "Forbidden"}, {"error": "no backend", "code": 404}, {}])
@pytest.mark.parametrize("status", [301, 401, 403, 404])
def test_what_a_proxy_refuses_is_sent_when_reprise_is_behind_it_again(
    start: Instrument, collector: Collector, status: int, body: dict[str, object]
) -> None:
    collector.replies.append(Reply(status, body))
    instrumentation = start()
    record("one")

    wait_until(instrumentation.flush, "the span")
    assert (collector.names, len(collector.requests)) == (["one"], 2)


def test_a_batch_that_can_not_be_removed_is_sent_once_and_holds_up_no_other(
    start: Instrument, collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that became read-only made the delivery send its first batch again and again."""
    instrumentation = start()
    collector.stop()
    for name in ("one", "two"):
        record(name)
        assert not instrumentation.flush(60)

    def read_only(path: Path, **_options: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "unlink", read_only)
    collector.start()

    wait_until(instrumentation.flush, "the spans")
    record("three")
    assert instrumentation.flush(60)
    assert collector.names == ["one", "two", "three"]
    assert len(batches_in(tmp_path)) == 3


def test_a_batch_at_which_the_server_fails_again_and_again_does_not_hold_up_the_others(
    start: Instrument, collector: Collector
) -> None:
    collector.replies.extend([Reply(500, {"message": "bug"})] * delivery.STRIKES)
    instrumentation = start()
    record("poison")
    instrumentation.flush(60)
    record("one")

    wait_until(lambda: collector.names == ["one"], "the batch after it")


def test_rejected_spans_are_reported_once_in_the_words_of_reprise(
    start: Instrument, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    partial = {"partialSuccess": {"rejectedSpans": "1", "errorMessage": "span 0123456789abcdef has no name"}}
    collector.always = Reply(200, partial)
    instrumentation = start()
    for name in ("one", "two"):
        record(name)
        instrumentation.flush(60)

    assert warnings(caplog) == ["Reprise rejected 1 of 1 spans: span 0123456789abcdef has no name"]


def test_a_span_that_can_not_be_encoded_is_dropped_with_one_warning_and_no_other_span_is(
    start: Instrument, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    instrumentation = start()
    for name in ("one", "two"):
        broken = trace.get_tracer("library").start_span("broken", kind=None)  # type: ignore[arg-type]
        broken.end()
        record(name)
        assert instrumentation.flush(60)

    assert collector.names == ["one", "two"]
    [warning] = warnings(caplog)
    assert warning.startswith("Spans that can't be encoded are dropped: AttributeError")


def test_a_span_with_an_invalid_time_is_sent(start: Instrument, collector: Collector) -> None:
    instrumentation = start()
    trace.get_tracer("library").start_span("undated").end(float("nan"))  # type: ignore[arg-type]
    record("later")

    assert instrumentation.flush(60)

    assert collector.names == ["undated", "later"]


def test_a_map_as_the_name_of_an_operation_breaks_no_application(start: Instrument, collector: Collector) -> None:
    instrumentation = start()
    attributes = {"gen_ai.operation.name": {"of": "map"}}
    trace.get_tracer("library").start_span("one", attributes=attributes).end()

    assert instrumentation.flush(60)

    assert collector.names == ["one"]


def test_the_oldest_go_when_more_waits_than_may(
    start: Instrument, collector: Collector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    collector.stop()
    instrumentation = start(limits=Limits(max_batches=3))
    for number in range(10):
        record(f"span {number}")
        instrumentation.flush(60)
    assert len(batches_in(tmp_path)) == 3

    collector.start()

    wait_until(lambda: batches_in(tmp_path) == [], "the batches")
    assert collector.names == ["span 7", "span 8", "span 9"]
    assert "1 spans that Reprise had not taken were dropped" in " ".join(warnings(caplog))


def test_a_folder_that_can_not_be_written_costs_no_span(
    start: Instrument, collector: Collector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    collector.replies.append(Reply(503))
    instrumentation = start(spool_dir=tmp_path / "file")
    record("one")
    instrumentation.flush(60)

    wait_until(instrumentation.flush, "the span")
    assert collector.names == ["one"]
    assert "kept in memory" in warnings(caplog)[0]


def test_what_a_process_did_not_finish_writing_is_not_sent(
    start: Instrument, collector: Collector, tmp_path: Path
) -> None:
    instrumentation = start()
    record("one")
    instrumentation.flush(60)
    [folder] = (tmp_path / "spool").iterdir()
    unfinished = folder / "00000000000000000001-1-0123456789abcdef.json.gz.tmp"
    unfinished.write_bytes(b"half a ba")
    os.utime(unfinished, (0, 0))
    (folder / "somebody else's file").write_text("hello")

    assert instrumentation.flush(60)

    assert len(collector.requests) == 1


def test_only_the_owner_may_read_the_kept_words(start: Instrument, collector: Collector, tmp_path: Path) -> None:
    collector.stop()
    instrumentation = start()
    record("one")
    instrumentation.flush(60)

    [batch] = batches_in(tmp_path)
    assert batch.stat().st_mode & 0o077 == 0
    assert batch.parent.stat().st_mode & 0o077 == 0
    assert KEY.encode() not in batch.read_bytes()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_sends_its_own_spans_and_none_of_its_parents(
    start: Instrument, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000")
    instrumentation = start()
    record("of the parent")
    child = os.fork()
    if child == 0:
        record("of the child")
        os._exit(0 if instrumentation.flush(60) else 1)

    assert os.waitpid(child, 0)[1] == 0
    assert collector.names == ["of the child"]
    assert instrumentation.flush(60)
    assert collector.names == ["of the child", "of the parent"]


def test_the_requests_of_the_delivery_are_no_spans(tmp_path: Path) -> None:
    suppressed: list[object] = []

    class Watched(TraceEndpoint):
        def send(self, http: httpx.Client, body: bytes) -> Outcome:
            suppressed.append(context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY))
            return Stored()

    delivered = Delivery(Spool(tmp_path, Limits()), Watched("http://127.0.0.1:1", KEY))
    delivered.put(Batch(b"{}", 1))
    assert delivered.flush(60)
    delivered.shutdown(60)

    assert suppressed == [True]


def test_many_threads_record_at_once(start: Instrument, collector: Collector) -> None:
    instrumentation = start()
    names = [f"span {number}" for number in range(400)]
    threads = [threading.Thread(target=record, args=names[part::4]) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert instrumentation.flush(60)
    assert sorted(collector.names) == sorted(names)


def test_shutdown_does_not_wait_for_a_server_that_is_away(
    start: Instrument, collector: Collector, tmp_path: Path
) -> None:
    collector.stop()
    instrumentation = start()
    record("one")

    instrumentation.shutdown()
    instrumentation.shutdown()

    assert len(batches_in(tmp_path)) == 1
