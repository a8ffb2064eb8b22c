"""Rewrites bodies of spans that are stored alone, so that those of a turn are compressed together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, LargeBinary, bindparam, func, select, type_coerce, update

from app.models.compression import decompress, is_plain
from app.models.span_bodies import ELSEWHERE, TOGETHER, by_turn
from app.models.spans import FORMAT, TurnKey, spans


@dataclass(frozen=True, slots=True)
class _Span:
    """A row, its body, and how that is stored."""

    id: int
    trace_id: bytes
    span_id: bytes
    prompt_id: int
    stored: bytes
    raw: bytes


_C = spans.c
_IS_ALONE = FORMAT.not_in([type_coerce(one, LargeBinary) for one in (TOGETHER, ELSEWHERE)])


def turns_apart(connection: Connection, *, after_id: int, until_id: int) -> list[tuple[list[int], int]]:
    """List, by turn, the spans with ids in (after_id, until_id] that are stored alone: their ids, and their bytes.

    A turn's only one is not listed if it is compressed.
    """
    columns = select(_C.id, _C.prompt_id, _C.trace_id, func.length(_C.body), FORMAT)
    listed = columns.where(_C.id > after_id, _C.id <= until_id, _IS_ALONE).order_by(_C.id)
    found: dict[TurnKey, list[tuple[int, int, bytes]]] = defaultdict(list)
    for id_, prompt_id, trace_id, size, first in connection.execute(listed):
        found[prompt_id, trace_id].append((id_, size, first))
    return [
        ([id_ for id_, _, _ in of_turn], sum(size for _, size, _ in of_turn))
        for of_turn in found.values()
        if len(of_turn) > 1 or is_plain(of_turn[0][2])
    ]


def join_rows(connection: Connection, *, ids: Sequence[int]) -> int:
    """Compress the bodies of rows by the turn, which nobody changes until the commit; returns how many changed.

    Those that were rewritten since they were listed stay as they are.
    """
    columns = select(_C.id, _C.trace_id, _C.span_id, _C.prompt_id, _C.body)
    locked = columns.where(_C.id.in_(ids), _IS_ALONE).order_by(_C.trace_id, _C.prompt_id, _C.span_id).with_for_update()
    found = [_Span(*row, decompress(row[-1])) for row in connection.execute(locked)]
    changed = [
        {"row_id": span.id, "stored": stored}
        for span, stored in zip(found, by_turn(found), strict=True)
        if stored != span.stored
    ]
    if changed:
        connection.execute(update(spans).where(_C.id == bindparam("row_id")).values(body=bindparam("stored")), changed)
    return len(changed)
