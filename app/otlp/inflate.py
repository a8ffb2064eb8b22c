"""Decompression of request bodies, with the cap held while it inflates: a bomb costs no more than the cap.

The work is linear in the bytes that come in and go out, whatever the members they are split into.
"""

from __future__ import annotations

import zlib

from app.errors import Invalid, TooLarge, UnsupportedMediaType

ENCODINGS = ("", "identity", "gzip", "deflate")
# The largest batch from a program that compresses in blocks of 64 KiB has about a thousand members.
MEMBERS_MAX = 2_000
# The most bytes that one call writes, and reads.
_STEP = 1024 * 1024
_INPUT = 16 * 1024
# zlib reads gzip and zlib frames with these window bits; "deflate" in the wild also comes without any frame.
_FRAMED = 47
_BARE = -15


def inflate(body: bytes, encoding: str, *, limit: int) -> bytes | bytearray:
    """Return the body decompressed; raises `TooLarge` past `limit` bytes, `Invalid` for a broken stream."""
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
    plain, source = bytearray(), memoryview(body)
    at = members = 0
    while at < len(source):  # a gzip file may have several members
        members += 1
        if members > MEMBERS_MAX:
            raise Invalid(f"The body has more than {MEMBERS_MAX} compressed members; compress it as one.")
        at = _member(source, at, window_bits, plain, limit)
    return plain


def _member(source: memoryview, at: int, window_bits: int, plain: bytearray, limit: int) -> int:
    """Append to `plain` the content of the member that begins at `at`; returns the member's end.

    zlib copies input that it does not read, so it gets `_INPUT` bytes at a time.
    """
    stream = zlib.decompressobj(window_bits)
    while not stream.eof:
        chunk = source[at : at + _INPUT]
        piece = stream.decompress(chunk, _STEP)
        at += len(chunk) - len(stream.unconsumed_tail) - len(stream.unused_data)
        plain += piece
        if len(plain) > limit:
            raise too_large(limit)
        if not piece and not chunk and not stream.eof:
            raise zlib.error("the stream ends early")
    return at
