"""Requests to receivers that misbehave, and to addresses that webhooks may not lead to."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from itertools import repeat

import pytest

from app.errors import Invalid
from app.network.proxies import parse_networks
from app.webhooks.sender import ANSWER_BYTES, DeliveryAttempt, WebhookSender
from tests.fakes.receiver import receiving
from tests.support.waiting import PATIENCE_S

LOOPBACK = parse_networks("127.0.0.0/8")
SHORT_S = 0.5
PIECE = b"x" * 65_536


@pytest.fixture
def sender() -> Iterator[WebhookSender]:
    sender = WebhookSender(networks=LOOPBACK, timeout_s=PATIENCE_S)
    yield sender
    sender.close()


@pytest.fixture
def hasty_sender() -> Iterator[WebhookSender]:
    sender = WebhookSender(networks=LOOPBACK, timeout_s=SHORT_S)
    yield sender
    sender.close()


def sent(sender: WebhookSender, url: str) -> DeliveryAttempt:
    return sender.post(url, {"webhook-id": "msg_1"}, b"{}")


def test_the_answer_has_a_status_and_the_beginning_of_its_text(sender: WebhookSender) -> None:
    def teapot(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(418)
        handler.end_headers()
        handler.wfile.write("Nön\0".encode())

    with receiving(teapot) as receiver:
        attempt = sent(sender, receiver.url)
    assert (attempt.status_code, attempt.answer, attempt.error) == (418, "Nön\N{REPLACEMENT CHARACTER}", None)
    assert not attempt.succeeded
    assert receiver.received[0].headers["webhook-id"] == "msg_1"


def test_a_receiver_that_hangs_is_given_up(hasty_sender: WebhookSender) -> None:
    with receiving() as receiver:
        receiver.behave = lambda _: receiver.stopped.wait() and None
        attempt = sent(hasty_sender, receiver.url)
    assert (attempt.status_code, attempt.error) == (None, "No answer within 0.5 s.")


def test_a_receiver_that_sends_its_head_for_ever_is_given_up(hasty_sender: WebhookSender) -> None:
    with receiving() as receiver:

        def drip(handler: BaseHTTPRequestHandler) -> None:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
            while not receiver.stopped.wait(0.01):
                handler.wfile.write(b"x")

        receiver.behave = drip
        attempt = sent(hasty_sender, receiver.url)
    assert (attempt.status_code, attempt.error) == (None, "No answer within 0.5 s.")


def test_of_an_answer_without_end_only_the_beginning_is_read(sender: WebhookSender) -> None:
    written = 0

    def flood(handler: BaseHTTPRequestHandler) -> None:
        nonlocal written
        handler.send_response(200)
        handler.send_header("Content-Length", str(2**30))
        handler.end_headers()
        for piece in repeat(PIECE, 2**30 // len(PIECE)):
            handler.wfile.write(piece)
            written += len(piece)

    with receiving(flood) as receiver:
        attempt = sent(sender, receiver.url)
    assert attempt.succeeded
    assert len(attempt.answer) == ANSWER_BYTES
    assert written < 2**26


def test_interim_answers_without_end_are_a_failure(sender: WebhookSender) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        for heads in repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 100):
            handler.wfile.write(heads)

    with receiving(endless) as receiver:
        attempt = sent(sender, receiver.url)
    assert (attempt.status_code, attempt.error) == (
        None,
        "The connection ended before the answer: The server sent too many bytes.",
    )


def test_a_connection_that_is_reset_is_a_failure_with_a_reason(sender: WebhookSender) -> None:
    with receiving(lambda handler: handler.connection.close()) as receiver:
        attempt = sent(sender, receiver.url)
    assert attempt.status_code is None
    assert (attempt.error or "").startswith(("The receiver broke off", "The connection ended before the answer"))


def test_a_redirect_is_not_followed(sender: WebhookSender) -> None:
    with receiving() as elsewhere:

        def redirect(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(307)
            handler.send_header("Location", elsewhere.url)
            handler.end_headers()

        with receiving(redirect) as receiver:
            attempt = sent(sender, receiver.url)
    assert (attempt.status_code, attempt.succeeded) == (307, False)
    assert elsewhere.received == []


def test_an_unreachable_receiver_is_a_failure_with_a_reason(sender: WebhookSender) -> None:
    with receiving() as receiver:
        url = receiver.url
    assert (sent(sender, url).error or "").startswith("No connection could be made. Check that the receiver runs")


def test_a_name_that_is_not_found_is_a_failure_with_a_reason(sender: WebhookSender) -> None:
    error = sent(sender, "http://receiver.invalid/hooks").error or ""
    assert error.startswith("The name of the host was not found. Check the address: ")


def test_a_receiver_without_tls_is_a_failure_with_a_reason(sender: WebhookSender) -> None:
    with receiving() as receiver:
        attempt = sent(sender, receiver.url.replace("http://", "https://"))
    assert (attempt.error or "").startswith("The receiver did not speak TLS")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "[::1]", "[::ffff:127.0.0.1]"])
def test_an_address_that_is_not_public_gets_nothing(host: str) -> None:
    sender = WebhookSender()
    try:
        with receiving() as receiver:
            attempt = sent(sender, receiver.url.replace("127.0.0.1", host))
        assert receiver.received == []
        assert "not public" in (attempt.error or "")
    finally:
        sender.close()


def test_a_metadata_address_is_refused_whatever_networks_are_allowed() -> None:
    with pytest.raises(Invalid, match="metadata"):
        WebhookSender(networks=parse_networks("0.0.0.0/0")).refuse("169.254.169.254")
