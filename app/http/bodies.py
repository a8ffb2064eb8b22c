"""Reads request bodies: with a limit that does not trust Content-Length, and with strict decoding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import falcon
import orjson
from gunicorn.http.errors import ParseException

from app.concurrency import computing
from app.concurrency.deadline import paused
from app.errors import Invalid, TooLarge, UnsupportedMediaType
from app.values.json import Body, without_bom

# gunicorn copies its read-ahead at each call. Reading 1.4 MB needs 0.8 ms, but 3.4 ms in chunks of 64 KiB.
CHUNK = 1024 * 1024
# Parsing an element costs a thousand times as much as a byte of a long text, such as a file in Base64. No other thread
# runs meanwhile.
BODY_ELEMENTS_MAX = 250_000
# JSON has as many of these marks, outside of texts, as it has lists, objects and further members.
_MARKS = (b",", b"[", b"{")
LARGE_BODY = 1024 * 1024
"""Bytes of a body beyond which the process must have room for it."""
# Other threads run between two pieces.
_PIECE = 64 * 1024


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def read_capped(req: falcon.Request, limit: int) -> bytes:
    """Return the whole body. Raises `TooLarge` once it exceeds `limit` bytes: a chunked body announces no length.

    A body of more than `LARGE_BODY` bytes is read when the process has room for it. Then the request waits for a place
    to compute with it (`app/concurrency/computing.py`). Raises `Unavailable` if there is no room or place in time, and
    `Invalid` for a body that ends too early.
    """
    if (req.content_length or 0) > limit:
        raise TooLarge(f"The body is over the limit of {limit} bytes.")
    stream = _stream(req)
    parts: list[bytes] = []
    size, room = 0, LARGE_BODY
    with paused():  # the deadline of the request: the caller decides how fast the body arrives
        if (req.content_length or 0) > room:
            room = _make_room(req, limit)
        while chunk := _read(stream, min(CHUNK, limit + 1 - size)):
            size += len(chunk)
            if size > room:
                room = _make_room(req, limit)
            if size > limit:
                raise TooLarge(f"The body is over the limit of {limit} bytes.")
            parts.append(chunk)
    if req.content_length is not None and size < req.content_length:
        raise Invalid("The body ended before its Content-Length.")
    computing.await_place(size)
    return b"".join(parts)


def _make_room(req: falcon.Request, limit: int) -> int:
    """Wait until the middleware `BodiesAtOnce` has room for the body of a request; return the body's largest size."""
    if hold := getattr(req.context, "hold_body", None):
        hold(req.content_length or limit)
    return limit


def _stream(req: falcon.Request) -> Readable:
    """Return the stream of the body. The server ends a chunked body; Content-Length ends any other."""
    if req.content_length is None and req.env.get("wsgi.input_terminated"):
        return req.stream
    return req.bounded_stream


def _read(stream: Readable, size: int) -> bytes:
    """Return at most `size` bytes, b"" at the end. Raises `Invalid` if the connection or its chunks break earlier."""
    try:
        return stream.read(size)
    except (OSError, ParseException) as error:
        raise Invalid(f"The body can't be read to its end: {error}") from error


def media_type_of(req: falcon.Request) -> str:
    """Return the media type of the body in lower case without parameters; "" if the request names none."""
    return (req.content_type or "").partition(";")[0].strip().lower()


def read_json(req: falcon.Request, limit: int, *, optional: bool = False) -> Any:
    """Return the body as JSON; `{}` for an empty body if `optional`.

    Raises `Invalid` for a body that is no JSON, nested too deeply, or of more than `BODY_ELEMENTS_MAX` elements;
    `UnsupportedMediaType` for another or a compressed format; and the errors of `read_capped`.
    """
    body = without_bom(read_capped(req, limit))
    if optional and not body.strip():
        return {}
    if media_type_of(req) not in ("", falcon.MEDIA_JSON):
        raise UnsupportedMediaType("Content-Type must be application/json.")
    if req.get_header("Content-Encoding") not in (None, "", "identity"):
        raise UnsupportedMediaType("Content-Encoding is not accepted here; send the body uncompressed.")
    if len(body) > BODY_ELEMENTS_MAX and has_more_elements(body, BODY_ELEMENTS_MAX):
        raise Invalid(f"The body has more than {BODY_ELEMENTS_MAX} lists, objects and members.")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Invalid(f"The body is not valid JSON: {error}") from error
    except RecursionError as error:
        raise Invalid("The body is nested too deeply.") from error


def has_more_elements(body: Body, limit: int) -> bool:
    """Return whether JSON has more than `limit` lists, objects and members; what is within texts is not counted."""
    count = inside = 0
    for piece in _pieces(body):
        # Without escaped quotes, each quote begins or ends a text.
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        count += sum(map(b"".join(parts[inside::2]).count, _MARKS))
        if count > limit:
            return True
        inside ^= (len(parts) - 1) & 1  # an odd number of quotes: the next piece begins within a text
    return False


def _pieces(body: Body) -> Iterator[Body]:
    """Yield the body in pieces of about `_PIECE` bytes. No piece ends between a backslash and what it escapes."""
    start = 0
    while start < len(body):
        piece = body[start : start + _PIECE]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            piece = body[start : start + _PIECE + 1]
        yield piece
        start += len(piece)
