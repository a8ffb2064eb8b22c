"""Bounds the answers that any-llm's clients read, which are httpx's."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx

from app.providers.bounds import AnswerReader


class BoundedTransport(httpx.AsyncBaseTransport):
    """Passes answers on as an `AnswerReader` does."""

    def __init__(self, inner: httpx.AsyncBaseTransport, *, answer_bytes: int, streamed: bool) -> None:
        self._inner = inner
        self._answer_bytes = answer_bytes
        self._streamed = streamed

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["accept-encoding"] = "gzip"
        response = await self._inner.handle_async_request(request)
        # Decoded here: httpx would inflate each piece to whatever it holds.
        encoding = response.headers.pop("content-encoding", None)
        reader = AnswerReader(response.status_code, encoding, answer_bytes=self._answer_bytes, streamed=self._streamed)
        assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - as all asynchronous transports
        response.stream = _Stream(response.stream, reader)
        return response


class _Stream(httpx.AsyncByteStream):
    def __init__(self, source: httpx.AsyncByteStream, reader: AnswerReader) -> None:
        self._source = source
        self._reader = reader

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for received in self._source:
            for piece in self._reader.read(received):
                yield piece
        for piece in self._reader.end():
            yield piece

    async def aclose(self) -> None:
        await self._source.aclose()
