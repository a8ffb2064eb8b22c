"""Rewrites bodies of spans that came apart, so that those of a turn are compressed together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from sqlalchemy import Connection, bindparam, func, select, update

from app.models.compression import is_plain
from app.models.span_bodies import ELSEWHERE, by_turn, read_whole
from app.models.spans import FORMAT, TurnKey, spans

_C = spans.c


@dataclass(frozen=True, slots=True)
class _Span:
    """A row, and its body."""

    id: int
    trace_id: bytes
    span_id: bytes
    prompt_id: int
    raw: bytes


def turns_apart(connection: Connection, *, after_id: int, until_id: int) -> list[tuple[list[int], int]]:
    """List, by turn, the spans with ids in (after_id, until_id] that can be joined: their ids, and their stored bytes.

    Those of a turn can be joined that are not all in one row, and a single one that is not compressed.
    """
    columns = select(_C.id, _C.prompt_id, _C.trace_id, func.length(_C.body), FORMAT)
    listed = columns.where(_C.id > after_id, _C.id <= until_id).order_by(_C.id)
    found: dict[TurnKey, list[tuple[int, int, bytes]]] = defaultdict(list)
    for id_, prompt_id, trace_id, size, first in connection.execute(listed):
        found[prompt_id, trace_id].append((id_, size, first))
    return [
        ([id_ for id_, _, _ in of_turn], sum(size for _, size, _ in of_turn))
        for of_turn in found.values()
        if _are_apart([first for _, _, first in of_turn])
    ]


def _are_apart(formats: Sequence[bytes]) -> bool:
    own = [first for first in formats if first != ELSEWHERE]
    return len(own) > 1 or any(map(is_plain, own))


def join_rows(connection: Connection, *, ids: Sequence[int]) -> int:
    """Compress the bodies of rows by the turn, which nobody changes until the commit; returns how many changed.

    A row that has bodies of others is left as it is, with these, unless all of them are named.
    """
    columns = select(_C.project_id, _C.id, _C.trace_id, _C.span_id, _C.prompt_id, _C.body).where(_C.id.in_(ids))
    locked = columns.order_by(_C.project_id, _C.trace_id, _C.prompt_id, _C.span_id).with_for_update()
    changed = []
    for _, rows in groupby(connection.execute(locked), attrgetter("project_id")):
        found = {(row.trace_id, row.span_id): row for row in rows}
        bodies = read_whole({key: row.body for key, row in found.items()})
        whole = [_Span(found[key].id, *key, found[key].prompt_id, body) for key, body in bodies.items()]
        for span, stored in zip(whole, by_turn(whole), strict=True):
            if stored != found[span.trace_id, span.span_id].body:
                changed.append({"row_id": span.id, "stored": stored})
    if changed:
        connection.execute(update(spans).where(_C.id == bindparam("row_id")).values(body=bindparam("stored")), changed)
    return len(changed)
