"""Stored spans. The body of a span may be in the row of another span of its turn, its holder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    LargeBinary,
    Select,
    String,
    Table,
    UniqueConstraint,
    and_,
    func,
    select,
    type_coerce,
)

from app.models import bulk, queries, span_blocks, span_bodies
from app.models.base import BigInt, MediumBlob, binary, new_table, no_index
from app.models.span_bodies import SentSpan, SpanKey

# Without foreign keys: their check for each row would slow ingest down. Prompts are checked once per batch.
spans = new_table(
    "spans",
    Column("project_id", BigInt, nullable=False),
    Column("trace_id", binary(16), nullable=False),
    Column("span_id", binary(8), nullable=False),
    Column("prompt_id", BigInt, nullable=False),
    # The attempt that stored the row: see `batch_ids`.
    Column("batch_id", BigInt, nullable=False),
    # Empty if the holder's row has it. See app/models/span_bodies.py, also for the body.
    Column("scope", String(255), nullable=False),
    Column("body", MediumBlob, nullable=False),
    UniqueConstraint("project_id", "trace_id", "span_id"),
)

_FORMAT: ColumnElement[bytes] = func.substr(spans.c.body, 1, 1, type_=LargeBinary)
"""The first byte of a stored body."""
IS_HOLDER = type_coerce(span_bodies.JOINED, LargeBinary) == _FORMAT
"""The condition that a row has the bodies of other spans, too."""

_WITH_BODIES = select(spans.c.trace_id, spans.c.span_id, spans.c.prompt_id, spans.c.scope, spans.c.body)
_HOLDER = spans.alias("holder")
_IS_HOLDER_OF = and_(
    type_coerce(span_bodies.IN_HOLDER, LargeBinary) == _FORMAT,
    _HOLDER.c.project_id == spans.c.project_id,
    _HOLDER.c.trace_id == spans.c.trace_id,
    _HOLDER.c.span_id
    == func.substr(spans.c.body, 1 + span_bodies.HOLDER_START, span_bodies.HOLDER_BYTES, type_=LargeBinary),
)


class SpanRow(NamedTuple):
    """The columns of a row, without its id, with its own scope and the stored form of its body."""

    project_id: int
    trace_id: bytes
    span_id: bytes
    prompt_id: int
    batch_id: int
    scope: str
    body: bytes | memoryview

    @property
    def key(self) -> SpanKey:
        return self.trace_id, self.span_id


SPAN_COLUMNS = SpanRow._fields

READ_ATTEMPTS = 5
"""How often rows of spans are read while their blocks are replaced: each time another transaction has committed."""
OTHER_ROWS, OTHER_ROWS_PER_KEY = 256, 8
"""The rows of a trace that are read to find some of its spans: so many, and so many for each of these spans."""

TurnKey = tuple[int, bytes]
"""Prompt id and trace id."""


@dataclass(frozen=True, slots=True)
class StoredSpan:
    """A span's JSON, and its instrumentation scope."""

    trace_id: bytes
    span_id: bytes
    scope: str
    raw: bytes


def row_of(project_id: int, batch_id: int, span: SentSpan, stored: bytes) -> SpanRow:
    """Return the row of a span; `stored` is the stored form of its body."""
    scope = span_bodies.own_scope(span.scope, stored)
    return SpanRow(project_id, span.trace_id, span.span_id, span.prompt_id, batch_id, scope, stored)


def insert_new(connection: Connection, rows: Sequence[SpanRow]) -> int:
    """Store the `rows` (in key order) with new keys; returns their number.

    If some were not stored, bodies of the others may be in their rows: see `replace_bodies`.
    """
    return bulk.insert_new(connection, "spans", SPAN_COLUMNS, rows)


def replace_bodies(connection: Connection, rows: Sequence[SpanRow]) -> None:
    """Write the scopes and bodies of `rows` (in key order), which this transaction stored or has locked."""
    key = ("project_id", "trace_id", "span_id")
    bulk.upsert(connection, "spans", SPAN_COLUMNS, rows, key=key, update={"scope": "new", "body": "new"})


def stored_keys(
    connection: Connection, *, project_id: int, keys: Collection[SpanKey], batch_id: int | None = None
) -> set[SpanKey]:
    """Return the stored keys among `keys`, optionally only those stored by the attempt `batch_id`."""
    c = spans.c
    columns = (c.trace_id, c.span_id) if batch_id is None else (c.trace_id, c.span_id, c.batch_id)
    rows = _rows_with_keys(connection, spans, columns, project_id=project_id, keys=keys)
    return {(row.trace_id, row.span_id) for row in rows if batch_id is None or row.batch_id == batch_id}


def rows_by_key(
    connection: Connection, table: Table, *, project_id: int, keys: Collection[SpanKey], most: int = 1
) -> dict[int, SpanKey]:
    """Return the ids of the rows of `table` that have one of the keys, each with its key.

    `table` has spans or things that name spans, of which each key has `most` or fewer: of traces with many rows, only
    so many for each key are read. Only the index of the table is read.
    """
    c = table.c
    rows = _rows_with_keys(
        connection, table, (c.id, c.trace_id, c.span_id), project_id=project_id, keys=keys, most=most
    )
    return {row.id: (row.trace_id, row.span_id) for row in rows}


def _rows_with_keys(
    connection: Connection,
    table: Table,
    columns: Sequence[Column[Any]],
    *,
    project_id: int,
    keys: Collection[SpanKey],
    most: int = 1,
) -> Iterator[Any]:
    """Yield some columns of the rows of `table` that have one of the keys; trace and span must be among them.

    Mostly a statement for hundreds of traces has few other rows. Only if they are many, each trace has statements that
    name its spans, so that the work depends on the number of keys and not on what is stored.
    """
    span_ids: dict[bytes, set[bytes]] = defaultdict(set)
    for trace_id, span_id in keys:
        span_ids[trace_id].add(span_id)
    of_project, c = select(*columns).where(table.c.project_id == project_id), table.c
    for piece in queries.pieces(sorted(span_ids)):
        limit = OTHER_ROWS + OTHER_ROWS_PER_KEY * sum(len(span_ids[trace_id]) for trace_id in piece)
        rows = connection.execute(of_project.where(c.trace_id.in_(piece)).limit(limit + 1)).all()
        if len(rows) <= limit:
            yield from (row for row in rows if row.span_id in span_ids[row.trace_id])
            continue
        for trace_id in piece:
            for part in queries.pieces(sorted(span_ids[trace_id])):
                of_trace = of_project.where(c.trace_id == trace_id, c.span_id.in_(part))
                yield from connection.execute(of_trace.limit(most * len(part)))


def spans_by_key(
    connection: Connection, *, project_id: int, keys: Collection[SpanKey]
) -> dict[TurnKey, list[StoredSpan]]:
    """Return the stored spans that have the keys, by their turns."""
    ids = list(rows_by_key(connection, spans, project_id=project_id, keys=keys))
    return spans_of_rows(connection, project_id=project_id, ids=ids)


def spans_of_rows(connection: Connection, *, project_id: int, ids: Sequence[int]) -> dict[TurnKey, list[StoredSpan]]:
    """Return the spans of rows, by their turns."""
    c = spans.c
    # In one statement with the holder: between two statements another span might become the holder.
    # The last two columns are the holder's scope and body, None for a span with a body of its row.
    with_holder = _WITH_BODIES.add_columns(_HOLDER.c.scope, _HOLDER.c.body).outerjoin(_HOLDER, _IS_HOLDER_OF)
    by_turn: dict[TurnKey, list[StoredSpan]] = defaultdict(list)
    for piece in queries.pieces(ids):
        of_ids = with_holder.where(no_index(c.project_id) == project_id, c.id.in_(piece))
        rows, blocks = _rows_and_blocks(connection, project_id, of_ids)
        holders = {
            span_bodies.holder_of((row[0], row[1]), row.body): tuple(row[-2:]) for row in rows if row[-1] is not None
        }
        for prompt_id, span in _read([row[:-2] for row in rows], holders, blocks):
            by_turn[prompt_id, span.trace_id].append(span)
    return by_turn


def spans_of(
    connection: Connection,
    *,
    project_id: int,
    prompt_id: int,
    trace_ids: Sequence[bytes],
    limit: int | None = None,
    last_id: int | None = None,
) -> list[StoredSpan]:
    """List the stored spans of a prompt's turns, in no order.

    With a `limit` these are the first stored, and with `last_id` the rows stored until this one.
    """
    c = spans.c
    of_prompt = _WITH_BODIES.where(c.project_id == project_id, c.prompt_id == prompt_id)
    if last_id is not None:
        of_prompt = of_prompt.where(c.id <= last_id)
    if limit is not None:
        of_prompt = of_prompt.order_by(c.id).limit(limit)
    stored_spans: list[StoredSpan] = []
    for piece in queries.pieces(trace_ids):
        rows, blocks = _rows_and_blocks(connection, project_id, of_prompt.where(c.trace_id.in_(piece)))
        stored_spans += [span for _, span in _read(rows, {}, blocks)]
    return stored_spans


def _rows_and_blocks(
    connection: Connection, project_id: int, statement: Select[Any]
) -> tuple[Sequence[Any], dict[int, bytes]]:
    """Return the rows of a statement, and the blocks of their bodies.

    On MySQL a block may be replaced between the two statements. Then the rows are read again.
    """
    for _ in range(READ_ATTEMPTS):
        rows = connection.execute(statement).all()
        needed = {block_id for row in rows if (block_id := span_bodies.block_of(row.body)) is not None}
        blocks = span_blocks.bodies_of(connection, project_id=project_id, ids=needed) if needed else {}
        if len(blocks) == len(needed):
            break
    return rows, blocks


def _read(
    rows: Iterable[Sequence[Any]], holders: Mapping[SpanKey, tuple[str, bytes]], blocks: Mapping[int, bytes]
) -> Iterator[tuple[int, StoredSpan]]:
    """Yield the spans of rows of _WITH_BODIES with their prompts; `holders` have the scopes and bodies of others."""
    prompt_ids: dict[SpanKey, int] = {}
    stored: dict[SpanKey, bytes] = {}
    scopes = {key: scope for key, (scope, _) in holders.items()}
    for trace_id, span_id, prompt_id, scope, body in rows:
        key = (trace_id, span_id)
        prompt_ids[key], scopes[key], stored[key] = prompt_id, scope, body
    held = {key: body for key, (_, body) in holders.items()}
    for key, scope, body in span_bodies.read_all(stored, scopes, held, blocks):
        yield prompt_ids[key], StoredSpan(*key, scope, body)
