"""Reads whole answers, with a limit of bytes after decompression and of time: a time-out of httpx is for each piece."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx


def whole_answer(
    response: httpx.Response, *, bytes_max: int, until: float, monotonic: Callable[[], float] = time.monotonic
) -> httpx.Response:
    """Return an answer that is received as a stream with its content.

    Raises `httpx.TransportError` if it has more bytes, or has not ended at the monotonic second `until`.
    """
    content = bytearray()
    try:
        for piece in response.iter_bytes():
            content += piece
            if len(content) > bytes_max:
                raise httpx.RemoteProtocolError(f"the answer has more than {bytes_max} bytes")
            if monotonic() > until:
                raise httpx.ReadTimeout("the answer took too long")
    finally:
        response.close()
    # The content is decoded already.
    headers = [(name, value) for name, value in response.headers.raw if name.lower() not in _OF_BODY]
    return httpx.Response(response.status_code, headers=headers, content=bytes(content), request=response.request)


_OF_BODY = (b"content-encoding", b"content-length", b"transfer-encoding")
