"""Protobuf's wire format, enough to split an export into its spans or log records without parsing them.

A message of two bytes needs dozens of bytes once it is parsed, so an export is never parsed as a whole. It is walked
here, with work and memory bounded by a number of fields, and each span is parsed separately.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.errors import Invalid

WIRE_FIELDS_MAX = 500_000
"""Fields of an export outside of its spans: its groups, and the spans themselves. Each costs about a microsecond."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIZES = {_FIXED64: 8, _FIXED32: 4}
_VARINT_BYTES = 10


@dataclass(slots=True)
class WireWalk:
    """The walk through one body, with the fields that are left to it."""

    left: int = WIRE_FIELDS_MAX

    def messages(self, data: memoryview, number: int) -> Iterator[memoryview]:
        """Return the bytes of each field `number` of the message in `data`, in order; `Invalid` where it is none."""
        return (content for field, content in self.fields(data) if field == number)

    def fields(self, data: memoryview) -> Iterator[tuple[int, memoryview]]:
        """Yield the number and the bytes of each field that has bytes: texts and messages. Others are skipped."""
        at, end = 0, len(data)
        while at < end:
            self.left -= 1
            if self.left < 0:
                raise Invalid(f"The export has more than {WIRE_FIELDS_MAX} spans and groups; send smaller batches.")
            tag, at = _varint(data, at)
            kind = tag & 7
            # Other kinds get a size that does not fit, and are refused below.
            size, at = _varint(data, at) if kind in (_BYTES, _VARINT) else (_SIZES.get(kind, end), at)
            if kind == _VARINT:
                continue
            if size > end - at:
                raise Invalid("The body is no OTLP protobuf export: a field ends after the message that it is in.")
            if kind == _BYTES:
                yield tag >> 3, data[at : at + size]
            at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return the number that begins at `at`, and where it ends."""
    value = 0
    for index, byte in enumerate(data[at : at + _VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, at + index + 1
    raise Invalid("The body is no OTLP protobuf export: a number in it does not end.")
