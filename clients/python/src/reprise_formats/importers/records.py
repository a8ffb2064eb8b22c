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
    start = _first_line(stream)
    if _is_cut(start):
        start += stream.read(max(0, LARGEST - len(start)))
        document = _parsed("the document", start)
        if not document.problem:
            yield from _unpacked(document)
            return
    yield from _read_lines(_split(stream, start))


def _first_line(stream: Stream) -> bytes:
    """Return the first line that is not blank, with the blank ones before it."""
    start = bytearray()
    while len(start) <= LARGEST and (line := stream.readline(LARGEST + 1)):
        start += line
        if line.strip(_BLANK):
            break
    return bytes(start)


def _is_cut(line: bytes) -> bool:
    """Return whether an object begins in a line that does not end there."""
    line = line.strip(_BLANK)
    return line.startswith(b"{") and not line.endswith(b"}")


def _split(stream: Stream, start: bytes) -> Iterator[bytes]:
    """Yield the lines of `start` and of what follows it; of one that is too large, enough to recognize it."""
    *lines, last = start.split(b"\n")
    yield from lines
    while line := last + stream.readline(LARGEST + 1):
        yield line
        while len(line) > LARGEST and not line.endswith(b"\n"):
            line = stream.readline(LARGEST + 1)
        last = b""


def _read_lines(lines: Iterator[bytes]) -> Iterator[ImportedRecord]:
    for number, line in enumerate(lines, 1):
        place = f"line {number}"
        if len(line) > LARGEST:
            yield _bad(place, _TOO_LARGE)
        elif line.strip(_BLANK):
            yield from _unpacked(_parsed(place, line))


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
