"""What turns need in memory, before they are read: a few kilobytes as they are stored may expand to gigabytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

from sqlalchemy import Connection

from app.models import log_records, span_sizes
from app.models.spans import StoredSpan, TurnKey
from app.values.json import count_marks

TURN_BYTES = 8 * 1024 * 1024
"""Bytes of the spans of a turn, and of its log records, that are read. The first one is read however large it is."""
CHECK_BYTES = 4 * 1024 * 1024
"""Bytes of a turn. An online check reads no larger one."""
TURN_ELEMENTS_MAX = 500_000
"""Brackets and commas of the spans of a turn that are read: an empty list of two bytes needs 64 bytes in memory."""


def sizes_of(connection: Connection, *, project_id: int, keys: Sequence[TurnKey]) -> dict[TurnKey, int]:
    """Return the bytes that the spans and the log records of turns need."""
    sizes = span_sizes.turn_bytes(connection, project_id=project_id, keys=keys)
    recorded = Counter[bytes]()
    trace_ids = sorted({trace_id for _, trace_id in keys})
    for _, trace_id, size in log_records.sizes_of(connection, project_id=project_id, trace_ids=trace_ids):
        recorded[trace_id] += size
    return {key: size + recorded[key[1]] for key, size in sizes.items()}


def small_sizes_of(
    connection: Connection, *, project_id: int, keys: Sequence[TurnKey], most: int
) -> dict[TurnKey, int]:
    """Return the bytes of the turns that need at most `most`.

    A trace with more rows than fit into `most` bytes is left out after as many rows were read.
    """
    trace_ids, rows = {trace_id for _, trace_id in keys}, most // span_sizes.SPAN_BYTES
    sizes = span_sizes.bytes_in_traces(connection, project_id=project_id, trace_ids=trace_ids, most=rows)
    recorded = log_records.bytes_in_traces(connection, project_id=project_id, trace_ids=trace_ids, most=rows)
    totals = {key: sizes[key[1]][key] + recorded[key[1]] for key in keys if key[1] in sizes and key[1] in recorded}
    return {key: size for key, size in totals.items() if size <= most}


def last_rows(connection: Connection, *, project_id: int, key: TurnKey) -> tuple[int, int]:
    """Return the ids of the last span and of the last log record of a turn that are read."""
    of_spans = span_sizes.sizes_of(connection, project_id=project_id, key=key)
    records = log_records.sizes_of(connection, project_id=project_id, trace_ids=[key[1]])
    return _last_that_fits(of_spans), _last_that_fits([(id_, size) for id_, _, size in records])


def first_spans(spans: Iterable[StoredSpan]) -> list[StoredSpan]:
    """Return the first spans of a turn, which have at most `TURN_ELEMENTS_MAX` brackets and commas together."""
    left, read = TURN_ELEMENTS_MAX, list[StoredSpan]()
    for span in spans:
        left -= count_marks(span.raw)
        if left >= 0:
            read.append(span)
    return read


def _last_that_fits(rows: Sequence[tuple[int, int]]) -> int:
    """Return the id of the last of the first rows that need TURN_BYTES at most, and of the first one at least."""
    totals = accumulate(size for _, size in rows)
    return max((id_ for (id_, _), total in zip(rows, totals, strict=True) if total <= TURN_BYTES), default=_first(rows))


def _first(rows: Sequence[tuple[int, int]]) -> int:
    return rows[0][0] if rows else 0
