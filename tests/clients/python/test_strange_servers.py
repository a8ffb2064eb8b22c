"""Any server at the address costs a client bounded memory and time, and reaches callers as a typed error."""

from __future__ import annotations

import gzip
import json
import re
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import pytest
from reprise_client import InvalidRequestError, Piece, RepriseError, ServerError, UnreachableError
from reprise_client.cli import remote
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.remote import Remote
from reprise_client.instrumentation.endpoint import Away, TraceEndpoint
from reprise_client.reading import Get
from reprise_client.runs import Follower, RunResult, events_request

from tests.clients.python.fakes import OWN, FakeReprise, client_of, record
from tests.fakes.json_server import serving
from tests.support.waiting import LOOPBACK

Connect = Callable[..., Any]


@contextmanager
def trickling(head: bytes, piece: bytes) -> Iterator[str]:
    """Give the URL of a server that answers with `head` and then a piece every now and then, without an end."""
    ended = threading.Event()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.rfile.readline()
            with suppress(OSError):
                self.wfile.write(head)
                while not ended.wait(0.02):
                    self.wfile.write(piece)

    with socketserver.ThreadingTCPServer((LOOPBACK, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://{LOOPBACK}:{server.server_address[1]}"
        ended.set()
        server.shutdown()
        thread.join()


def test_an_answer_without_an_end_is_given_up(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The whole lasts too long, and no piece does.
    monkeypatch.setattr("reprise_client.transport._timeout", lambda _answer_s: httpx.Timeout(60))
    with (
        trickling(b"HTTP/1.1 200 OK\r\n\r\n", b" ") as url,
        client_of(kind, url, timeout_s=0.2, first_wait_s=60) as client,
        pytest.raises(UnreachableError, match="took too long"),
    ):
        client.prompt(17)


INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"
LATE = "took too long|timed out"
HEADS_WITHOUT_END = [(b"HTTP/1.1 200 OK\r\nX-More: ", b"x"), (INTERIM, INTERIM)]


@pytest.mark.parametrize(("head", "piece"), HEADS_WITHOUT_END, ids=["header", "interim answers"])
def test_a_head_without_an_end_is_given_up(
    kind: str, head: bytes, piece: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reprise_client.runs.TRIES", 1)
    with trickling(head, piece) as url, client_of(kind, url, timeout_s=0.2, first_wait_s=60) as client:
        with pytest.raises(UnreachableError, match=LATE):
            client.prompt(17)
        with pytest.raises(UnreachableError, match=LATE):
            client.run(17, "?", timeout_s=0.2)
        with pytest.raises(UnreachableError, match=LATE):
            list(client.stream(17, "?", timeout_s=0.2))


@pytest.mark.parametrize(("head", "piece"), HEADS_WITHOUT_END, ids=["header", "interim answers"])
@pytest.mark.parametrize("is_proxy", [False, True])
def test_commands_and_exporters_give_up_a_head_without_an_end(
    head: bytes, piece: bytes, is_proxy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "HEAD_S", 0.2)
    with trickling(head, piece) as address:
        url = "http://reprise.test" if is_proxy else address
        monkeypatch.setenv("HTTP_PROXY" if is_proxy else "NO_PROXY", address)
        with pytest.raises(CouldNotRun, match=LATE):
            Remote(url, "key", tries=1).get("/api/v1/prompts")
        batches = TraceEndpoint(f"{url}/v1/traces", "key", timeout_s=0.2)
        with batches.open() as http:
            outcome = batches.send(http, b"{}")
    assert isinstance(outcome, Away)
    assert re.search(LATE, outcome.words)


@pytest.mark.parametrize("encoding", ["gzip, gzip", "gzip,identity", "deflate", "br", "zstd"])
def test_an_encoding_that_was_not_asked_for_is_given_up(
    kind: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reprise_client.runs.TRIES", 1)
    asked = []

    def answer(_method: str, _path: str, headers: Any, _body: Any) -> tuple[int, Any, dict[str, str]]:
        asked.append(headers["Accept-Encoding"])
        return 200, gzip.compress(gzip.compress(b" " * 10_000_000)), {"Content-Encoding": encoding}

    with serving(answer) as url:
        with client_of(kind, url, first_wait_s=60) as client:
            with pytest.raises(UnreachableError, match="another encoding than gzip"):
                client.prompt(17)
            with pytest.raises(UnreachableError, match="another encoding than gzip"):
                list(client.stream(17, "?"))
        instance = Remote(url, "key", tries=1)
        with pytest.raises(CouldNotRun, match="another encoding than gzip"):
            instance.get("/api/v1/prompts")
    assert set(asked) == {"gzip"}


def test_what_is_no_http_is_reported_so(kind: str) -> None:
    with (
        trickling(b"\xff\0 SSH-2.0\r\n\r\n", b"\0") as url,
        client_of(kind, url, first_wait_s=60) as client,
        pytest.raises(UnreachableError, match=f"^{url}: "),
    ):
        client.prompt(17)


def test_an_answer_that_inflates_beyond_all_bounds_is_given_up(
    connect: Connect, fake: FakeReprise, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reprise_client.transport.ANSWER_MAX", 1_000_000)
    fake.refusal = (200, gzip.compress(b" " * 50_000_000), {"Content-Encoding": "gzip"})

    with pytest.raises(UnreachableError, match="An answer of more than"):
        connect(first_wait_s=60).prompt(17)


STRANGE = [7, "text", [7], {"a": 1}, True, None]
FIELDS = ("tokens", "response_time_ms", "placeholders", "model", "cost", "toolCalls", "chainOfThoughts", "status")


@pytest.mark.parametrize("strange", STRANGE, ids=str)
def test_a_run_has_fields_of_the_types_that_it_declares(strange: Any) -> None:
    bodies = [dict.fromkeys(FIELDS, strange), {"placeholders": {"resolved": strange, "ignored": strange}}]
    for body in bodies:
        run = RunResult.parse(json.dumps({"answer": "Hi"} | body).encode(), 7, "http://reprise.test")

        assert all(isinstance(value, dict) for value in (run.tokens, run.resolved, run.model, run.cost or {}))
        assert all(isinstance(call, dict) for call in run.tool_calls)
        assert all(isinstance(key, str) for key in run.ignored)
        assert isinstance(run.response_time_ms, int)
        assert isinstance(run.chain_of_thoughts or run.nok or "", str)


def test_an_answer_of_too_many_elements_is_given_up(
    connect: Connect, fake: FakeReprise, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reprise_client.records.ELEMENTS_MAX", 1_000)
    for many in ([{}] * 501, [[]] * 501, list(range(1_001)), {str(number): 0 for number in range(1_001)}):
        fake.refusal = (200, record(17, "Hi") | {"more": many}, {})
        with pytest.raises(UnreachableError, match="did not answer as Reprise does"):
            connect(first_wait_s=60).prompt(17)

    fake.refusal = (200, record(17, "Hi") | {"more": [0] * 900}, {})
    assert connect(first_wait_s=60).prompt(17).value == "Hi"


def test_a_stream_of_one_endless_event_is_given_up(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprise_client.events.EVENT_MAX", 100_000)
    monkeypatch.setattr("reprise_client.runs.TRIES", 1)
    with (
        trickling(b"HTTP/1.1 200 OK\r\n\r\ndata: ", b"x" * 50_000) as url,
        client_of(kind, url) as client,
        pytest.raises(UnreachableError, match="An event of more than"),
    ):
        list(client.stream(17, "?"))


def test_a_redirect_is_not_followed_with_the_key(connect: Connect, fake: FakeReprise, url: str) -> None:
    fake.refusal = (308, None, {"Location": "http://127.0.0.1:9/"})

    with pytest.raises(ServerError, match=f"^{url}/api/v1/prompts/17 answered 308"):
        connect().prompt(17)


@pytest.mark.parametrize("body", [None, b"<html>", {"error": {"nested": 1}}, [1], b"[" * 100_000, b'{"error": "\xff"}'])
def test_an_error_without_the_servers_words_names_its_status(connect: Connect, fake: FakeReprise, body: Any) -> None:
    fake.refusal = (418, body, {})

    with pytest.raises(InvalidRequestError, match=r"answered 418\.$"):
        connect().prompt(17)


def test_words_without_an_end_are_cut(connect: Connect, fake: FakeReprise) -> None:
    fake.refuse(400, "x" * 200_000)

    with pytest.raises(InvalidRequestError, match=r"^x{2000}$"):
        connect().prompt(17)


def test_what_no_header_can_have_is_not_sent_back() -> None:
    follower = Follower(events_request(7, 60))
    for id_ in ("1-0", "é"):
        assert list(follower.feed(f'id: {id_}\ndata: {{"text": "a"}}\n\n'.encode())) == [Piece("token", "a")]

    assert follower.headers["Last-Event-ID"] == "1-0"
    assert Get("/", etag='"é"').headers == {}
    assert Get("/", etag='"e"').headers == {"If-None-Match": '"e"'}


@pytest.mark.parametrize("after", ["soon", "-1", "1e9", "9" * 400, "Wed, 21 Oct 2015 07:28:00 GMT", "\xff"])
def test_a_strange_retry_after_breaks_nothing(connect: Connect, fake: FakeReprise, after: str) -> None:
    fake.refuse(429, "Not now.", Retry_After=after)

    with pytest.raises(RepriseError, match=r"^Not now\.$") as raised:
        connect().prompt(17)
    assert (raised.value.retry_after_s or 0) <= 3600  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "answer",
    [
        {"label": "other", "commitHash": OWN, "split": None},
        {"label": "live", "commitHash": 1, "split": None},
        {"label": "live", "commitHash": OWN, "split": []},
        {"label": "live", "commitHash": OWN, "split": {"commitHash": OWN, "share": "half"}},
        {"label": "live", "commitHash": OWN, "split": {"share": 0.5}},
    ],
    ids=json.dumps,
)
def test_a_label_that_can_not_be_read_is_reported_so(kind: str, answer: Any) -> None:
    def answered(_method: str, path: str, *_: Any) -> tuple[int, Any]:
        return 200, answer if "/labels/" in path else record(17, "x")

    with (
        serving(answered) as url,
        client_of(kind, url) as client,
        pytest.raises(UnreachableError, match="did not answer as Reprise does"),
    ):
        client.prompt(17, label="live", split_key="user")
