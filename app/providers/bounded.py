"""Bounds what is read of a vendor's answer, since whoever answers may send anything and everything."""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Protocol

import httpx

from app.providers.failures import ProviderFailure

ANSWER_BYTES = 16 * 1024 * 1024
# Of an answer that says why it is none, this much is read.
ERROR_BYTES = 64 * 1024
# A stream brings each piece of an answer in a frame, which is the greater part of it.
STREAM_FACTOR = 4
# So much an event of a stream counts at least: reading it costs more than its bytes.
EVENT_BYTES = 128
EVENT_LINES = 100
# Lists, objects and their members in one piece of JSON, which cost a thousand times what bytes of a text do.
ELEMENTS = 250_000
_PIECE = 64 * 1024
_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LONGEST_END = 4


class BoundedTransport(httpx.AsyncBaseTransport):
    """Hands on answers until they break a bound, which is a `ProviderFailure`.

    `answer_bytes` are those of a whole answer after decompression or, when answers are `streamed`, of one event.
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
        response.stream = _Bounded(response.stream, encoding, self._bound(response.status_code))
        return response

    def _bound(self, status: int) -> Bound:
        if status >= 400:
            return ErrorBound()
        return StreamBound(self._answer_bytes) if self._streamed else WholeBound(self._answer_bytes)


class Bound(Protocol):
    """Takes pieces of an answer, and gives back what may be handed on."""

    def take(self, piece: bytes) -> bytes: ...

    def end(self) -> bytes:
        """What is left when the answer has ended."""
        ...


class WholeBound:
    def __init__(self, answer_bytes: int) -> None:
        self._most = answer_bytes
        self._bytes = self._elements = 0

    def take(self, piece: bytes) -> bytes:
        self._bytes += len(piece)
        self._elements += _elements(piece)
        if self._bytes > self._most:
            raise _too_large(f"is larger than {self._most} bytes")
        _check_elements(self._elements)
        return piece

    def end(self) -> bytes:
        return b""


class ErrorBound:
    """Cuts off what is too long: its status says enough."""

    def __init__(self) -> None:
        self._left = ERROR_BYTES

    def take(self, piece: bytes) -> bytes:
        kept = piece[: self._left]
        self._left -= len(kept)
        return kept

    def end(self) -> bytes:
        return b""


class StreamBound:
    """Hands on whole events alone: the SDKs take time quadratic in the pieces, and in the lines, of one."""

    def __init__(self, event_bytes: int) -> None:
        self._event_bytes = event_bytes
        self._left = event_bytes * STREAM_FACTOR
        self._open = bytearray()

    def take(self, piece: bytes) -> bytes:
        looked_at = max(0, len(self._open) - _LONGEST_END + 1)
        self._open += piece
        ends = [found.end() for found in _EVENT_END.finditer(self._open, looked_at)]
        if len(self._open) - (ends[-1] if ends else 0) > self._event_bytes:
            raise _too_large(f"has an event of more than {self._event_bytes} bytes")
        if not ends:
            return b""
        events = bytes(self._open[: ends[-1]])
        del self._open[: ends[-1]]
        for start, end in zip([0, *ends], ends, strict=False):
            self._count(events[start:end])
        return events

    def end(self) -> bytes:
        rest, self._open = bytes(self._open), bytearray()
        self._count(rest)
        return rest

    def _count(self, event: bytes) -> None:
        self._left -= max(len(event), EVENT_BYTES)
        if self._left < 0:
            raise _too_large(f"is larger than {self._event_bytes * STREAM_FACTOR} bytes")
        if len(event) > self._event_bytes:
            raise _too_large(f"has an event of more than {self._event_bytes} bytes")
        if event.count(b"\n") + event.count(b"\r") > EVENT_LINES:
            raise _too_large(f"has an event of more than {EVENT_LINES} lines")
        _check_elements(_elements(event))


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, encoding: str, bound: Bound) -> None:
        self._inner = inner
        self._encoding = encoding
        self._bound = bound

    async def __aiter__(self) -> AsyncIterator[bytes]:
        decoder = _decoder(self._encoding)
        async for sent in self._inner:
            for piece in decoder.pieces(sent):
                if kept := self._bound.take(piece):
                    yield kept
        if rest := self._bound.end():
            yield rest

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Plain:
    def pieces(self, sent: bytes) -> Iterator[bytes]:
        yield sent


class _Gzip:
    """Inflates in pieces of a bounded size, so that one that is over the bound is the last. Reads one member."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def pieces(self, sent: bytes) -> Iterator[bytes]:
        try:
            while sent and not self._inflate.eof:
                yield self._inflate.decompress(sent, _PIECE)
                sent = self._inflate.unconsumed_tail
        except zlib.error as error:
            raise ProviderFailure(f"The answer is broken gzip: {error}.") from None


def _decoder(encoding: str) -> _Plain | _Gzip:
    if encoding in ("gzip", "x-gzip"):
        return _Gzip()
    if encoding not in ("", "identity"):
        raise ProviderFailure("The answer has a content-encoding other than gzip, the one that was asked for.")
    return _Plain()


def _elements(piece: bytes) -> int:
    return piece.count(b",") + piece.count(b"[") + piece.count(b"{")


def _check_elements(count: int) -> None:
    if count > ELEMENTS:
        raise _too_large(f"has more than {ELEMENTS} lists, objects and members")


def _too_large(words: str) -> ProviderFailure:
    return ProviderFailure(f"The answer {words}, and was not read to its end.")
