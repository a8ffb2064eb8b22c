"""Whole answers of any server have a limit of bytes, after decompression, and of time."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import httpx
import pytest
from reprise_client.cli import remote
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.remote import Remote
from reprise_client.instrumentation import endpoint
from reprise_client.instrumentation.endpoint import Away, Stored, TraceEndpoint
from reprise_client.whole_answers import whole_answer

BOMB = gzip.compress(b'{"partialSuccess": {}, "more": "' + b"x" * 50_000_000 + b'"}')
ZIPPED = {"Content-Encoding": "gzip"}


def answering(content: bytes, headers: dict[str, str]) -> httpx.MockTransport:
    return httpx.MockTransport(lambda _: httpx.Response(200, content=content, headers=headers))


def test_an_answer_to_a_batch_that_inflates_beyond_all_bounds_is_no_answer() -> None:
    batches = TraceEndpoint("http://reprise.test/v1/traces", "key")
    with httpx.Client(transport=answering(BOMB, ZIPPED)) as http:
        outcome = batches.send(http, b"{}")
    assert isinstance(outcome, Away)
    assert f"more than {endpoint.ANSWER_MAX} bytes" in outcome.words

    with httpx.Client(transport=answering(gzip.compress(b'{"partialSuccess": {}}'), ZIPPED)) as http:
        assert batches.send(http, b"{}") == Stored()


def test_an_answer_to_a_command_that_inflates_beyond_all_bounds_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "ANSWER_MAX", 1_000_000)
    instance = Remote("http://reprise.test", "key", transport=answering(BOMB, ZIPPED), sleep=lambda _: None)
    with pytest.raises(CouldNotRun, match="more than 1000000 bytes"):
        instance.get("/api/v1/prompts")
    instance.close()


def test_an_answer_that_drips_has_a_last_moment() -> None:
    moments = iter(range(100))

    def drops() -> Iterator[bytes]:
        while True:
            yield b" "

    dripping = httpx.Response(200, content=drops(), request=httpx.Request("GET", "http://reprise.test"))
    with pytest.raises(httpx.ReadTimeout, match="took too long"):
        whole_answer(dripping, bytes_max=1_000, until=5.0, monotonic=lambda: float(next(moments)))
    assert next(moments) == 7
