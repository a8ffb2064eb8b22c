"""Faults below the API's calls: unwanted bodies, broken connections, bytes that are no HTTP."""

import gzip
import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.deployment import EmbeddedServer
from tests.support.waiting import LOOPBACK

TRACES, PROMPTS, RUN = "/api/public/otel/v1/traces", "/api/v1/prompts", "/api/v1/prompts/run"
MIB = 1024 * 1024
JSON = {"Content-Type": "application/json"}


@contextmanager
def connected(backend: EmbeddedServer) -> Iterator[socket.socket]:
    with socket.create_connection((LOOPBACK, urlsplit(backend.url).port or 0), timeout=120) as connection:
        yield connection


def heard(connection: socket.socket) -> tuple[int, http.client.HTTPMessage, bytes]:
    """(status, headers, body) of the next answer."""
    with http.client.HTTPResponse(connection) as answer:
        answer.begin()
        return answer.status, answer.headers, answer.read()


def say(backend: EmbeddedServer, request: bytes) -> tuple[int, http.client.HTTPMessage, bytes]:
    """(status, headers, body) of the answer to these bytes."""
    with connected(backend) as connection:
        connection.sendall(request)
        return heard(connection)


def head(backend: EmbeddedServer, *lines: str, method: str = "POST", path: str = PROMPTS, key: str = "") -> bytes:
    """The head of a request with the demo project's key, unless given another."""
    key = key or backend.client().api_key
    known = ("Host: localhost", f"Authorization: Bearer {key}", "Content-Type: application/json")
    return "\r\n".join([f"{method} {path} HTTP/1.1", *known, *lines, "", ""]).encode()


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
    backend: EmbeddedServer, path: str, size: int, headers: dict[str, str], status: int
) -> None:
    answer = backend.client().post(path, body=b" " * size, headers=headers)

    assert answer.status == status
    assert answer.json()["error"]


def test_a_connection_outlives_a_refused_body(backend: EmbeddedServer) -> None:
    key = {"Authorization": f"Bearer {backend.client().api_key}"}
    connection = http.client.HTTPConnection(urlsplit(backend.url).netloc, timeout=120)
    connection.request("POST", PROMPTS, b" " * (3 * MIB), JSON | key)
    refused = connection.getresponse()
    refused.read()
    spoken_through = connection.sock
    connection.request("GET", f"{PROMPTS}?limit=1", headers=key)

    assert (refused.status, connection.getresponse().status) == (413, 200)
    assert connection.sock is spoken_through
    connection.close()


def test_a_refused_body_that_never_comes_is_not_waited_for(backend: EmbeddedServer) -> None:
    status, _, body = say(backend, head(backend, "Content-Length: 99999999"))

    assert (status, set(json.loads(body))) == (413, {"error"})


@pytest.mark.parametrize("chunks", [b"zz\r\nabc\r\n0\r\n\r\n", b"2\r\nabc\r\n0\r\n\r\n", b"-1\r\n\r\n"])
@pytest.mark.parametrize("path", [PROMPTS, RUN, TRACES])
def test_broken_chunks_are_the_callers_fault(backend: EmbeddedServer, path: str, chunks: bytes) -> None:
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
def test_what_is_no_http_is_answered_in_the_apis_way(backend: EmbeddedServer, request_: bytes, status: int) -> None:
    answered, headers, body = say(backend, request_)

    assert (answered, headers["Content-Type"], headers["Connection"]) == (status, "application/json", "close")
    assert headers["X-Request-Id"]
    assert set(json.loads(body)) == {"error"}


LIVE = b"GET /health/live "


@pytest.mark.parametrize(
    "request_",
    [
        LIVE + b"HTTP/1.1\r\n\r\n",
        LIVE + b"HTTP/1.2\r\n\r\n",
        LIVE + b"HTTP/1.1\r\nX-Forwarded-Host: localhost\r\n\r\n",
        b"GET http://localhost/health/live HTTP/1.1\r\n\r\n",
        *(LIVE + b"HTTP/1.%d\r\nHost: localhost\r\nhost: localhost\r\n\r\n" % minor for minor in (0, 1, 2)),
        LIVE + b"HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        *(
            LIVE + b"HTTP/1.1\r\nHost: " + host + b"\r\n\r\n"
            for host in (b"a b", b"a/b", b"user@a", b"a:b", b"a:1:2", b"[::1", b"[]", b"a\\b", b"a?b", b"\xe4.example")
        ),
        LIVE + b"HTTP/2.0\r\nHost: localhost\r\n\r\n",
        LIVE + b"HTTP/0.9\r\nHost: localhost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_a_request_without_its_one_valid_host_or_of_another_version_is_400(
    backend: EmbeddedServer, request_: bytes
) -> None:
    status, headers, body = say(backend, request_)

    assert (status, headers["Connection"], set(json.loads(body))) == (400, "close", {"error"})


def test_a_grpc_exporter_gets_the_protocol_to_set(backend: EmbeddedServer) -> None:
    body = say(backend, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")[2]

    assert "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf" in json.loads(body)["error"]
    assert "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf" in (backend.home / "serve.log").read_text()


def test_the_status_line_of_a_refused_batch_has_the_reason(backend: EmbeddedServer) -> None:
    request = b"POST /api/public/otel/v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
    with connected(backend) as connection:
        connection.sendall(request)
        line = connection.makefile("rb").readline()

    assert line == b"HTTP/1.1 401 Send the header Authorization: Bearer <API_KEY>.\r\n"
    assert "batch_refused" in (backend.home / "serve.log").read_text()


@pytest.mark.parametrize(
    "head_",
    [
        b"HTTP/1.0\r\n",
        b"HTTP/1.2\r\nHost: localhost\r\n",
        b"HTTP/1.9\r\nHost: localhost\r\n",
        *(
            b"HTTP/1.1\r\nHost: " + host + b"\r\n"
            for host in (
                b"",
                b"localhost:80",
                b"localhost:",
                b"my_service.example",
                b"[::1]:8000",
                b"127.0.0.1",
                b"%C3%A4.example",
            )
        ),
    ],
)
def test_a_request_with_its_one_host_is_answered_whatever_minor_version_it_has(
    backend: EmbeddedServer, head_: bytes
) -> None:
    assert say(backend, LIVE + head_ + b"\r\n")[0] == 200


def test_the_second_request_of_a_connection_needs_a_host_too(backend: EmbeddedServer) -> None:
    with connected(backend) as connection:
        # One after the other: reading the first answer may also buffer bytes of the second.
        connection.sendall(LIVE + b"HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert heard(connection)[0] == 200
        connection.sendall(LIVE + b"HTTP/1.1\r\n\r\n")
        assert heard(connection)[0] == 400


LARGE = b"Content-Length: 1000000\r\n\r\n" + b" " * 1_000_000
FORM = b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
CUT = gzip.compress(b"{}" * 1000)[:-9]
CUT_LENGTH = f"Content-Length: {len(CUT)}"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (lambda backend: head(backend, key="unknown")[:-2] + LARGE, 401),
        (lambda backend: head(backend, "Transfer-Encoding: chunked", key="unknown") + b"2\r\n{}\r\n0\r\n\r\n", 401),
        (lambda backend: head(backend, "Content-Encoding: br", path=TRACES)[:-2] + LARGE, 415),
        (lambda backend: head(backend, "Content-Encoding: gzip", path=TRACES)[:-2] + LARGE, 400),
        (lambda backend: head(backend, "Content-Encoding: gzip", CUT_LENGTH, path=TRACES) + CUT, 400),
        (lambda backend: head(backend, method="DELETE", path=f"{PROMPTS}/999999")[:-2] + LARGE, 404),
        (lambda backend: head(backend, method="PUT")[:-2] + LARGE, 405),
        (lambda backend: head(backend, method="GET")[:-2] + LARGE, 200),
        (lambda _: b"POST /projects/1/prompts/new" + FORM + LARGE, 303),
        (lambda _: b"POST /sign-in" + FORM.replace(b"application/x", b"text/x") + LARGE, 415),
    ],
    ids=["key", "chunks", "br", "no gzip", "cut gzip", "not there", "method", "GET", "signed out", "no form"],
)
def test_the_next_request_of_a_connection_is_understood_whatever_became_of_a_body(
    backend: EmbeddedServer, request_: Callable[[EmbeddedServer], bytes], status: int
) -> None:
    with connected(backend) as connection:
        connection.sendall(request_(backend))
        assert heard(connection)[0] == status

        connection.sendall(head(backend, method="GET", path=f"{PROMPTS}?limit=1"))
        assert "prompts" in json.loads(heard(connection)[2])


@pytest.mark.parametrize("path", [PROMPTS, RUN, TRACES, f"{PROMPTS}/1/render"])
@pytest.mark.parametrize("body", ["Content-Length: 10\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n5\r\n{}"])
def test_who_hangs_up_in_the_middle_of_a_body_changes_nothing_and_the_connection_ends(
    backend: EmbeddedServer, path: str, body: str
) -> None:
    with connected(backend) as connection:
        connection.sendall(head(backend, path=path)[:-2] + body.encode())
        connection.shutdown(socket.SHUT_WR)

        assert heard(connection)[0] == 400
        assert connection.recv(1) == b""


# Long enough for a slow machine to notice that something has come, which it must within the pauses of this file.
SILENCE_S = 3
IMPATIENT = {"REPRISE_HEAD_S": "300", "REPRISE_SILENCE_S": str(SILENCE_S), "REPRISE_MIN_BYTES_PER_S": "1"}


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("impatient"), IMPATIENT) as server:
        yield server


@pytest.mark.parametrize("body", ["Content-Length: 10\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n5\r\n{}"])
def test_a_caller_silent_in_the_middle_of_a_body_is_answered_and_cut_off(impatient: EmbeddedServer, body: str) -> None:
    with connected(impatient) as connection:
        connection.sendall(head(impatient)[:-2] + body.encode())

        status, _, answer = heard(connection)
        assert (status, json.loads(answer)) == (
            400,
            {"error": "The body can't be read to its end: it was sent too slowly."},
        )
        assert connection.recv(1) == b""


def test_a_caller_that_reads_nothing_of_a_long_answer_occupies_no_thread(tmp_path: Path) -> None:
    settings = {"REPRISE_SILENCE_S": "1", "REPRISE_WEB_THREADS": "1"}
    with EmbeddedServer(tmp_path, settings) as server, socket.socket() as connection:
        values = [{"name": "v", "content": "&" * 10_000, "isDefault": True}]
        long = {"name": "long", "value": "{{k}}" * 190, "placeholders": [{"key": "k", "values": values}]}
        prompt_id = server.client().post(PROMPTS, long).json()["prompt"]["id"]
        # Far less than the ten megabytes of the answer fit into the buffers on the way.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((LOOPBACK, urlsplit(server.url).port))
        connection.sendall(head(server, "Content-Length: 0", path=f"{PROMPTS}/{prompt_id}/render"))
        assert connection.recv(12) == b"HTTP/1.1 200"

        assert server.client().get("/health/live").status == 200
        assert "Socket error" not in server.process.output_tail()


def test_a_slow_line_is_no_silent_one(impatient: EmbeddedServer) -> None:
    with connected(impatient) as connection:
        connection.sendall(head(impatient, "Content-Length: 7"))
        for _ in range(7):
            time.sleep(SILENCE_S / 6)
            connection.sendall(b" ")

        assert "not valid JSON" in json.loads(heard(connection)[2])["error"]


def test_a_quiet_connection_is_kept_between_requests(impatient: EmbeddedServer) -> None:
    with connected(impatient) as connection:
        connection.sendall(head(impatient, method="GET"))
        assert heard(connection)[0] == 200
        time.sleep(SILENCE_S + 0.5)
        connection.sendall(head(impatient, method="GET"))
        assert heard(connection)[0] == 200
