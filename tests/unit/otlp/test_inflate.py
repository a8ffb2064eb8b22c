"""Compressed bodies: every way to split and frame them gives the same bytes, at a cost that grows as they do."""

from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Invalid, TooLarge
from app.otlp import inflate as inflating
from app.otlp.inflate import MEMBERS_MAX, inflate, inflated_size

MB = 1024 * 1024
PLAIN = random.Random(7).randbytes(100_000) + b" " * 3 * MB


def bare(plain: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(plain) + stream.flush()


@given(st.lists(st.binary(max_size=50_000), min_size=1, max_size=20), st.sampled_from([gzip.compress, zlib.compress]))
def test_members_give_the_bytes_that_were_split_into_them(parts: list[bytes], compress: Any) -> None:
    encoding = "gzip" if compress is gzip.compress else "deflate"
    assert inflate(b"".join(map(compress, parts)), encoding, limit=MB) == b"".join(parts)


@pytest.mark.parametrize(
    ("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", bare)]
)
def test_much_more_than_one_step_reads_or_writes_is_inflated_whole(encoding: str, compress: Any) -> None:
    assert inflate(compress(PLAIN), encoding, limit=len(PLAIN)) == PLAIN


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", bare), ("", bytes)]
)
def test_the_size_of_a_body_is_found_without_its_content(encoding: str, compress: Any) -> None:
    assert inflated_size(compress(PLAIN), encoding, limit=len(PLAIN)) == len(PLAIN)
    with pytest.raises(TooLarge):
        inflated_size(compress(PLAIN), encoding, limit=len(PLAIN) - 1)

    bomb = gzip.compress(bytes(64 * MB))
    tracemalloc.start()
    inflated_size(bomb, "gzip", limit=64 * MB)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * MB


@given(st.binary(max_size=5_000), st.data())
def test_a_stream_that_ends_early_is_refused(plain: bytes, data: st.DataObject) -> None:
    compressed = gzip.compress(plain)
    cut = data.draw(st.integers(1, len(compressed) - 1))
    with pytest.raises(Invalid):
        inflate(compressed[:cut], "gzip", limit=MB)


@pytest.mark.parametrize("garbage", [b"\0", b"garbage", b"\x1f\x8b", gzip.compress(b"", mtime=0)[:-1]])
def test_what_follows_the_last_member_and_is_none_is_refused(garbage: bytes) -> None:
    with pytest.raises(Invalid, match="not valid gzip"):
        inflate(gzip.compress(PLAIN) + garbage, "gzip", limit=len(PLAIN))


@pytest.mark.parametrize("members", [1, 3])
def test_the_limit_is_that_of_all_members_together(members: int) -> None:
    body = gzip.compress(b" " * MB) * members
    assert len(inflate(body, "gzip", limit=members * MB)) == members * MB
    with pytest.raises(TooLarge):
        inflate(body, "gzip", limit=members * MB - 1)


def test_more_members_than_any_compressor_makes_are_refused() -> None:
    empty = gzip.compress(b"")
    assert inflate(empty * MEMBERS_MAX, "gzip", limit=MB) == b""
    with pytest.raises(Invalid, match=f"more than {MEMBERS_MAX} compressed members"):
        inflate(empty * (MEMBERS_MAX + 1), "gzip", limit=MB)


class Stream:
    """A zlib stream that counts the bytes it is given, gives and copies."""

    handled = 0

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def decompress(self, given: bytes, most: int) -> bytes:
        piece: bytes = self._stream.decompress(given, most)
        Stream.handled += len(given) + len(piece) + len(self.unconsumed_tail) + len(self.unused_data)
        return piece

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "member",
    [gzip.compress(b""), gzip.compress(b" " * 5_000), gzip.compress(random.Random(7).randbytes(1_000))],
    ids=["empty", "dense", "incompressible"],
)
def test_twice_the_members_are_twice_the_work_even_without_a_limit(
    monkeypatch: pytest.MonkeyPatch, member: bytes
) -> None:
    make = zlib.decompressobj
    monkeypatch.setattr(zlib, "decompressobj", lambda bits: Stream(make(bits)))
    monkeypatch.setattr(inflating, "MEMBERS_MAX", 1_000_000)

    def work(members: int) -> int:
        Stream.handled = 0
        inflate(member * members, "gzip", limit=64 * MB)
        return Stream.handled

    assert work(10_000) <= 2.1 * work(5_000)
