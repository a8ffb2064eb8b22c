"""Compresses the bodies of spans and log records, one by one, with a dictionary of what such bodies share.

The first byte of a stored body tells its format, so that older rows stay readable and other formats can come:

- 9 and above: the body itself, as JSON begins with a bracket, a quote, a digit or white space;
- `ZSTD_1`: a Zstandard frame (RFC 8878) that needs the dictionary `dictionaries/1.zstd`;
- `PLAIN`: the body, which would look like one of these, follows.

A dictionary never changes, since stored rows need it; a better one gets a format byte of its own. `bench/dictionary.py`
trains them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import zstandard
from sqlalchemy import Connection, LargeBinary, Table, TypeDecorator, bindparam, func, select, update
from sqlalchemy.engine import Dialect

from app.models.base import MediumBlob

PLAIN, ZSTD_1 = b"\0", b"\1"
LEVEL = 3
"""Of Zstandard's levels: 1 is no faster with a dictionary, and larger ones take more time than the bytes are worth."""
_FIRST_OF_TEXTS = 9
_FOLDER = Path(__file__).parent / "dictionaries"

Context = TypeVar("Context")
Body = bytes | memoryview
ToStored = Callable[[Sequence[Body]], list[bytes]]
"""Makes the stored forms of bodies: `compress_all`, or `as_they_are`."""


class _Contexts(Generic[Context]):
    """Contexts of Zstandard, which are costly to make and serve one thread at a time."""

    def __init__(self, make: Callable[[], Context]) -> None:
        self._make = make
        self._idle: deque[Context] = deque()

    def take(self) -> Context:
        try:
            return self._idle.pop()
        except IndexError:
            return self._make()

    def give_back(self, context: Context) -> None:
        self._idle.append(context)


_DICTIONARY = zstandard.ZstdCompressionDict((_FOLDER / "1.zstd").read_bytes())
_DICTIONARY.precompute_compress(level=LEVEL)
_COMPRESSORS = _Contexts(
    lambda: zstandard.ZstdCompressor(LEVEL, dict_data=_DICTIONARY, write_checksum=False, write_dict_id=False)
)
_DECOMPRESSORS = _Contexts(lambda: zstandard.ZstdDecompressor(dict_data=_DICTIONARY))


def compress(body: Body) -> bytes:
    """Return the shortest stored form of a body."""
    return compress_all([body])[0]


def compress_all(bodies: Sequence[Body]) -> list[bytes]:
    """Return the shortest stored form of each body.

    All at once, as each call of Zstandard lets other threads run, and waits for them before it goes on.
    """
    filled: list[Any] = [body for body in bodies if len(body)]
    if not filled:
        return [_shortest(body, b"") for body in bodies]
    context = _COMPRESSORS.take()
    compressed = context.multi_compress_to_buffer(filled)
    frames = iter([compressed[place].tobytes() for place in range(len(filled))])
    _COMPRESSORS.give_back(context)
    return [_shortest(body, next(frames) if len(body) else b"") for body in bodies]


def _shortest(body: Body, frame: bytes) -> bytes:
    compressed = ZSTD_1 + frame
    if len(compressed) < len(body):
        return compressed
    plain = bytes(body)
    return plain if plain and plain[0] >= _FIRST_OF_TEXTS else PLAIN + plain


def as_they_are(bodies: Sequence[Body]) -> list[bytes]:
    """Return the bodies, as releases without compression stored them."""
    return [bytes(body) for body in bodies]


def decompress(stored: bytes) -> bytes:
    """Return the body of a stored form; raises `ValueError` for a format that a newer release has written."""
    first = stored[:1]
    if first == ZSTD_1:
        context = _DECOMPRESSORS.take()
        body = context.decompress(memoryview(stored)[1:])
        _DECOMPRESSORS.give_back(context)
        return body
    if first == PLAIN:
        return stored[1:]
    if stored and stored[0] < _FIRST_OF_TEXTS:
        raise ValueError(f"A newer release of Reprise stored this: its format is {stored[0]}.")
    return stored


class Compressed(TypeDecorator[bytes]):
    """A body, which may be stored compressed; rows are inserted with what `compress` returns."""

    impl = MediumBlob
    cache_ok = True

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        return None if value is None else decompress(value)


def last_id(connection: Connection, table: Table) -> int:
    """Return the highest id of a table, 0 if it is empty."""
    return connection.scalar(select(func.max(table.c.id))) or 0


def plain_rows(connection: Connection, table: Table, *, after_id: int, until_id: int) -> list[tuple[int, int]]:
    """List the rows with uncompressed bodies and ids in (after_id, until_id]: their ids and the bodies' lengths."""
    c = table.c
    is_plain = func.substr(c.body, 1, 1, type_=LargeBinary) >= bytes([_FIRST_OF_TEXTS])
    listed = select(c.id, func.length(c.body)).where(c.id > after_id, c.id <= until_id, is_plain).order_by(c.id)
    return [(id_, length) for id_, length in connection.execute(listed)]


def compress_rows(connection: Connection, table: Table, ids: Sequence[int]) -> int:
    """Compress the bodies of rows; returns the number of rows that are still stored. A row never changes otherwise."""
    c = table.c
    bodies = connection.execute(select(c.id, c.body).where(c.id.in_(ids))).all()
    shorter = [{"row_id": id_, "stored": compress(body)} for id_, body in bodies]
    if shorter:
        connection.execute(update(table).where(c.id == bindparam("row_id")).values(body=bindparam("stored")), shorter)
    return len(shorter)
