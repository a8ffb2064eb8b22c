"""Reads the records of a file one by one: JSON lines, one JSON list, or a JSON document with a list in it.

The file is read while it is used, compressed with gzip or not, in UTF-8, or in UTF-16 with a byte order mark. The most
that is in memory is one record, or one document with its list, and neither is larger than `LARGEST`.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

from reprise_formats.importers.spans import Unreadable
from reprise_formats.text_files import encoding_of

LARGEST = 64 * 1024 * 1024
"""Bytes of a line and of a document, characters of a list's item."""
_CHUNK = 1024 * 1024
_GZIP = b"\x1f\x8b"
# The lists in which APIs answer.
_LISTS = ("data", "runs", "spans", "traces")
_TOO_LARGE = f"is larger than {LARGEST // 1024 // 1024} MiB"
_BLANK = b" \t\r\n\xef\xbb\xbf"
# What a byte that is not UTF-8 becomes in the text of a list.
_NO_UTF8 = re.compile("[\udc80-\udcff]")
_BETWEEN = re.compile(r"[\s,]*")
_BLANKS = re.compile(rb"[ \t\r\n\xef\xbb\xbf]*")


def _null(_constant: str) -> None:
    """Return null for NaN and infinity, which JSON does not have."""


_decode = json.JSONDecoder(parse_constant=_null).raw_decode
Stream: TypeAlias = io.BufferedReader | gzip.GzipFile


@dataclass(frozen=True)
class ImportedRecord:
    """A JSON object of a file with its place, such as `line 7`. With a `problem` it could not be read."""

    place: str
    value: dict[str, Any]
    problem: str = ""


def read(file: io.BufferedReader) -> Iterator[ImportedRecord]:
    """Yield the records of a file, and the places where one could not be read."""
    stream: Stream = gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == _GZIP else file
    try:
        if (encoding := encoding_of(stream.peek(4)[:4])) != "utf-8":
            stream = io.BufferedReader(_Utf8(stream, encoding))
        yield from _items(stream) if _begins_with_list(stream) else _lines(stream)
    except (OSError, EOFError, zlib.error) as error:
        yield _bad("the file", str(error))


def _begins_with_list(stream: Stream) -> bool:
    return stream.peek(len(_BLANK)).lstrip(_BLANK)[:1] == b"["


def _lines(stream: Stream) -> Iterator[ImportedRecord]:
    """Yield the records of JSON lines, and those of a document that goes over several lines."""
    lines = _Lines(stream)
    if not lines.skip_blank():
        return
    before, start = lines.number, lines.take()
    if len(start) <= LARGEST and _is_cut(start):
        start += lines.take_more(LARGEST - len(start))
        document = _parsed("the document", start)
        if not document.problem:
            yield from _unpacked(document)
            return
        lines = _Lines(stream, start + lines.unused, number=before)
    else:
        yield from _read_line(before + 1, start)
    while lines.skip_blank():
        line = lines.take()
        yield from _read_line(lines.number, line)


def _is_cut(line: bytes) -> bool:
    """Return whether an object begins in a line that does not end there."""
    line = line.strip(_BLANK)
    return line.startswith(b"{") and not line.endswith(b"}")


def _read_line(number: int, line: bytes) -> Iterator[ImportedRecord]:
    place = f"line {number}"
    return iter((_bad(place, _TOO_LARGE),)) if len(line) > LARGEST else _unpacked(_parsed(place, line))


def _parsed(place: str, content: bytes) -> ImportedRecord:
    try:
        return _checked(place, json.loads(content.lstrip(_BLANK), parse_constant=_null))
    except (RecursionError, ValueError) as error:
        return _bad(place, _reason(error))


def _checked(place: str, value: Any) -> ImportedRecord:
    return ImportedRecord(place, value) if isinstance(value, dict) else _bad(place, "is no JSON object")


def _unpacked(record: ImportedRecord) -> Iterator[ImportedRecord]:
    """Yield the objects of the list that an answer of an API holds, and every other record unchanged."""
    for name in _LISTS:
        items = record.value.get(name)
        if isinstance(items, list):
            yield from (_checked(f"{record.place}, {name}[{place}]", item) for place, item in enumerate(items))
            return
    yield record


def _items(stream: Stream) -> Iterator[ImportedRecord]:
    """Yield the items of a list. Behind one that is no JSON nothing can be found, so that it ends the list."""
    window = _Window(io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape"))
    window.begin()
    for number in count(1):
        place = f"item {number}"
        try:
            if window.ends():
                return
            value, is_utf8 = window.take()
        except (RecursionError, ValueError) as error:
            yield _bad(place, _reason(error))
            return
        yield from _unpacked(_checked(place, value)) if is_utf8 else (_bad(place, "is not UTF-8"),)


class _Utf8(io.RawIOBase):
    """Reads a file of another encoding in UTF-8. Raises `OSError` where its bytes are not in the encoding."""

    def __init__(self, stream: Stream, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any, /) -> int:
        is_end = False
        while not self._rest and not is_end:
            chunk = self._stream.read(_CHUNK)
            is_end = not chunk
            try:
                self._rest = self._decoder.decode(chunk, is_end).encode()
            except UnicodeDecodeError as error:
                raise OSError(f"is not {error.encoding}: {error.reason}") from error
        size = min(len(target), len(self._rest))
        target[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


@dataclass
class _Lines:
    """The lines of a file. The blank ones between two others are passed over at once, however many there are.

    `number` counts the lines that have been read. `text` has been read of the file, and is not used from `at` on.
    """

    stream: Stream
    text: bytes = b""
    at: int = 0
    number: int = 0

    @property
    def unused(self) -> bytes:
        return self.text[self.at :]

    def skip_blank(self) -> bool:
        """Go on to the next line that is not blank; return whether there is one."""
        while True:
            end = _BLANKS.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches the empty text
            self.number += self.text.count(b"\n", self.at, end)
            self.at = end
            if end < len(self.text):
                return True
            if not self._read():
                return False

    def take(self) -> bytes:
        """Return the rest of the line; of one that is too large, enough to recognize it."""
        pieces, size = [], 0
        is_more = True
        while is_more:
            end = self.text.find(b"\n", self.at) + 1
            piece = self.text[self.at : end or len(self.text)]
            self.at += len(piece)
            if size <= LARGEST:
                pieces.append(piece)
                size += len(piece)
            is_more = not end and self._read()
        self.number += 1
        return b"".join(pieces)

    def take_more(self, most: int) -> bytes:
        """Return what follows, at most `most` bytes."""
        more = self.text[self.at : self.at + most]
        self.at += len(more)
        return more + self.stream.read(most - len(more))

    def _read(self) -> bool:
        """Read on when all is used; return whether there was more. What comes before an error is not lost."""
        self.text, self.at = self.stream.read1(_CHUNK), 0
        return bool(self.text)


@dataclass
class _Window:
    """The part of a list that has been read and not been used: `text` from `at` on."""

    reader: io.TextIOWrapper
    text: str = ""
    at: int = 0

    def begin(self) -> None:
        while "[" not in self.text:
            self.text += self.reader.read(_CHUNK)
        self.at = self.text.index("[") + 1

    def ends(self) -> bool:
        """Go on to the next item; return whether there is none."""
        while True:
            self.at += len(_BETWEEN.match(self.text, self.at)[0])  # type: ignore[index]  # it matches the empty text
            if self.at < len(self.text) or not self._read():
                return self.text.startswith("]", self.at)

    def take(self) -> tuple[Any, bool]:
        """Return the item, and whether its bytes are UTF-8.

        Each attempt reads as much as is there already, so that all together cost twice the last.
        """
        while True:
            try:
                value, end = _decode(self.text, self.at)
            except (RecursionError, ValueError):
                if not self._read():
                    raise
            else:
                begin, self.at = self.at, end
                return value, not _NO_UTF8.search(self.text, begin, end)

    def _read(self) -> bool:
        """Read on behind what is not used; return whether there was more."""
        unused = self.text[self.at :]
        if len(unused) > LARGEST:
            raise Unreadable(_TOO_LARGE)
        more = self.reader.read(max(_CHUNK, len(unused)))
        self.text, self.at = unused + more, 0
        return bool(more)


def _bad(place: str, problem: str) -> ImportedRecord:
    return ImportedRecord(place, {}, problem)


def _reason(error: Exception) -> str:
    if isinstance(error, Unreadable):
        return str(error)
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"is no JSON: {error.msg} (character {error.pos + 1})"
    return f"is no JSON: {error}"
