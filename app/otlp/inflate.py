"""Decompression of request bodies, with the cap held while it inflates: a bomb costs no more than the cap."""

from __future__ import annotations

import zlib

from app.errors import Invalid, TooLarge, UnsupportedMediaType

ENCODINGS = ("", "identity", "gzip", "deflate")
_STEP = 1024 * 1024
# zlib reads gzip and zlib frames with these window bits; "deflate" in the wild also comes without any frame.
_FRAMED = 47
_BARE = -15


def inflate(body: bytes, encoding: str, *, limit: int) -> bytes | bytearray:
    """`body` as it was before `encoding`. Raises `TooLarge` past `limit` bytes, `Invalid` for a broken stream."""
    if encoding not in ENCODINGS:
        raise UnsupportedMediaType("Content-Encoding must be gzip, deflate or identity.")
    if encoding in ("", "identity"):
        if len(body) > limit:
            raise too_large(limit)
        return body
    try:
        return _inflate(body, _FRAMED, limit)
    except zlib.error as error:
        if encoding == "deflate":
            try:
                return _inflate(body, _BARE, limit)
            except zlib.error:
                pass
        raise Invalid(f"The body is not valid {encoding}: {error}") from error


def too_large(limit: int) -> TooLarge:
    return TooLarge(f"The batch is over the limit of {limit} bytes after decompression; send smaller batches.")


def _inflate(body: bytes, window_bits: int, limit: int) -> bytearray:
    plain = bytearray()
    rest: bytes = body
    while rest:  # a gzip file may have several members
        stream = zlib.decompressobj(window_bits)
        while not stream.eof:
            piece = stream.decompress(rest, _STEP)
            plain += piece
            if len(plain) > limit:
                raise too_large(limit)
            rest = stream.unconsumed_tail
            if not piece and not rest and not stream.eof:
                raise zlib.error("the stream ends early")
        rest = stream.unused_data
    return plain
