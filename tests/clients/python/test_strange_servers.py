"""Any server at the address costs a client bounded memory and time, and reaches callers as a typed error."""

from __future__ import annotations

import gzip
import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import pytest
from reprise_client import InvalidRequestError, Piece, RepriseError, ServerError, UnreachableError
from reprise_client.reading import Get
from reprise_client.runs import Follower, events_request

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
