"""Whole answers of any server have a limit of bytes, after decompression, and of time."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from math import inf

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


@pytest.mark.parametrize("charset", ["idna", "punycode", "undefined", "unicode-escape", "hex", "zlib", "no such", "\0"])
def test_what_is_no_charset_of_texts_is_read_as_utf_8(charset: str) -> None:
    headers = {"Content-Type": f"text/plain; charset={charset}"}
    strange = httpx.Response(
        400, headers=headers, content="naïve \xff".encode(), request=httpx.Request("GET", "http://reprise.test")
    )

    assert whole_answer(strange, bytes_max=1_000, until=inf).text == "naïve ÿ"


def test_a_charset_of_texts_counts() -> None:
    headers = {"Content-Type": "text/plain; charset=latin-1"}
    latin = httpx.Response(
        200, headers=headers, content="naïve".encode("latin-1"), request=httpx.Request("GET", "http://reprise.test")
    )

    assert whole_answer(latin, bytes_max=1_000, until=inf).text == "naïve"


def test_an_export_in_an_encoding_that_was_not_asked_for_is_no_export() -> None:
    headers = {"Content-Type": remote.NDJSON, "Content-Encoding": "gzip, gzip"}
    twice = gzip.compress(gzip.compress(b"{}\n" * 1_000_000))
    instance = Remote("http://reprise.test", "key", transport=answering(twice, headers))

    with pytest.raises(CouldNotRun, match="another encoding than gzip"):
        list(instance.download("/api/v1/prompts/3/exports/sessions"))
