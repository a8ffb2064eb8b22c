"""Rewrites bodies of spans that came apart, so that those of a turn are compressed together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update

from app.models.compression import is_plain
from app.models.span_bodies import ELSEWHERE, Bodied, by_turn, read_whole
from app.models.spans import FORMAT, TurnKey, spans

_C = spans.c


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

    A row that has bodies of others is left as it is, with these, unless all of them are named, and so is a turn of
    which a body is damaged.
    """
    columns = select(_C.id, _C.project_id, _C.prompt_id, _C.trace_id, _C.span_id, _C.body).where(_C.id.in_(ids))
    turn = (_C.project_id, _C.prompt_id, _C.trace_id)
    rows = connection.execute(columns.order_by(*turn, _C.span_id).with_for_update())
    changed: list[dict[str, Any]] = []
    for (_, prompt_id, _), group in groupby(rows, attrgetter("project_id", "prompt_id", "trace_id")):
        found = {(row.trace_id, row.span_id): row for row in group}
        try:
            bodies = read_whole({key: row.body for key, row in found.items()})
        except ValueError:
            continue
        forms = by_turn([Bodied(*key, prompt_id, body) for key, body in bodies.items()])
        pairs = zip(bodies, forms, strict=True)
        changed += [{"row_id": found[key].id, "stored": form} for key, form in pairs if form != found[key].body]
    if changed:
        connection.execute(update(spans).where(_C.id == bindparam("row_id")).values(body=bindparam("stored")), changed)
    return len(changed)
