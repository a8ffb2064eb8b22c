"""Packs spans: their bodies move from rows of spans into blocks, compressed together.

The turns of a conversation repeat each other's messages, and conversations of one prompt resemble each other. A block
has turns of some conversations of one prompt. The turns of a conversation are in as few blocks as possible.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, LargeBinary, delete, func, select, type_coerce, update

from app.models import queries, spans
from app.models.base import no_index
from app.models.bulk import by_size
from app.models.compression import Body, compress_thoroughly
from app.models.organizations import projects
from app.models.span_blocks import bodies_of, span_blocks
from app.models.span_bodies import (
    HEAD_BYTES,
    JOINED_BYTES,
    NAME_OF_BLOCK,
    RewrittenSpan,
    SpanKey,
    block_of,
    in_rows,
    join_block,
    name_of_block,
    read_blocks,
    read_whole,
    scope_of,
    size_of,
    size_of_block,
)
from app.models.turns import turns

TRACE_ID_BYTES = 16
STORED_BYTES = 13_000
"""What the spans of a block may need before they are packed, unless they are of one conversation."""
INLINE_BYTES = 8_000
"""What a block of several conversations may need: InnoDB stores a larger one in separate pages of 16 KiB."""
TURNS_MAX = 2_000
"""Turns of some sessions that are looked at together."""
SPANS_MAX = 5_000
"""Spans of a trace that are packed: more need more than a block has."""
COMPRESSION_RATIO = 12
"""How many times smaller a body in a block is, about."""
_S, _T, _B = spans.spans.c, turns.c, span_blocks.c
_HEAD = func.substr(_S.body, 1, HEAD_BYTES, type_=LargeBinary)
_BLOCK_NAME = func.substr(_S.body, 1, NAME_OF_BLOCK, type_=LargeBinary)
_ROWS = select(*(_S[name] for name in spans.SPAN_COLUMNS))


class Waiting(NamedTuple):
    """Sessions with turns that are not packed, and the batch id up to which they are the project's only ones."""

    session_keys: list[bytes]
    until: int


class Group(NamedTuple):
    """Spans of a conversation that belong into one block.

    `ids` are those of their rows, turn by turn. `size` are the bytes of their bodies, `stored` the bytes that they
    need now.
    """

    prompt_id: int
    ids: list[int]
    size: int
    stored: int


Joined = Sequence[Group]
"""The groups that go into one block, or into several if they need too much."""
Kept = Sequence[tuple[spans.SpanRow, RewrittenSpan]]
"""Rows with their spans."""


class ListedTurn(NamedTuple):
    """A turn of a session."""

    id: int
    session_key: bytes
    prompt_id: int
    trace_id: bytes

    @property
    def key(self) -> spans.TurnKey:
        return (self.prompt_id, self.trace_id)


@dataclass(slots=True)
class _Turn:
    """The spans of a turn so far, while groups are made; `ids`, `size` and `stored` are as of `Group`.

    `blocks` are the ids of the blocks that have its spans, with None if a span is in no block.
    """

    prompt_id: int
    ids: list[int]
    blocks: set[int | None]
    size: int = 0
    stored: int = 0


def packed_until(connection: Connection, *, project_id: int) -> int:
    """Return the batch id up to which a project's turns are packed."""
    return connection.scalar(select(projects.c.packed_until).where(projects.c.id == project_id)) or 0


def put_packed_until(connection: Connection, *, project_id: int, until: int) -> None:
    connection.execute(update(projects).where(projects.c.id == project_id).values(packed_until=until))


def waiting(connection: Connection, *, project_id: int, after: int, before: int, limit: int) -> Waiting:
    """List the sessions of turns that got their last spans by batches with ids in (after, before), the first ones.

    Of one batch all are listed, of several batches those of about `limit` turns.
    """
    of_project = select(_T.session_key, _T.batch_id).where(_T.project_id == project_id)
    between = of_project.where(_T.batch_id > after, _T.batch_id < before).order_by(_T.batch_id)
    rows = connection.execute(between.limit(limit)).all()
    if len(rows) < limit:
        return Waiting(_distinct(rows), before - 1)
    last = rows[-1].batch_id
    if rows[0].batch_id == last:
        rows = connection.execute(of_project.where(_T.batch_id == last)).all()
        return Waiting(_distinct(rows), last)
    return Waiting(_distinct([row for row in rows if row.batch_id < last]), last - 1)


def _distinct(rows: Iterable[Any]) -> list[bytes]:
    """Return the session keys of rows in their order: what was sent together is packed, and removed, together."""
    return list(dict.fromkeys(row.session_key for row in rows))


def turns_of(
    connection: Connection, *, project_id: int, session_keys: Collection[bytes], after: int, before: int
) -> list[ListedTurn]:
    """List the turns of sessions without spans of batches from `before` on, in order.

    If they are more than `TURNS_MAX`, only those with spans of batches after `after` are listed: a conversation may
    grow for years.
    """
    of_sessions = select(_T.id, _T.session_key, _T.prompt_id, _T.trace_id).where(
        no_index(_T.project_id) == project_id, _T.session_key.in_(session_keys), no_index(_T.batch_id) < before
    )
    in_order = of_sessions.order_by(_T.session_key, _T.start_ns, _T.trace_id)
    rows = connection.execute(in_order.limit(TURNS_MAX + 1)).all()
    if len(rows) > TURNS_MAX:
        rows = connection.execute(in_order.where(no_index(_T.batch_id) > after)).all()
    return [ListedTurn(*row) for row in rows]


def groups_to_pack(connection: Connection, *, project_id: int, listed: Sequence[ListedTurn]) -> list[Joined]:
    """Return the groups of spans to pack: the spans of sessions that are not all in one block.

    A turn that is too large for a block stays, and so does a damaged one.
    """
    by_turn = _turns(connection, project_id, {turn.trace_id for turn in listed})
    groups = []
    for _, of_session in groupby(listed, attrgetter("session_key", "prompt_id")):
        present = [by_turn[turn.key] for turn in of_session if turn.key in by_turn]
        for together in by_size(present, attrgetter("size"), JOINED_BYTES):
            blocks = set[int | None]().union(*(turn.blocks for turn in together))
            group = Group(
                together[0].prompt_id,
                [id_ for turn in together for id_ in turn.ids],
                sum(turn.size for turn in together),
                sum(turn.stored for turn in together),
            )
            if group.size <= JOINED_BYTES and (len(blocks) > 1 or None in blocks):
                groups.append(group)
    return _joined(groups)


def _joined(groups: Iterable[Group]) -> list[Joined]:
    """Join groups of one prompt, as long as they are small."""
    by_prompt = groupby(sorted(groups, key=attrgetter("prompt_id")), attrgetter("prompt_id"))
    return [
        joined
        for _, of_prompt in by_prompt
        for small in by_size(list(of_prompt), attrgetter("size"), JOINED_BYTES)
        for joined in by_size(small, attrgetter("stored"), STORED_BYTES)
    ]


def size_of_joined(joined: Joined) -> int:
    """Return the bytes of the bodies of groups."""
    return sum(group.size for group in joined)


def _turns(connection: Connection, project_id: int, trace_ids: Collection[bytes]) -> dict[spans.TurnKey, _Turn]:
    """Return the turns in traces of few spans, without damaged ones."""
    by_turn: dict[spans.TurnKey, _Turn] = {}
    damaged = set()
    columns = select(_S.id, _S.prompt_id, _S.trace_id, _HEAD.label("head"), func.length(_S.body).label("bytes"))
    of_project = columns.where(_S.project_id == project_id)
    for _, rows in queries.small_groups(connection, of_project, _S.trace_id, trace_ids, SPANS_MAX):
        for row in sorted(rows, key=attrgetter("id")):
            key, block_id = (row.prompt_id, row.trace_id), block_of(row.head)
            try:
                size = size_of(row.head, row.bytes)
            except ValueError:
                damaged.add(key)
                continue
            turn = by_turn.setdefault(key, _Turn(row.prompt_id, [], set()))
            turn.ids.append(row.id)
            turn.blocks.add(block_id)
            turn.size += size
            turn.stored += row.bytes if block_id is None else size // COMPRESSION_RATIO
    return {key: turn for key, turn in by_turn.items() if key not in damaged}


def pack(connection: Connection, *, project_id: int, groups: Sequence[Joined]) -> int:
    """Move the bodies of joined groups into blocks; returns how many rows changed.

    Rows that have gone, and rows with bodies of spans outside of the groups, are left out. Groups with a damaged body
    do not change.
    """
    locked: dict[int, spans.SpanRow] = {}
    for piece in queries.pieces(sorted(id_ for joined in groups for group in joined for id_ in group.ids)):
        of_piece = _ROWS.add_columns(_S.id).where(no_index(_S.project_id) == project_id, _S.id.in_(piece))
        for row in connection.execute(of_piece.order_by(_S.id).with_for_update()):
            *columns, id_ = row
            locked[id_] = spans.SpanRow(*columns)
    left = {block_id for row in locked.values() if (block_id := block_of(bytes(row.body))) is not None}
    blocks = bodies_of(connection, project_id=project_id, ids=left)
    changed = []
    for joined in groups:
        rows = [[locked[id_] for id_ in group.ids if id_ in locked] for group in joined]
        changed += _packed(connection, project_id, rows, blocks)
    spans.replace_bodies(connection, sorted(changed))
    settle_blocks(connection, project_id=project_id, block_ids=left)
    return len(changed)


def _packed(
    connection: Connection, project_id: int, groups: Sequence[Sequence[spans.SpanRow]], blocks: Mapping[int, bytes]
) -> list[spans.SpanRow]:
    """Store blocks with the bodies of the rows of groups; returns the rows as they become."""
    try:
        bodied = _bodies(list(chain.from_iterable(groups)), blocks)
    except ValueError:
        return []
    kept = [[(row, bodied[row.key]) for row in rows if row.key in bodied] for rows in groups]
    return _stored(connection, project_id, [group for group in kept if group]) if len(bodied) > 1 else []


def _bodies(rows: Sequence[spans.SpanRow], blocks: Mapping[int, bytes]) -> dict[SpanKey, RewrittenSpan]:
    prompt_ids = {row.key: row.prompt_id for row in rows}
    stored = {row.key: bytes(row.body) for row in rows}
    scopes = {row.key: row.scope for row in rows}
    of_rows = read_whole(in_rows(stored)).items()
    with_scopes = ((key, scope_of(key, stored[key], scopes), body) for key, body in of_rows)
    return {
        key: RewrittenSpan(*key, prompt_ids[key], scope, body)
        for key, scope, body in chain(with_scopes, read_blocks(stored, blocks))
    }


def _stored(connection: Connection, project_id: int, groups: Sequence[Kept]) -> list[spans.SpanRow]:
    """Store the spans of groups in a block, or in several if it is large; returns their rows as they become."""
    kept = list(chain.from_iterable(groups))
    content, places = join_block([span for _, span in kept])
    body = compress_thoroughly(content)
    if len(body) > INLINE_BYTES and len(groups) > 1:
        middle = len(groups) // 2
        halves = groups[:middle], groups[middle:]
        return [row for half in halves for row in _stored(connection, project_id, half)]
    traces = b"".join(dict.fromkeys(span.trace_id for _, span in kept))
    block_id = queries.insert_row(connection, span_blocks, project_id=project_id, traces=traces, body=body)
    name = name_of_block(block_id)
    return [row._replace(scope="", body=name + place) for (row, _), place in zip(kept, places, strict=True)]


def blocks_of_rows(connection: Connection, *, project_id: int, ids: Sequence[int]) -> set[int]:
    """Return the blocks of spans, of which `ids` are the rows."""
    found: set[int] = set()
    for piece in queries.pieces(ids):
        names = select(_BLOCK_NAME).where(no_index(_S.project_id) == project_id, _S.id.in_(piece)).distinct()
        found |= {block_id for name in connection.scalars(names) if (block_id := block_of(name)) is not None}
    return found


def settle_blocks(connection: Connection, *, project_id: int, block_ids: Collection[int]) -> None:
    """Remove blocks without spans. Store blocks that lost spans again, with the bodies of their other spans only.

    The caller's transaction has locked the spans that the blocks lost.
    """
    for block_id in sorted(block_ids):
        of_id = (no_index(_B.project_id) == project_id, _B.id == block_id)
        block = connection.execute(select(_B.traces, _B.body).where(*of_id).with_for_update()).one_or_none()
        if block is None:
            continue
        rows = _rows_of(connection, project_id, block_id, block.traces)
        if rows:
            try:
                if _size(row.body for row in rows) == size_of_block(block.body[:HEAD_BYTES], len(block.body)):
                    continue
                bodied = _bodies(rows, {block_id: block.body})
            except ValueError:
                # Its spans can't be read. It is removed with the last of them.
                continue
            kept = [(row, bodied[row.key]) for row in rows]
            spans.replace_bodies(connection, sorted(_stored(connection, project_id, [kept])))
        connection.execute(delete(span_blocks).where(*of_id))


def misfits(connection: Connection, *, project_id: int, ids: Sequence[int]) -> list[int]:
    """Return those of the blocks that don't have exactly the bodies of their spans. Raises `ValueError` for damage."""
    head = func.substr(_B.body, 1, HEAD_BYTES, type_=LargeBinary)
    of_ids = select(_B.id, _B.traces, head, func.length(_B.body)).where(
        no_index(_B.project_id) == project_id, _B.id.in_(ids)
    )
    found = []
    for block_id, traces, beginning, stored_bytes in connection.execute(of_ids).all():
        forms = _forms_of(connection, project_id, block_id, traces)
        if _size(forms) != size_of_block(beginning, stored_bytes):
            found.append(block_id)
    return found


def _forms_of(connection: Connection, project_id: int, block_id: int, traces: bytes) -> list[bytes]:
    """Return the stored bodies of the spans in a block."""
    return [
        body
        for condition in _conditions(project_id, block_id, traces)
        for body in connection.scalars(select(_S.body).where(*condition))
    ]


def _rows_of(connection: Connection, project_id: int, block_id: int, traces: bytes) -> list[spans.SpanRow]:
    """Return the rows of the spans in a block, locked, in the order of their places."""
    rows: list[spans.SpanRow] = []
    for condition in _conditions(project_id, block_id, traces):
        rows += [spans.SpanRow(*row) for row in connection.execute(_ROWS.where(*condition).with_for_update())]
    return sorted(rows, key=lambda row: bytes(row.body))


def _conditions(project_id: int, block_id: int, traces: bytes) -> Iterator[tuple[ColumnElement[bool], ...]]:
    """Yield conditions on the spans in a block, which together all of them meet."""
    name = type_coerce(name_of_block(block_id), LargeBinary)
    trace_ids = [traces[start : start + TRACE_ID_BYTES] for start in range(0, len(traces), TRACE_ID_BYTES)]
    for piece in queries.pieces(sorted(trace_ids)):
        yield _S.project_id == project_id, _S.trace_id.in_(piece), name == _BLOCK_NAME


def _size(forms: Iterable[Body]) -> int:
    """Return the size of bodies in their stored forms."""
    return sum(size_of(bytes(form), len(form)) for form in forms)
