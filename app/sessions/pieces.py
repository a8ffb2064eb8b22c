"""Turns of many spans a piece at a time, in the order of their start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec
from google.protobuf.message import DecodeError
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from app.otlp.protobuf import is_protobuf
from app.otlp.values import time_ns
from app.sessions.spans import RawSpan
from app.values.structs import decoder

S = TypeVar("S", bound=RawSpan)
PIECE_SPANS = 200
"""The spans of a piece."""


class _Started(msgspec.Struct, gc=False):
    startTimeUnixNano: int | float | str | None = None  # noqa: N815 - the wire's own name


_decode = decoder(_Started)


def in_start_order(spans: Iterable[S]) -> list[S]:
    """Return the spans of a turn by their start, then by their ids, without reading more of them."""
    return sorted(spans, key=lambda span: (_start_ns(bytes(span.raw)), span.span_id))


def pieces_of(count: int) -> int:
    """Return the number of pieces of so many spans."""
    return max(1, -(-count // PIECE_SPANS))


def piece_of(ordered: Sequence[S], number: int) -> Sequence[S]:
    """Return the spans of a piece, of which the first has number 1; none for a number that there is not."""
    return ordered[(number - 1) * PIECE_SPANS : number * PIECE_SPANS]


def around(ordered: Sequence[S], number: int) -> Sequence[S]:
    """Return the spans of a piece and of those on both sides, which may have the tool of a call or a copy of a span."""
    return ordered[max(0, number - 2) * PIECE_SPANS : (number + 1) * PIECE_SPANS]


def _start_ns(raw: bytes) -> int:
    """Return the start of a stored span; 0 where it can't be read, as `read_span` has it."""
    try:
        if is_protobuf(raw):
            return int(SpanMessage.FromString(raw).start_time_unix_nano)
        return time_ns(_decode(raw).startTimeUnixNano)
    except (DecodeError, msgspec.DecodeError, UnicodeError, RecursionError):
        return 0
