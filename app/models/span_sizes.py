"""What the spans of turns need in memory, read without their bodies: a short stored form may expand to megabytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from sqlalchemy import ColumnElement, Connection, LargeBinary, and_, func, select, type_coerce

from app.models import queries
from app.models.span_bodies import HEAD_BYTES, TOGETHER_BYTES, readable_size_of
from app.models.spans import TurnKey, spans

SPAN_BYTES = 1024
"""What a span needs besides its body."""


def turn_bytes(connection: Connection, *, project_id: int, keys: Sequence[TurnKey]) -> dict[TurnKey, int]:
    """Return the bytes that the spans of turns need in memory, 0 for a turn without spans."""
    sizes = dict.fromkeys(keys, 0)
    for piece in queries.pieces(sorted({trace_id for _, trace_id in keys})):
        for _, key, size in _sizes(connection, project_id, spans.c.trace_id.in_(piece)):
            sizes[key] = sizes.get(key, 0) + size
    return sizes


def sizes_of(connection: Connection, *, project_id: int, key: TurnKey) -> list[tuple[int, int]]:
    """List the spans of a turn in the order in which they were stored: the row, and the bytes that it needs."""
    prompt_id, trace_id = key
    of_turn = and_(spans.c.trace_id == trace_id, spans.c.prompt_id == prompt_id)
    return sorted((id_, size) for id_, _, size in _sizes(connection, project_id, of_turn))


def sizes_of_rows(connection: Connection, *, project_id: int, ids: Sequence[int]) -> dict[int, int]:
    """Return the bytes that spans need in memory if each is read without the others of its turn, by their rows."""
    of_rows = (_sizes(connection, project_id, spans.c.id.in_(piece)) for piece in queries.pieces(ids))
    # A body in another span's row needs that row.
    return {id_: size if size > SPAN_BYTES else size + TOGETHER_BYTES for id_, _, size in chain.from_iterable(of_rows)}


def _sizes(
    connection: Connection, project_id: int, condition: ColumnElement[bool]
) -> Iterator[tuple[int, TurnKey, int]]:
    """Yield the rows that meet a condition, and the bytes that the bodies in them need: a short one may expand."""
    c = spans.c
    raw = type_coerce(c.body, LargeBinary)
    head = func.substr(raw, 1, HEAD_BYTES, type_=LargeBinary)
    columns = select(c.id, c.prompt_id, c.trace_id, head, func.length(raw)).where(c.project_id == project_id)
    for id_, prompt_id, trace_id, beginning, stored in connection.execute(columns.where(condition)):
        yield id_, (prompt_id, trace_id), SPAN_BYTES + readable_size_of(beginning, stored)
