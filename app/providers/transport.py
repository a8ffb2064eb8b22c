"""Bounds what is read of a vendor's answer: its bytes after decompression, its events, and the elements of its JSON."""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncIterable, AsyncIterator
from itertools import pairwise

import httpx

from app.providers.failures import ProviderFailure

ANSWER_BYTES = 16 * 1024 * 1024
# An answer with the status of an error is cut off here.
ERROR_BYTES = 64 * 1024
# A stream brings each piece of an answer in a frame, which is the greater part of it.
STREAM_FACTOR = 4
# The least that an event of a stream counts: reading it costs more than its bytes.
EVENT_BYTES = 128
EVENT_LINES = 100
# Lists, objects and their members in one piece of JSON, which cost a thousand times what bytes of a text do.
ELEMENTS = 250_000
_PIECE = 64 * 1024
_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LONGEST_END = 4


class BoundedTransport(httpx.AsyncBaseTransport):
    """Passes answers on until they exceed a bound, which is a `ProviderFailure`.

    `answer_bytes` bounds a whole answer after decompression or, when answers are `streamed`, one event.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, *, answer_bytes: int, streamed: bool) -> None:
        self._inner = inner
        self._answer_bytes = answer_bytes
        self._streamed = streamed

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["accept-encoding"] = "gzip"
        response = await self._inner.handle_async_request(request)
        # Decoded here: httpx would inflate each piece to whatever it holds.
        encoding = response.headers.pop("content-encoding", "identity").strip().lower()
        assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - as all asynchronous transports
        pieces = _decoded(response.stream, encoding)
        response.stream = _Stream(response.stream, self._bounded(pieces, response.status_code))
        return response

    def _bounded(self, pieces: AsyncIterator[bytes], status: int) -> AsyncIterator[bytes]:
        if status >= 400:
            return _cut_off(pieces)
        return (_events if self._streamed else _whole)(pieces, self._answer_bytes)


class _Stream(httpx.AsyncByteStream):
    def __init__(self, source: httpx.AsyncByteStream, pieces: AsyncIterator[bytes]) -> None:
        self._source = source
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        await self._source.aclose()


async def _decoded(sent: AsyncIterable[bytes], encoding: str) -> AsyncIterator[bytes]:
    """Inflate one gzip member, in pieces of a bounded size, so that the one that exceeds a bound is the last."""
    if encoding in ("", "identity"):
        async for piece in sent:
            yield piece
        return
    if encoding not in ("gzip", "x-gzip"):
        raise ProviderFailure("The answer has a content-encoding other than gzip, the one that was asked for.")
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    async for piece in sent:
        while piece and not inflate.eof:
            try:
                yield inflate.decompress(piece, _PIECE)
            except zlib.error as error:
                raise ProviderFailure(f"The answer is broken gzip: {error}.") from None
            piece = inflate.unconsumed_tail


async def _cut_off(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Pass on the first `ERROR_BYTES` of an error's answer, whose status says enough."""
    left = ERROR_BYTES
    async for piece in pieces:
        if kept := piece[:left]:
            yield kept
        left -= len(kept)


async def _whole(pieces: AsyncIterator[bytes], answer_bytes: int) -> AsyncIterator[bytes]:
    size = elements = 0
    async for piece in pieces:
        size += len(piece)
        elements += _elements(piece)
        if size > answer_bytes:
            raise _too_large(f"is larger than {answer_bytes} bytes")
        _check_elements(elements)
        yield piece


async def _events(pieces: AsyncIterator[bytes], event_bytes: int) -> AsyncIterator[bytes]:
    """Pass on whole events only: the SDKs take time quadratic in the pieces, and in the lines, of one event."""
    left = event_bytes * STREAM_FACTOR
    unfinished = bytearray()
    async for piece in pieces:
        searched = max(0, len(unfinished) - _LONGEST_END + 1)
        unfinished += piece
        ends = [0, *(end.end() for end in _EVENT_END.finditer(unfinished, searched))]
        events = bytes(unfinished[: ends[-1]])
        del unfinished[: ends[-1]]
        for start, end in pairwise(ends):
            left = _after_event(events[start:end], left, event_bytes)
        _check_event_size(len(unfinished), event_bytes)
        if events:
            yield events
    _after_event(unfinished, left, event_bytes)
    if unfinished:
        yield bytes(unfinished)


def _after_event(event: bytes | bytearray, left: int, event_bytes: int) -> int:
    """Return how much of the `left` bytes of a stream are left after the event."""
    left -= max(len(event), EVENT_BYTES)
    if left < 0:
        raise _too_large(f"is larger than {event_bytes * STREAM_FACTOR} bytes")
    _check_event_size(len(event), event_bytes)
    if event.count(b"\n") + event.count(b"\r") > EVENT_LINES:
        raise _too_large(f"has an event of more than {EVENT_LINES} lines")
    _check_elements(_elements(event))
    return left


def _elements(piece: bytes | bytearray) -> int:
    return piece.count(b",") + piece.count(b"[") + piece.count(b"{")


def _check_event_size(size: int, event_bytes: int) -> None:
    if size > event_bytes:
        raise _too_large(f"has an event of more than {event_bytes} bytes")


def _check_elements(count: int) -> None:
    if count > ELEMENTS:
        raise _too_large(f"has more than {ELEMENTS} lists, objects and members")


def _too_large(reason: str) -> ProviderFailure:
    return ProviderFailure(f"The answer {reason}, and was not read to its end.")
