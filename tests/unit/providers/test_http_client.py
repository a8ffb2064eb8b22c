"""Vendors that send interim answers, such as `100 Continue`, before an answer, or without end."""

from __future__ import annotations

from http.client import HTTPException
from http.server import BaseHTTPRequestHandler
from itertools import repeat

import pytest
from urllib3.exceptions import HTTPError

from app.providers.http_client import INTERIM_MAX, HttpClient, pieces
from tests.fakes.receiver import receiving
from tests.support.waiting import PATIENCE_S

INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"


def answer(url: str) -> bytes:
    client = HttpClient()
    try:
        with client.post(url, {}, b"{}", PATIENCE_S) as response:
            return b"".join(pieces(response))
    finally:
        client.close()


def test_an_answer_after_interim_answers_is_read() -> None:
    def patient(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(INTERIM * INTERIM_MAX + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nHi")

    with receiving(patient) as receiver:
        assert answer(receiver.url) == b"Hi"


def test_interim_answers_without_end_are_a_failure() -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        for heads in repeat(INTERIM * 100):
            handler.wfile.write(heads)

    with receiving(endless) as receiver, pytest.raises((HTTPException, HTTPError), match="interim answers"):
        answer(receiver.url)
