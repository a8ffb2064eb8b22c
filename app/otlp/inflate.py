"""Decompression of request bodies, with the cap held while it inflates: a bomb costs no more than the cap.

The work is linear in the bytes that come in and go out, whatever the members they are split into.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

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
    return body if _is_plain(body, encoding, limit) else _inflated(body, encoding, limit).plain


def inflated_size(body: bytes, encoding: str, *, limit: int) -> int:
    """Return the number of bytes that `inflate` returns, with only some of them in memory; raises as it does."""
    return len(body) if _is_plain(body, encoding, limit) else _inflated(body, encoding, limit, keeps=False).size


@dataclass(slots=True)
class _Inflated:
    """The content so far; `plain` is empty unless it `keeps` it."""

    limit: int
    keeps: bool
    plain: bytearray = field(default_factory=bytearray)
    size: int = 0

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.keeps:
            self.plain += piece
        if self.size > self.limit:
            raise too_large(self.limit)


def _is_plain(body: bytes, encoding: str, limit: int) -> bool:
    if encoding not in ENCODINGS:
        raise UnsupportedMediaType("Content-Encoding must be gzip, deflate or identity.")
    if encoding not in ("", "identity"):
        return False
    if len(body) > limit:
        raise too_large(limit)
    return True


def _inflated(body: bytes, encoding: str, limit: int, *, keeps: bool = True) -> _Inflated:
    try:
        return _inflate(body, _FRAMED, _Inflated(limit, keeps))
    except zlib.error as error:
        if encoding == "deflate":
            try:
                return _inflate(body, _BARE, _Inflated(limit, keeps))
            except zlib.error:
                pass
        raise Invalid(f"The body is not valid {encoding}: {error}") from error


def too_large(limit: int) -> TooLarge:
    return TooLarge(f"The batch is over the limit of {limit} bytes after decompression; send smaller batches.")


def _inflate(body: bytes, window_bits: int, inflated: _Inflated) -> _Inflated:
    source, at, members = memoryview(body), 0, 0
    while at < len(source):  # a gzip file may have several members
        members += 1
        if members > MEMBERS_MAX:
            raise Invalid(f"The body has more than {MEMBERS_MAX} compressed members; compress it as one.")
        at = _member(source, at, window_bits, inflated)
    return inflated


def _member(source: memoryview, at: int, window_bits: int, inflated: _Inflated) -> int:
    """Add the content of the member that begins at `at`; returns the member's end.

    zlib copies input that it does not read, so it gets `_INPUT` bytes at a time.
    """
    stream = zlib.decompressobj(window_bits)
    while not stream.eof:
        chunk = source[at : at + _INPUT]
        piece = stream.decompress(chunk, _STEP)
        at += len(chunk) - len(stream.unconsumed_tail) - len(stream.unused_data)
        inflated.add(piece)
        if not piece and not chunk and not stream.eof:
            raise zlib.error("the stream ends early")
    return at
