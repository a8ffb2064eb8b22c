"""Compresses log records, facts of turns, figures of sessions and long texts, one by one.

There are two dictionaries: one of spans, and one of the facts and figures that Reprise computes.

Bodies of spans are compressed by the turn (`span_bodies.py`). The first byte of a stored body is its format, so that
older rows stay readable and other formats can come:

- 9 and above: the uncompressed body, as JSON begins with a bracket, a quote, a digit or white space;
- `ZSTD_1`: a Zstandard frame (RFC 8878) that needs the dictionary `dictionaries/1.zstd`. Frames have a checksum, by
  which a damaged one is noticed, except those of release 0.2.0 and earlier;
- `ZSTD_2`: the same with the dictionary `dictionaries/2.zstd`;
- `PLAIN`: followed by an uncompressed body that begins with one of these bytes.

A compressed text is `MARK` and such a body in Base64. Its column keeps the type text, since MySQL would
copy the whole table to change that and block all writes. Texts that the database searches are packed
(`searchable_text.py`) if they are long enough.

A dictionary never changes, since stored rows need it; a better one gets a new format byte. `bench/dictionary.py`
trains them.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import zstandard
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    LargeBinary,
    Text,
    TypeDecorator,
    func,
    select,
    type_coerce,
)
from sqlalchemy.engine import Dialect

from app.database.transactions import Database
from app.models.base import Json, JsonStruct, LongJson, MediumBlob, MediumText

PLAIN, ZSTD_1, ZSTD_2 = b"\0", b"\1", b"\4"
MARK = "\1z\1"
"""What a compressed text begins with. JSON never does; other texts that do are compressed in any case."""
PARAMETERS = zstandard.ZstdCompressionParameters.from_level(
    5, hash_log=15, chain_log=15, search_log=5, write_checksum=True, write_dict_id=False
)
"""How Zstandard compresses bodies up to SMALL_BYTES: as by its level 5, with smaller tables and more places to look at.

For the spans of a turn this is faster than level 5 and leaves less: see "Sizes" in docs/capacity.md.
"""
SMALL_BYTES = 64 * 1024
LARGE_LEVEL = 3
"""Of Zstandard's levels, that of larger bodies: it finds what repeats itself far apart, which small tables forget."""
THOROUGH = zstandard.ZstdCompressionParameters.from_level(
    12, source_size=256 * 1024, write_checksum=True, write_dict_id=False
)
"""How Zstandard compresses what is written once and kept: level 19 saves 2 % more in twelve times the time."""
QUICK = zstandard.ZstdCompressionParameters.from_level(
    1, source_size=256 * 1024, write_checksum=True, write_dict_id=False
)
"""How Zstandard compresses what a batch stores: in a third of the time of PARAMETERS, a seventh larger.

An hour later the clock packs it. Only turns that are too large for a block stay so.
"""
BODIES_PER_CALL = 1024
"""Bodies that are compressed by one call."""
_FIRST_OF_TEXTS = 9
_FRAME_HEAD = 32  # characters in Base64, more than the head of a frame, which has the size of the content
_COMPRESSES = "reprise_compresses"
_FOLDER = Path(__file__).parent / "dictionaries"

Context = TypeVar("Context")
Body = bytes | memoryview
ToStored = Callable[[Sequence[Body]], list[bytes]]
"""Makes the stored forms of bodies: `compress_all`, `compress_quickly` or `without_compression`."""


class _Contexts(Generic[Context]):
    """Contexts of Zstandard. They are expensive to make, and each serves one thread at a time."""

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


class Dictionary:
    """A dictionary of Zstandard. Bodies that need it begin with `mark`."""

    def __init__(self, file: str, mark: bytes) -> None:
        trained = (_FOLDER / file).read_bytes()
        small, large, thorough, quick = (zstandard.ZstdCompressionDict(trained) for _ in range(4))
        # A dictionary keeps the parameters for which it was prepared: those of a compressor are ignored then.
        small.precompute_compress(compression_params=PARAMETERS)
        large.precompute_compress(level=LARGE_LEVEL)
        thorough.precompute_compress(compression_params=THOROUGH)
        quick.precompute_compress(compression_params=QUICK)
        self.mark = mark
        self.small = _Contexts(lambda: zstandard.ZstdCompressor(dict_data=small, compression_params=PARAMETERS))
        self.large = _Contexts(
            lambda: zstandard.ZstdCompressor(LARGE_LEVEL, dict_data=large, write_checksum=True, write_dict_id=False)
        )
        self.thorough = _Contexts(lambda: zstandard.ZstdCompressor(dict_data=thorough, compression_params=THOROUGH))
        self.quick = _Contexts(lambda: zstandard.ZstdCompressor(dict_data=quick, compression_params=QUICK))
        self.decompressors = _Contexts(lambda: zstandard.ZstdDecompressor(dict_data=small))


OF_SPANS, OF_FACTS = Dictionary("1.zstd", ZSTD_1), Dictionary("2.zstd", ZSTD_2)
_BY_MARK = {dictionary.mark: dictionary for dictionary in (OF_SPANS, OF_FACTS)}


def compress(body: Body, dictionary: Dictionary = OF_SPANS) -> bytes:
    """Return the shortest stored form of a body."""
    return compress_all([body], dictionary)[0]


def compress_all(bodies: Sequence[Body], dictionary: Dictionary = OF_SPANS) -> list[bytes]:
    """Return the shortest stored form of each body.

    Bodies are compressed many at a time, because each call of Zstandard releases the lock of the interpreter and waits
    for it again. A large batch is split, since all its frames would be in memory too.
    """
    return [body for piece in _pieces(bodies) for body in _shortest(piece, dictionary)]


def compress_quickly(bodies: Sequence[Body]) -> list[bytes]:
    """Return a stored form of each body for the hour until the clock packs it, with the dictionary of spans."""
    in_pieces = ((piece, _frames(OF_SPANS.quick, list(filter(len, piece)))) for piece in _pieces(bodies))
    return [body for piece, frames in in_pieces for body in _shorter_each(piece, frames, OF_SPANS.mark)]


def _pieces(bodies: Sequence[Body]) -> Iterator[Sequence[Body]]:
    return (bodies[start : start + BODIES_PER_CALL] for start in range(0, len(bodies), BODIES_PER_CALL))


def compress_thoroughly(body: Body) -> bytes:
    """Return the shortest stored form of a body of spans, for which no caller waits."""
    context = OF_SPANS.thorough.take()
    frame = context.compress(body)
    OF_SPANS.thorough.give_back(context)
    return _shorter(body, frame, OF_SPANS.mark)


def _shortest(bodies: Sequence[Body], dictionary: Dictionary) -> Iterator[bytes]:
    small = _frames(dictionary.small, [body for body in bodies if 0 < len(body) <= SMALL_BYTES])
    large = _frames(dictionary.large, [body for body in bodies if len(body) > SMALL_BYTES])
    in_order = (next(large if len(body) > SMALL_BYTES else small) for body in bodies if len(body))
    return _shorter_each(bodies, in_order, dictionary.mark)


def _shorter_each(bodies: Sequence[Body], frames: Iterator[Any], mark: bytes) -> Iterator[bytes]:
    """Yield the shorter form of each body; `frames` are those of the bodies that are not empty."""
    return (_shorter(body, next(frames) if len(body) else b"", mark) for body in bodies)


def _frames(contexts: _Contexts[zstandard.ZstdCompressor], bodies: list[Any]) -> Iterator[Any]:
    if not bodies:
        return iter(())
    context = contexts.take()
    frames = context.multi_compress_to_buffer(bodies)
    contexts.give_back(context)
    return iter(frames)


def _shorter(body: Body, frame: Any, mark: bytes) -> bytes:
    """Return the frame, which has a buffer, or the body if it is shorter."""
    if 1 + len(frame) < len(body):
        return mark + frame  # type: ignore[no-any-return]
    plain = bytes(body)
    return plain if is_plain(plain) else PLAIN + plain


def is_plain(stored: bytes) -> bool:
    """Return whether a stored body, or its beginning, is the body itself."""
    return bool(stored) and stored[0] >= _FIRST_OF_TEXTS


def without_compression(bodies: Sequence[Body]) -> list[bytes]:
    """Return the bodies unchanged, as releases without compression stored them."""
    return [bytes(body) for body in bodies]


def decompress(stored: bytes) -> bytes:
    """Return the body of a stored form; raises `ValueError` for one that is damaged, or that a newer release wrote."""
    first = stored[:1]
    if dictionary := _BY_MARK.get(first):
        context = dictionary.decompressors.take()
        try:
            return context.decompress(memoryview(stored)[1:])
        except zstandard.ZstdError as error:
            raise ValueError(f"What was stored is damaged: {error}") from error
        finally:
            dictionary.decompressors.give_back(context)
    if first == PLAIN:
        return stored[1:]
    if stored and stored[0] < _FIRST_OF_TEXTS:
        raise ValueError(f"A newer release of Reprise stored this: its format is {stored[0]}.")
    return stored


def with_dictionary(stored: bytes, dictionary: Dictionary) -> bytes:
    """Return the shortest form of a stored body with another dictionary; a damaged body does not change."""
    try:
        return compress(decompress(stored), dictionary)
    except ValueError:
        return stored


def compress_text(text: str) -> str:
    """Return the stored form of a text that has the fewest bytes."""
    content = text.encode()
    compressed = MARK + b64encode(compress(content)).decode()
    return compressed if len(compressed) < len(content) or text.startswith(MARK) else text


def decompress_text(stored: str) -> str:
    """Return the text of a stored form; raises `ValueError` for a format that a newer release has written."""
    return decompress(b64decode(stored[len(MARK) :])).decode() if stored.startswith(MARK) else stored


def text_length(stored: str) -> int:
    """Return the bytes of the text in a stored form, without restoring it.

    Of a text that is stored unchanged, or damaged, it returns the characters.
    """
    if not stored.startswith(MARK):
        return len(stored)
    head = b64decode(stored[len(MARK) : len(MARK) + _FRAME_HEAD])
    try:
        return zstandard.frame_content_size(head[1:]) if head[:1] in _BY_MARK else len(stored)
    except zstandard.ZstdError:
        return len(stored)


class Compressed(TypeDecorator[bytes]):
    """A body, which may be stored compressed; rows are inserted with what `compress` returns."""

    impl = MediumBlob
    cache_ok = True
    raw = LargeBinary()

    @staticmethod
    def shorten(stored: bytes) -> bytes:
        """Return the shortest form of what is stored."""
        return compress(stored)

    def is_plain(self, raw: ColumnElement[bytes]) -> ColumnElement[bool]:
        """Return the condition that a body is stored uncompressed."""
        return func.substr(raw, 1, 1, type_=LargeBinary) >= bytes([_FIRST_OF_TEXTS])

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        return None if value is None else decompress(value)


class CompressedFacts(Compressed):
    """A body, which may be stored compressed with the dictionary of facts.

    Only the clock and `reprise compress` use that dictionary: processes of earlier releases end before the new clock
    starts, and cannot read it.
    """

    cache_ok = True

    def is_plain(self, raw: ColumnElement[bytes]) -> ColumnElement[bool]:
        """Return the condition that a body is stored without that dictionary."""
        return func.substr(raw, 1, 1, type_=LargeBinary) != ZSTD_2

    @staticmethod
    def shorten(stored: bytes) -> bytes:
        return with_dictionary(stored, OF_FACTS)


def store_texts(database: Database, *, compressed: bool) -> None:
    """Choose whether a database stores texts compressed (the default) or as releases without compression did."""
    for engine in database.engines:
        setattr(engine.dialect, _COMPRESSES, compressed)


def stored_bodies(connection: Connection, bodies: Sequence[Body], compress_each: ToStored) -> list[bytes]:
    """Return the stored forms of bodies in a database, which stores texts compressed or not."""
    is_compressed = getattr(connection.dialect, _COMPRESSES, True)
    return compress_each(bodies) if is_compressed else without_compression(bodies)


def begins_with(raw: ColumnElement[str], mark: str) -> ColumnElement[bool]:
    """Return the condition that a text begins with the bytes of a mark. Collations ignore case and U+0001."""
    return func.hex(func.substr(raw, 1, len(mark), type_=Text), type_=Text) == mark.encode().hex().upper()


class StoredText:
    """A text that `shorten` may make shorter, to one that begins with `mark`; `restore` does the reverse.

    `length` returns the bytes of the text in a stored form, or its characters if it is stored unchanged.
    """

    mark = MARK
    raw = Text()
    shorten = staticmethod(compress_text)
    restore = staticmethod(decompress_text)
    length = staticmethod(text_length)

    def stored(self, text: str, dialect: Dialect) -> str:
        """Return the form in which a text is stored."""
        return self.shorten(text) if getattr(dialect, _COMPRESSES, True) or text.startswith(self.mark) else text

    def is_plain(self, raw: ColumnElement[str]) -> ColumnElement[bool]:
        """Return the condition that a text is stored without change."""
        return ~begins_with(raw, self.mark)


class CompressedText(StoredText, TypeDecorator[str]):
    """A text, which may be stored compressed; SQL can't look into it."""

    impl = MediumText
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else self.stored(value, dialect)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else self.restore(value)


class _OfCompressed(StoredText, TypeDecorator[Any]):
    """Applies another type to a text, which may be stored compressed."""

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        text = super().process_bind_param(value, dialect)
        return None if text is None else self.stored(text, dialect)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return super().process_result_value(None if value is None else self.restore(value), dialect)


class CompressedJson(_OfCompressed, Json):
    """A value of the type `Json`; its text may be stored compressed."""

    cache_ok = True


class CompressedLongJson(_OfCompressed, LongJson):
    """A value of the type `LongJson`; its text may be stored compressed."""

    cache_ok = True


class CompressedStruct(_OfCompressed, JsonStruct):
    """A value of the type `JsonStruct`; its text may be stored compressed."""

    cache_ok = True


def length_in(connection: Connection, column: Column[Any], condition: ColumnElement[bool]) -> int:
    """Return the `text_length` of the column in a row, of which only the beginning is read; 0 without a text or row."""
    raw = raw_of(column)
    head = func.substr(raw, 1, len(MARK) + _FRAME_HEAD, type_=Text)
    row = connection.execute(select(head, func.length(raw)).where(condition)).one_or_none()
    return max(row[1], text_length(row[0])) if row and row[0] else 0


def raw_of(column: Column[Any]) -> ColumnElement[Any]:
    """Return the column in its stored form."""
    of_column: Any = column.type
    return type_coerce(column, of_column.raw)
