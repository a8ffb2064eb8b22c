"""Ended runs as messages to the processes that wait for them, which then need not read the rows."""

from __future__ import annotations

import msgspec

from app.models.runs import RunRow
from app.values.structs import convert

RECORD_MAX = 16 * 1024
"""Bytes. A longer run is read from its row: the message goes to all web processes, and only one needs it."""


def write_record(row: RunRow) -> bytes:
    """Return the run as MessagePack; b"" if it is longer than `RECORD_MAX`."""
    texts = (row.question, row.answer or "", row.instruction or "")
    if sum(map(len, texts)) > RECORD_MAX:
        return b""
    try:
        record = msgspec.msgpack.encode(row)
    except OverflowError:  # JSON allows larger integers than MessagePack
        return b""
    return record if len(record) <= RECORD_MAX else b""


def read_record(record: bytes) -> RunRow | None:
    """Return the run; None for b"", and for a run with other columns from another version of Reprise."""
    try:
        return convert(msgspec.msgpack.decode(record), RunRow) if record else None
    except msgspec.ValidationError:
        return None
