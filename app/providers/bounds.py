"""Bounds what is read of a vendor's answer: its bytes after decompression, its events, and the elements of its JSON."""

from __future__ import annotations

import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import pairwise

from app.providers.answer_memory import AnswerPart
from app.providers.failures import ProviderFailure
from app.values.json import count_marks

ANSWER_BYTES = 16 * 1024 * 1024
# An answer with the status of an error is cut off here.
ERROR_BYTES = 64 * 1024
# A stream brings each piece of an answer in a frame, which is the greater part of it.
STREAM_FACTOR = 4
# The least that an event of a stream counts: reading it costs more than its bytes.
EVENT_BYTES = 128
EVENT_LINES = 100
# Lists, objects and their members in one piece of JSON, or in all arguments of an answer's calls, which cost a thousand
# times what bytes of a text do.
ELEMENTS_MAX = 250_000
PIECES_FACTOR = 2
"""How many times as much as an answer the pieces may count in which it is received, each at least `EVENT_BYTES`."""
_PIECE = 64 * 1024  # bytes
_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LONGEST_END = 4


class AnswerReader:
    """Receives an answer and passes it on until it exceeds a bound, which is a `ProviderFailure`.

    `answer_bytes` bounds a whole answer after decompression or, when answers are `streamed`, one event. Streams are
    passed on in whole events, one at a time. A whole answer, or an event that is not complete yet, counts in `part`.
    """

    def __init__(
        self, status: int, encoding: str | None, *, answer_bytes: int, streamed: bool, part: AnswerPart | None = None
    ) -> None:
        encoding = (encoding or "identity").strip().lower()
        self._inflater = None if encoding in ("", "identity") else _Inflater(encoding)
        self._left = PIECES_FACTOR * answer_bytes * (STREAM_FACTOR if streamed else 1)
        self._bound: _Bound
        if status >= 400:
            self._bound = _CutOff()
        else:
            self._bound = _Events(answer_bytes, part) if streamed else _Whole(answer_bytes, part)

    def read(self, received: bytes) -> Iterator[bytes]:
        """Yield what the received bytes complete; `ProviderFailure` for too many bytes or too many small pieces."""
        self._left -= max(len(received), EVENT_BYTES)
        if self._left < 0:
            raise _too_large("comes in too many pieces")
        for piece in [received] if self._inflater is None else self._inflater.read(received):
            yield from self._bound.read(piece)

    def end(self) -> Iterator[bytes]:
        """Yield what is left when the vendor has closed the answer."""
        return self._bound.end()

    def read_all(self, received: Iterable[bytes]) -> Iterator[bytes]:
        """Yield a whole answer or each event. Reading ends early where the rest would be cut off, as for errors."""
        for piece in received:
            yield from self.read(piece)
            if self._bound.is_full:
                break
        yield from self.end()


class _Inflater:
    """Inflates one gzip member, in pieces of a bounded size, so that the one that exceeds a bound is the last."""

    def __init__(self, encoding: str) -> None:
        self._is_gzip = encoding in ("gzip", "x-gzip")
        self._decompressor = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def read(self, received: bytes) -> Iterator[bytes]:
        if not self._is_gzip:
            raise ProviderFailure("The answer has a content-encoding other than gzip, the one that was asked for.")
        while received and not self._decompressor.eof:
            try:
                yield self._decompressor.decompress(received, _PIECE)
            except zlib.error as error:
                raise ProviderFailure(f"The answer is broken gzip: {error}.") from None
            received = self._decompressor.unconsumed_tail


class _Bound(ABC):
    """Passes on the bytes that are ready; `end` passes on the rest. If it `is_full`, nothing more need be received."""

    @property
    def is_full(self) -> bool:
        return False

    @abstractmethod
    def read(self, piece: bytes) -> Iterator[bytes]: ...

    def end(self) -> Iterator[bytes]:
        return iter(())


class _CutOff(_Bound):
    """Passes on the first `ERROR_BYTES` of an error's answer; the status has enough information."""

    def __init__(self) -> None:
        self._left = ERROR_BYTES

    @property
    def is_full(self) -> bool:
        return self._left <= 0

    def read(self, piece: bytes) -> Iterator[bytes]:
        if kept := piece[: self._left]:
            yield kept
        self._left -= len(kept)


class _Whole(_Bound):
    def __init__(self, answer_bytes: int, part: AnswerPart | None) -> None:
        self._answer_bytes, self._part = answer_bytes, part
        self._size = self._elements = 0

    def read(self, piece: bytes) -> Iterator[bytes]:
        self._size += len(piece)
        self._elements += count_marks(piece)
        if self._size > self._answer_bytes:
            raise _too_large(f"is larger than {self._answer_bytes} bytes")
        check_elements(self._elements)
        if self._part and self._size > self._part.until:
            self._part.grow(self._size)
        yield piece


class _Events(_Bound):
    """Passes on whole events only: SDKs need time quadratic in the pieces, and in the lines, of one event."""

    def __init__(self, event_bytes: int, part: AnswerPart | None) -> None:
        self._event_bytes, self._part = event_bytes, part
        self._left = event_bytes * STREAM_FACTOR
        self._unfinished = bytearray()

    def read(self, piece: bytes) -> Iterator[bytes]:
        searched = max(0, len(self._unfinished) - _LONGEST_END + 1)
        self._unfinished += piece
        ends = [0, *(end.end() for end in _EVENT_END.finditer(self._unfinished, searched))]
        events = bytes(self._unfinished[: ends[-1]])
        del self._unfinished[: ends[-1]]
        for start, end in pairwise(ends):
            yield self._counted(events[start:end])
        left = len(self._unfinished)
        self._check_size(left)
        if self._part and left > self._part.until:
            self._part.grow(left)

    def end(self) -> Iterator[bytes]:
        if self._unfinished:
            yield self._counted(bytes(self._unfinished))

    def _counted(self, event: bytes) -> bytes:
        self._left -= max(len(event), EVENT_BYTES)
        if self._left < 0:
            raise _too_large(f"is larger than {self._event_bytes * STREAM_FACTOR} bytes")
        self._check_size(len(event))
        if event.count(b"\n") + event.count(b"\r") > EVENT_LINES:
            raise _too_large(f"has an event of more than {EVENT_LINES} lines")
        check_elements(count_marks(event))
        return event

    def _check_size(self, size: int) -> None:
        if size > self._event_bytes:
            raise _too_large(f"has an event of more than {self._event_bytes} bytes")


def check_elements(count: int) -> None:
    """Raise `ProviderFailure` for more than `ELEMENTS_MAX`."""
    if count > ELEMENTS_MAX:
        raise _too_large(f"has more than {ELEMENTS_MAX} lists, objects and members")


def _too_large(reason: str) -> ProviderFailure:
    return ProviderFailure(f"The answer {reason}, and was not read to its end.")
