"""What the spans of turns need in memory, read without their bodies: a short stored form may expand to megabytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any

from sqlalchemy import ColumnElement, Connection, LargeBinary, and_, func, select, type_coerce

from app.models import queries
from app.models.base import no_index
from app.models.span_bodies import HEAD_BYTES, IN_BLOCK, IN_HOLDER, JOINED_BYTES, readable_size_of
from app.models.spans import TurnKey, spans

SPAN_BYTES = 1024
"""What a span needs besides its body."""
_RAW = type_coerce(spans.c.body, LargeBinary)
_SIZES = select(
    spans.c.id,
    spans.c.prompt_id,
    spans.c.trace_id,
    func.substr(_RAW, 1, HEAD_BYTES, type_=LargeBinary),
    func.length(_RAW),
)


def turn_bytes(connection: Connection, *, project_id: int, keys: Sequence[TurnKey]) -> dict[TurnKey, int]:
    """Return the bytes that the spans of turns need in memory, 0 for a turn without spans."""
    sizes = dict.fromkeys(keys, 0)
    for piece in queries.pieces(sorted({trace_id for _, trace_id in keys})):
        for _, key, size in _sizes(connection, project_id, spans.c.trace_id.in_(piece)):
            sizes[key] = sizes.get(key, 0) + size
    return sizes


def bytes_in_traces(
    connection: Connection, *, project_id: int, trace_ids: Collection[bytes], most: int
) -> dict[bytes, Counter[TurnKey]]:
    """Return the bytes that the spans of each turn need in memory, of the traces that have at most `most` spans."""
    sizes: dict[bytes, Counter[TurnKey]] = {}
    of_project = _SIZES.where(spans.c.project_id == project_id)
    for trace_id, rows in queries.small_groups(connection, of_project, spans.c.trace_id, trace_ids, most):
        sizes[trace_id] = Counter()
        for row in rows:
            _, key, size = _size(row)
            sizes[trace_id][key] += size
    return sizes


def sizes_of(connection: Connection, *, project_id: int, key: TurnKey) -> list[tuple[int, int]]:
    """List the spans of a turn in the order in which they were stored: the row, and the bytes that it needs."""
    prompt_id, trace_id = key
    of_turn = and_(spans.c.trace_id == trace_id, spans.c.prompt_id == prompt_id)
    return sorted((id_, size) for id_, _, size in _sizes(connection, project_id, of_turn))


def sizes_of_rows(connection: Connection, *, project_id: int, ids: Sequence[int]) -> dict[int, tuple[TurnKey, int]]:
    """Return the turns of spans, and the bytes that they need if each is read without the others of its turn."""
    c = spans.c
    statements = (_SIZES.where(no_index(c.project_id) == project_id, c.id.in_(piece)) for piece in queries.pieces(ids))
    of_rows = (map(_size_of_one, connection.execute(statement)) for statement in statements)
    return {id_: (key, size) for id_, key, size in chain.from_iterable(of_rows)}


def _sizes(
    connection: Connection, project_id: int, condition: ColumnElement[bool]
) -> Iterator[tuple[int, TurnKey, int]]:
    """Yield the rows that meet a condition, and the bytes that the bodies in them need: a short one may expand."""
    return map(_size, connection.execute(_SIZES.where(spans.c.project_id == project_id, condition)))


def _size(row: Sequence[Any]) -> tuple[int, TurnKey, int]:
    """Return the row, the turn and the bytes of a span that is read with all others of its turn."""
    id_, prompt_id, trace_id, beginning, stored = row
    return id_, (prompt_id, trace_id), SPAN_BYTES + readable_size_of(beginning, stored)


def _size_of_one(row: Sequence[Any]) -> tuple[int, TurnKey, int]:
    """Return the row, the turn and the bytes of a span that is read without the others of its turn.

    If its body is in another row or in a block, all of that row or block is read for it.
    """
    id_, key, size = _size(row)
    return id_, key, size + JOINED_BYTES if row[3].startswith((IN_HOLDER, IN_BLOCK)) else size
