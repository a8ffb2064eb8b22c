"""Reads whole answers, with a limit of bytes after decompression and of time: a time-out of httpx is for each piece."""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable

import httpx

from reprise_client.limits import check_encoding


def whole_answer(
    response: httpx.Response, *, bytes_max: int, until: float, monotonic: Callable[[], float] = time.monotonic
) -> httpx.Response:
    """Return an answer that is received as a stream with its content.

    Raises `httpx.TransportError` if it has more bytes, has not ended at the monotonic second `until`, or has another
    encoding than gzip.
    """
    content = bytearray()
    try:
        check_encoding(response)
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
    whole = httpx.Response(response.status_code, headers=headers, content=bytes(content), request=response.request)
    if not _is_of_text(whole.charset_encoding or "utf-8"):
        whole.encoding = "utf-8"
    return whole


_OF_BODY = (b"content-encoding", b"content-length", b"transfer-encoding")
# Codecs of Python that fail at bytes of other texts, or need quadratic time.
_NO_CHARSETS = ("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape")


def _is_of_text(charset: str) -> bool:
    """Return whether a text can be read with what Python knows by this name."""
    try:
        codec = codecs.lookup(charset)
    except LookupError:
        return True  # httpx reads such a text as UTF-8
    except ValueError:
        return False
    return getattr(codec, "_is_text_encoding", True) and codec.name.replace("-", "_") not in _NO_CHARSETS
