"""What goes wrong below the API's calls: bodies nobody wants, connections that break, what is no HTTP at all."""

import http.client
import json
import socket
from urllib.parse import urlsplit

import pytest

from tests.support.deployment import Deployment, EmbeddedServer
from tests.support.waiting import LOOPBACK

TRACES, PROMPTS, RUN = "/api/public/otel/v1/traces", "/api/v1/prompts", "/api/v1/prompts/run"
MIB = 1024 * 1024
JSON = {"Content-Type": "application/json"}
Backend = EmbeddedServer | Deployment


def say(backend: Backend, request: bytes) -> tuple[int, http.client.HTTPMessage, bytes]:
    """(status, headers, body) of the answer to these bytes."""
    with socket.create_connection((LOOPBACK, urlsplit(backend.url).port or 0), timeout=30) as connection:
        connection.sendall(request)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer.status, answer.headers, answer.read()


def head(backend: Backend, *lines: str, path: str = PROMPTS) -> bytes:
    """The head of a POST with the demo project's key."""
    known = ("Host: localhost", f"Authorization: Bearer {backend.client().api_key}", "Content-Type: application/json")
    return "\r\n".join([f"POST {path} HTTP/1.1", *known, *lines, "", ""]).encode()


@pytest.mark.parametrize(
    ("path", "size", "headers", "status"),
    [
        (RUN, 51 * MIB, JSON, 413),
        (TRACES, 21 * MIB, JSON, 413),
        (TRACES, 10 * MIB, {"Content-Type": "application/x-protobuf"}, 415),
        (TRACES, 10 * MIB, JSON | {"Authorization": "Bearer unknown"}, 401),
        ("/api/v1/nowhere", 10 * MIB, JSON, 404),
        ("/health/live", 10 * MIB, JSON, 405),
    ],
)
def test_who_sends_a_body_that_is_refused_unread_hears_why(
    backend: Backend, path: str, size: int, headers: dict[str, str], status: int
) -> None:
    answer = backend.client().post(path, body=b" " * size, headers=headers)

    assert answer.status == status
    assert answer.json()["error"]


def test_a_connection_outlives_a_refused_body(backend: Backend) -> None:
    key = {"Authorization": f"Bearer {backend.client().api_key}"}
    connection = http.client.HTTPConnection(urlsplit(backend.url).netloc, timeout=30)
    connection.request("POST", PROMPTS, b" " * (3 * MIB), JSON | key)
    refused = connection.getresponse()
    refused.read()
    spoken_through = connection.sock
    connection.request("GET", f"{PROMPTS}?limit=1", headers=key)

    assert (refused.status, connection.getresponse().status) == (413, 200)
    assert connection.sock is spoken_through
    connection.close()


def test_a_refused_body_that_never_comes_is_not_waited_for(backend: Backend) -> None:
    status, _, body = say(backend, head(backend, "Content-Length: 99999999"))

    assert (status, set(json.loads(body))) == (413, {"error"})


@pytest.mark.parametrize("chunks", [b"zz\r\nabc\r\n0\r\n\r\n", b"2\r\nabc\r\n0\r\n\r\n", b"-1\r\n\r\n"])
@pytest.mark.parametrize("path", [PROMPTS, RUN, TRACES])
def test_broken_chunks_are_the_callers_fault(backend: Backend, path: str, chunks: bytes) -> None:
    status, _, body = say(backend, head(backend, "Transfer-Encoding: chunked", path=path) + chunks)

    assert status == 400
    assert "can't be read to its end" in json.loads(body)["error"]


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\n\r\n", 400),
        (b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nX-Long: " + b"x" * 9000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nExpect: wonders\r\n\r\n", 417),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: wonders\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"GET /<script>\xff HTTP/1.1\r\n\r\n", 400),
    ],
    ids=["words", "version", "long line", "long header", "expectation", "coding", "lengths", "both lengths", "bytes"],
)
def test_what_is_no_http_is_answered_in_the_apis_way(backend: Backend, request_: bytes, status: int) -> None:
    answered, headers, body = say(backend, request_)

    assert (answered, headers["Content-Type"], headers["Connection"]) == (status, "application/json", "close")
    assert headers["X-Request-Id"]
    assert set(json.loads(body)) == {"error"}
