"""Clients with a limit for the whole exchange."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress

import httpcore
import pytest

from app.errors import Unavailable
from app.network import limited_exchange
from app.network.limited_exchange import LimitedBackend
from app.network.openid import TIMEOUT_S, OpenIdAttempt, OpenIdProvider
from tests.support.waiting import LOOPBACK

ATTEMPT = OpenIdAttempt(state="state", nonce="nonce", verifier="v" * 43)


class Clock:
    """A clock that goes on by a second each time that it is read, and lets a server send a byte then."""

    def __init__(self) -> None:
        self.now = 0.0
        self.bytes_due = threading.Semaphore(0)

    def __call__(self) -> float:
        self.now += 1
        self.bytes_due.release()
        return self.now


@contextmanager
def dripping(beginning: bytes, bytes_due: threading.Semaphore) -> Iterator[int]:
    """Listen on the port that is yielded: the answer begins like this, and goes on byte by byte."""
    with socket.create_server((LOOPBACK, 0)) as listening:

        def answer() -> None:
            # On a busy machine the test may have closed the socket before this thread begins.
            with suppress(OSError), listening.accept()[0] as connection:
                connection.sendall(beginning)
                while bytes_due.acquire():
                    connection.sendall(b" ")

        threading.Thread(target=answer, daemon=True).start()
        yield listening.getsockname()[1]


@pytest.mark.parametrize(
    "beginning",
    [b"HTTP/1.1", b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"],
    ids=["status", "head", "body"],
)
def test_a_provider_that_sends_its_answer_byte_by_byte_is_given_up(beginning: bytes) -> None:
    clock = Clock()
    with dripping(beginning, clock.bytes_due) as port:
        provider = OpenIdProvider(f"http://{LOOPBACK}:{port}", "reprise", "", "http://reprise/return", monotonic=clock)
        with pytest.raises(Unavailable, match="does not answer as it should"):
            provider.authorization_url(ATTEMPT)
    assert TIMEOUT_S <= clock.now <= 2 * TIMEOUT_S


def test_a_name_that_is_not_found_in_time_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited_exchange, "lookup", lambda *_: Future[list[str]]())
    with pytest.raises(httpcore.ConnectTimeout, match="not found in time"):
        LimitedBackend(lambda: 0.01).connect_tcp("id.example", 443)


def test_a_server_that_begins_no_tls_is_given_up() -> None:
    left_s = iter([10.0, 10.0, 0.01])
    with dripping(b"", threading.Semaphore(0)) as port:
        stream = LimitedBackend(lambda: next(left_s)).connect_tcp(LOOPBACK, port)
        with pytest.raises(httpcore.ConnectTimeout):
            stream.start_tls(ssl.create_default_context(), LOOPBACK, timeout=10)
        stream.close()


def test_nothing_is_sent_when_the_time_is_over() -> None:
    left_s = iter([10.0, 10.0, 0.0])
    with dripping(b"", threading.Semaphore(0)) as port:
        stream = LimitedBackend(lambda: next(left_s)).connect_tcp(LOOPBACK, port)
        with pytest.raises(httpcore.WriteTimeout):
            stream.write(b"GET / HTTP/1.1\r\n\r\n", timeout=10)
        stream.close()


@pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254"])
def test_a_name_that_leads_to_a_metadata_service_is_not_called(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    resolved = Future[list[str]]()
    resolved.set_result([LOOPBACK, address])
    monkeypatch.setattr(limited_exchange, "lookup", lambda *_: resolved)
    with pytest.raises(httpcore.ConnectError, match="never called"):
        LimitedBackend(lambda: 1.0).connect_tcp("id.example", 443)


def test_interim_answers_without_end_are_given_up() -> None:
    with socket.create_server((LOOPBACK, 0)) as listening:

        def answer() -> None:
            with suppress(OSError), listening.accept()[0] as connection:
                while True:
                    connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000)

        threading.Thread(target=answer, daemon=True).start()
        issuer = f"http://{LOOPBACK}:{listening.getsockname()[1]}"
        provider = OpenIdProvider(issuer, "reprise", "", "http://reprise/return", monotonic=lambda: 0.0)
        with pytest.raises(Unavailable, match="too many bytes"):
            provider.authorization_url(ATTEMPT)
