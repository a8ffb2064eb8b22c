"""Reads the spans of turns within a number of bytes: a few kilobytes as they are stored may expand to gigabytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeVar

from sqlalchemy import Connection

from app.concurrency.quotas import FairSemaphore, Quota
from app.metrics import Metrics
from app.metrics.registry import SHARE_REFUSED
from app.models import log_records, span_sizes, spans
from app.models.sessions import SessionRow
from app.models.span_bodies import SpanKey
from app.models.spans import StoredSpan
from app.otlp.protobuf import is_protobuf
from app.services.accounts.owners import Owners
from app.services.search.turn_sizes import sizes_of
from app.values.json import count_marks

T = TypeVar("T")

SMALL_BYTES, PART_BYTES, RECORD_BYTES = 256 * 1024, 64 * 1024 * 1024, 64 * 1024 * 1024
"""Bytes of spans and log records: read without `LargeReads`; of a part of a session; of a session."""
AT_ONCE_BYTES, SHARE_PERCENT, WAIT_S = 64 * 1024 * 1024, 25, 60.0
"""The bytes of sessions that a process reads at once, an organization's share, and how long a session waits."""
MEMORY_PER_BYTE = 2
"""The memory for each byte of the limits, as `_memory` counts it."""
BYTES_PER_TURN = 2 * 1024
"""The bytes that each turn counts, however short its spans are."""
BYTES_PER_ELEMENT = 64
"""The memory that a bracket or a comma counts: an empty list of two bytes needs a hundred."""
_FOUR_BYTES = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4", b"\\ud", b"\\uD")
"""What begins a character in UTF-8 or JSON for which Python stores each character of its text in four bytes."""


@dataclass
class NeedsMemory(Exception):
    """The spans need more than `SMALL_BYTES`; `size` are their bytes, as far as they are read."""

    size: int


@dataclass(slots=True)
class ReadSpans:
    """The spans and log records that were read, and what was left out: spans of each trace, and turns after these."""

    spans: list[StoredSpan] = field(default_factory=list)
    records: list[tuple[SpanKey, bytes]] = field(default_factory=list)
    left_out: Counter[bytes] = field(default_factory=Counter)
    later_turns: int = 0

    def add(
        self,
        connection: Connection,
        row: SessionRow,
        trace_ids: Sequence[bytes],
        until: _Until | None = None,
        limit: int | None = None,
    ) -> None:
        """Read the spans and log records of traces, all or `until` these rows, and no more spans than `limit`."""
        self.spans += spans.spans_of(
            connection,
            project_id=row.project_id,
            prompt_id=row.prompt_id,
            trace_ids=trace_ids,
            last_id=until.span_id if until else None,
            limit=limit,
        )
        self.records += log_records.records_of(
            connection, project_id=row.project_id, trace_ids=trace_ids, last_id=until.record_id if until else None
        )

    def keep_within(self, memory: int, least_of: Collection[bytes]) -> None:
        """Leave out what needs more memory, but one span of each of the traces `least_of`."""
        read, missing = self.spans, set(least_of)
        self.spans = []
        for span in read:
            needed = _memory(span.raw)
            if needed <= memory or span.trace_id in missing:
                missing.discard(span.trace_id)
                memory -= needed
                self.spans.append(span)
            else:
                self.left_out[span.trace_id] += 1
        recorded, self.records = self.records, []
        for key, body in recorded:
            if (needed := _memory(body)) <= memory:
                memory -= needed
                self.records.append((key, body))


@dataclass(frozen=True, slots=True)
class _Until:
    """The last span and the last log record of a turn that are read, 0 for none; and how many bytes, and spans."""

    span_id: int
    record_id: int
    size: int
    spans_left_out: int


def read_spans(
    connection: Connection,
    row: SessionRow,
    trace_ids: Sequence[bytes],
    *,
    most: int | None,
    least_of: Collection[bytes] = (),
    limit: int | None = None,
) -> ReadSpans:
    """Read the spans of turns of a session until they need `most` bytes; of a turn the ones that were stored first.

    At least one span is read of each of the traces `least_of`, and of a turn at most `limit`. Without `most`, raises
    `NeedsMemory` if the turns need more than `SMALL_BYTES`.
    """
    read, left = ReadSpans(), SMALL_BYTES if most is None else most
    sizes = _sizes_of(connection, row, trace_ids)
    memory, size = (most or RECORD_BYTES) * MEMORY_PER_BYTE, sum(sizes)
    if most is None and size + BYTES_PER_TURN * len(trace_ids) > left:
        raise NeedsMemory(size + BYTES_PER_TURN * len(trace_ids))
    if size <= left:
        read.add(connection, row, trace_ids, limit=limit)
    else:
        for trace_id, size in zip(trace_ids, sizes, strict=True):
            until = _until(connection, row, trace_id, left, trace_id in least_of) if size > left else None
            read.add(connection, row, [trace_id], until, limit)
            read.left_out[trace_id] += until.spans_left_out if until else 0
            left = max(0, left - (until.size if until else size))
    read.keep_within(memory, least_of)
    return read


def turns_within(connection: Connection, row: SessionRow, trace_ids: Sequence[bytes], most: int) -> Sequence[bytes]:
    """Return the first turns, until they need `most` bytes together."""
    totals = accumulate(_sizes_of(connection, row, trace_ids))
    return trace_ids[: sum(1 for total in totals if total <= most)]


def _sizes_of(connection: Connection, row: SessionRow, trace_ids: Sequence[bytes]) -> list[int]:
    """Return the bytes of the spans and log records of each turn."""
    keys = [(row.prompt_id, trace_id) for trace_id in trace_ids]
    sizes = sizes_of(connection, project_id=row.project_id, keys=keys)
    return [sizes[key] for key in keys]


def _until(connection: Connection, row: SessionRow, trace_id: bytes, left: int, at_least_one: bool) -> _Until:
    of_spans = span_sizes.sizes_of(connection, project_id=row.project_id, key=(row.prompt_id, trace_id))
    spans_read = _fitting(of_spans, left, at_least_one)
    size = sum(size for _, size in spans_read)
    logged = log_records.sizes_of(connection, project_id=row.project_id, trace_ids=[trace_id])
    of_records = _fitting([(id_, size) for id_, _, size in logged], left - size, False)
    return _Until(
        span_id=spans_read[-1][0] if spans_read else 0,
        record_id=of_records[-1][0] if of_records else 0,
        size=size + sum(size for _, size in of_records),
        spans_left_out=len(of_spans) - len(spans_read),
    )


def _fitting(rows: Sequence[tuple[int, int]], left: int, at_least_one: bool) -> Sequence[tuple[int, int]]:
    """Return the first rows, pairs of an id and a size, that have no more bytes than are left."""
    for count, (_, size) in enumerate(rows):
        left -= size
        if left < 0 and (count or not at_least_one):
            return rows[:count]
    return rows


def _memory(body: bytes) -> int:
    """Return the bytes of memory of the texts in a span or log record, or of its lists and members if these need more.

    Python stores a text in one, two or four bytes for each character, whichever its largest one needs.
    """
    # In protobuf each member of a list begins with a byte that is a line end in texts.
    elements = count_marks(body) + (body.count(b"\n") if is_protobuf(body) else 0)
    return max(len(body) * _bytes_of_a_character(body), elements * BYTES_PER_ELEMENT)


def _bytes_of_a_character(body: bytes) -> int:
    if body.isascii() and b"\\u" not in body:
        return 1
    return 4 if any(start in body for start in _FOUR_BYTES) else 2


def spans_left_out(count: int) -> str:
    """Return the warning of a turn."""
    return f"Too long to be read at once: {count} of its spans are left out. Each has a page by its id."


def turns_left_out(count: int) -> str:
    """Return the warning of the last turn that a session has."""
    return f"Too long to be read at once: {count} other turns of the session are left out."


@dataclass(slots=True, kw_only=True)
class LargeReads:
    """Limits the sessions that a process has in memory at once to `AT_ONCE_BYTES`."""

    owners: Owners
    metrics: Metrics
    _semaphore: FairSemaphore = field(init=False)

    def __post_init__(self) -> None:
        count = self.metrics.count
        self._semaphore = FairSemaphore(
            Quota.of(AT_ONCE_BYTES, SHARE_PERCENT), on_refused=lambda: count(SHARE_REFUSED, "large_sessions")
        )

    @contextmanager
    def opened(self, project_id: int, read: Callable[[int | None], T], *, most: int) -> Iterator[T]:
        """Give the block what `read` returns, and hold memory for it if it is large.

        `read` is called with None and, after `NeedsMemory`, with `most` bytes (see `read_spans`). Raises as `hold`.
        """
        try:
            small = read(None)
        except NeedsMemory as needed:
            with self.hold(project_id, needed.size):
                yield read(most)
        else:
            yield small

    @contextmanager
    def hold(self, project_id: int, size: int) -> Iterator[None]:
        """Hold the memory of a session with so many bytes; raises `Unavailable` if not enough is free in time."""
        places = min(size, AT_ONCE_BYTES)
        with self._semaphore.hold(self.owners.of_project(project_id), wait_s=WAIT_S, places=places):
            yield
