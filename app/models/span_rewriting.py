"""Joins the bodies of spans that were stored separately: those of a turn are compressed together.

The joined bodies of a turn are in the row of one of its spans, the holder; the other rows refer to it. `span_bodies.py`
describes the stored forms of bodies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import Connection, LargeBinary, func, select

from app.models import spans
from app.models.bulk import by_size
from app.models.compression import is_plain
from app.models.queries import pieces
from app.models.span_bodies import (
    HEAD_BYTES,
    IN_HOLDER,
    JOINED_BYTES,
    RewrittenSpan,
    joined_by_turn,
    read_whole,
    scope_of,
    size_of,
)

TURN_BYTES = 4 * 1024 * 1024
"""The most bytes of bodies that are joined at once; the bodies of a longer turn are joined in parts."""
_C = spans.spans.c


class _RowHead(NamedTuple):
    """The beginning of a row's stored body; `size` is the size in bytes of all bodies in the row."""

    id: int
    head: bytes
    size: int


def joinable_rows(connection: Connection, *, after_id: int, until_id: int) -> list[tuple[list[int], int]]:
    """List groups of rows with ids in (after_id, until_id] that `join_rows` would change: (ids, bytes of bodies).

    A group has rows of one turn. They change if the bodies of at least two rows fit together, or if one of the rows is
    not compressed. Turns with a damaged body are left out.
    """
    head = func.substr(_C.body, 1, HEAD_BYTES, type_=LargeBinary)
    columns = select(_C.id, _C.prompt_id, _C.trace_id, head, func.length(_C.body))
    listed = columns.where(_C.id > after_id, _C.id <= until_id).order_by(_C.id)
    turns: dict[spans.TurnKey, list[_RowHead]] = defaultdict(list)
    damaged = set()
    for id_, prompt_id, trace_id, beginning, stored_bytes in connection.execute(listed):
        try:
            size = size_of(beginning, stored_bytes)
        except ValueError:
            damaged.add((prompt_id, trace_id))
            continue
        turns[prompt_id, trace_id].append(_RowHead(id_, beginning, size))
    return [
        ([row.id for row in part], sum(row.size for row in part))
        for turn, rows in turns.items()
        if turn not in damaged
        for part in by_size(rows, lambda row: row.size, TURN_BYTES)
        if _can_be_joined(part)
    ]


def _can_be_joined(rows: Sequence[_RowHead]) -> bool:
    """Return whether two rows with bodies fit together, or one is not compressed; a row that refers has no body."""
    holders = [row for row in rows if not row.head.startswith(IN_HOLDER)]
    two_smallest = sorted(row.size for row in holders)[:2]
    return (len(holders) > 1 and sum(two_smallest) <= JOINED_BYTES) or any(is_plain(row.head) for row in holders)


def join_rows(connection: Connection, *, ids: Sequence[int]) -> int:
    """Compress the bodies of each turn together; returns how many rows changed. `ids` are those of the rows.

    The rows are locked until the commit. A holder does not change if it has bodies of other rows than these, and
    neither do the rows that refer to it. A turn with a damaged body does not change.
    """
    columns = select(*(_C[name] for name in spans.SPAN_COLUMNS))
    rows: list[spans.SpanRow] = []
    for piece in pieces(sorted(ids)):
        locked = columns.where(_C.id.in_(piece)).order_by(_C.id).with_for_update()
        rows += [spans.SpanRow(*row) for row in connection.execute(locked)]
    changed = [row for _, of_turn in groupby(sorted(rows, key=_turn), _turn) for row in _joined(list(of_turn))]
    spans.replace_bodies(connection, sorted(changed))
    return len(changed)


def _turn(row: spans.SpanRow) -> tuple[int, int, bytes]:
    return row.project_id, row.prompt_id, row.trace_id


def _joined(rows: list[spans.SpanRow]) -> Iterator[spans.SpanRow]:
    """Yield the rows of a turn that change when their bodies are joined, with the new form of their bodies."""
    rows.sort()
    prompt_id = rows[0].prompt_id
    stored, scopes = {row.key: bytes(row.body) for row in rows}, {row.key: row.scope for row in rows}
    try:
        bodies = read_whole(stored)
    except ValueError:
        return
    whole = {
        key: RewrittenSpan(*key, prompt_id, scope_of(key, stored[key], scopes), body) for key, body in bodies.items()
    }
    forms = joined_by_turn(list(whole.values()))
    for row in rows:
        if row.key in whole and forms[row.key] != row.body:
            yield spans.row_of(row.project_id, row.batch_id, whole[row.key], forms[row.key])
