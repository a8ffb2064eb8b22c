"""Compresses rows that were stored uncompressed, by earlier releases or while compression was off, and joins spans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any

from sqlalchemy import Column

from app.database.transactions import Database
from app.models import row_rewriting, span_rewriting
from app.models.bulk import by_size
from app.models.case_snapshots import case_snapshots
from app.models.log_records import log_records
from app.models.replays import replays
from app.models.runs import runs
from app.models.spans import spans
from app.models.turns import turns

COMPRESSED_COLUMNS: tuple[Column[Any], ...] = (
    spans.c.body,
    log_records.c.body,
    turns.c.facts,
    runs.c.question,
    runs.c.answer,
    runs.c.request,
    runs.c.instruction,
    runs.c.outcome,
    replays.c.result,
    case_snapshots.c.document,
)
# Ids that one statement reads, and bytes of a column that one transaction rewrites.
IDS_PER_STATEMENT, BYTES_AT_ONCE = 1000, 8 * 1024 * 1024
SPANS_AT_ONCE = 5000
"""Span ids that are read together, so that spans of a turn from several batches can be joined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionService:
    database: Database

    def last_id(self, column: Column[Any]) -> int:
        """Return the highest id of a column's table."""
        with self.database.read() as connection:
            return row_rewriting.last_id(connection, column.table)

    def compress(self, column: Column[Any], *, until_id: int) -> Iterator[tuple[int, int]]:
        """Compress a column in rows with ids up to `until_id`, in small transactions; bodies of spans are joined, too.

        Yields pairs of the ids that were read and the rows that were compressed since the last pair. It may be
        interrupted, and started again. Other processes may store, read and remove rows meanwhile.
        """
        listed: Callable[..., list[tuple[list[int], int]]] = span_rewriting.joinable_rows
        rewrite: Callable[..., int] = span_rewriting.join_rows
        ids_at_once = SPANS_AT_ONCE
        if column is not spans.c.body:
            listed = partial(row_rewriting.plain_rows, column=column)
            rewrite = partial(row_rewriting.compress_rows, column=column)
            ids_at_once = IDS_PER_STATEMENT
        background = self.database.background
        for after_id in range(0, until_id, ids_at_once):
            up_to = min(after_id + ids_at_once, until_id)
            with background.read() as connection:
                sized_rows = listed(connection, after_id=after_id, until_id=up_to)
            compressed = 0
            for rows in by_size(sized_rows, itemgetter(1), BYTES_AT_ONCE):
                ids = list(chain.from_iterable(ids for ids, _ in rows))
                compressed += background.retrying(partial(rewrite, ids=ids))
            yield up_to - after_id, compressed
