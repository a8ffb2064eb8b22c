"""The index of the text search: words of turns, block by block, and the blocks whose words are to be read anew.

A block is the turns of a project whose ids are next to each other: see app/search/blocks.py. Everything here is made
from the stored spans, and no row is needed for longer than the spans that it was made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import (
    Column,
    Connection,
    Index,
    SmallInteger,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    insert,
    literal,
    select,
)

from app.models import queries
from app.models.base import OPTIONS, BigInt, beside, metadata, new_table
from app.models.compression import Compressed, compress_all
from app.models.prepared import Prepared
from app.models.spans import TurnKey
from app.models.turns import turns
from app.search.blocks import BUCKETS, TURNS

# The key is the order in which a search reads: all blocks of a bucket, the newest first.
search_words = Table(
    "search_words",
    metadata,
    Column("project_id", BigInt, primary_key=True, autoincrement=False),
    Column("bucket", SmallInteger, primary_key=True, autoincrement=False),
    Column("block", BigInt, primary_key=True, autoincrement=False),
    Column("words", Compressed, nullable=False),
    sqlite_with_rowid=False,
    **OPTIONS,
)

# A row for each time that turns of a block were changed. Rows are only added, so that batches do not wait for each
# other, as they would for one row of a block.
search_waiting = new_table(
    "search_waiting",
    Column("project_id", BigInt, nullable=False),
    Column("block", BigInt, nullable=False),
    Index("ix_search_waiting_project_id_block", "project_id", "block"),
)

EVERYTHING = (0, 0)
"""The project and block of the row that stands for all turns that are stored."""

_T, _W, _Q = turns.c, search_words.c, search_waiting.c
_BLOCK = _T.id // TURNS
Block = tuple[int, int]
"""A project and a block of its turns."""


@dataclass(frozen=True, slots=True)
class IndexedTurn:
    """A turn with its place in the index."""

    id: int
    prompt_id: int
    trace_id: bytes
    session_key: bytes

    @property
    def key(self) -> TurnKey:
        return (self.prompt_id, self.trace_id)

    @property
    def place(self) -> tuple[int, int]:
        """The block, and the index of the turn in it."""
        return divmod(self.id, TURNS)


_TURN = select(*queries.columns_of(IndexedTurn, turns))


_OF_BATCH = (_T.project_id == bindparam("project_id"), _T.batch_id == bindparam("batch_id"))
_NOTE_BATCH = Prepared(
    insert(search_waiting).from_select(
        ["project_id", "block"], select(_T.project_id, _BLOCK).where(*_OF_BATCH).distinct()
    )
)


def note_batch(connection: Connection, *, project_id: int, batch_id: int) -> None:
    """Note the blocks of the turns that a batch has written."""
    _NOTE_BATCH.execute(connection, {"project_id": project_id, "batch_id": batch_id})


def note_turns(connection: Connection, *, project_id: int, turn_ids: Iterable[int]) -> None:
    """Note the blocks of turns that change or go."""
    blocks = sorted({id_ // TURNS for id_ in turn_ids})
    if blocks:
        connection.execute(insert(search_waiting), [{"project_id": project_id, "block": one} for one in blocks])


def note_traces(connection: Connection, *, project_id: int, keys: Sequence[TurnKey]) -> None:
    """Note the blocks of these turns, those that are stored."""
    found: list[int] = []
    for prompt_id in sorted({prompt_id for prompt_id, _ in keys}):
        for some in queries.pieces([trace_id for named, trace_id in keys if named == prompt_id]):
            of_prompt = (beside(_T.project_id) == project_id, _T.prompt_id == prompt_id, _T.trace_id.in_(some))
            found += connection.scalars(select(_T.id).where(*of_prompt))
    note_turns(connection, project_id=project_id, turn_ids=found)


def newest_waiting(connection: Connection) -> tuple[Block, list[int]] | None:
    """Return the block that changed last, with the ids of its rows; None if none waits."""
    newest = connection.execute(select(_Q.project_id, _Q.block).order_by(_Q.id.desc()).limit(1)).one_or_none()
    if newest is None:
        return None
    of_block = select(_Q.id).where(_Q.project_id == newest.project_id, _Q.block == newest.block)
    return (newest.project_id, newest.block), sorted(connection.scalars(of_block))


def _take(connection: Connection, project_id: int, ids: Sequence[int]) -> bool:
    """Remove these rows of waiting blocks; returns False, and removes none, if another process has removed one."""
    rows = and_(beside(_Q.project_id) == project_id, _Q.id.in_(ids))
    locked = select(_Q.id).where(rows).order_by(_Q.id).with_for_update()
    if len(connection.scalars(locked).all()) < len(ids):
        return False
    connection.execute(delete(search_waiting).where(rows))
    return True


def note_everything(connection: Connection, *, ids: Sequence[int]) -> None:
    """Replace the rows `ids` of EVERYTHING by a row for each block, of which the newest is read first."""
    if _take(connection, EVERYTHING[0], ids):
        stored = select(_T.project_id, _BLOCK.label("block")).distinct().order_by("block")
        connection.execute(insert(search_waiting).from_select(["project_id", "block"], stored))


def turns_of_block(connection: Connection, block: Block) -> list[IndexedTurn]:
    project_id, number = block
    of_block = _T.id.between(number * TURNS, number * TURNS + TURNS - 1)
    return queries.list_rows(connection, IndexedTurn, _TURN.where(of_block, _T.project_id == project_id))


def put(connection: Connection, block: Block, buckets: Mapping[int, bytes], *, waiting_ids: Sequence[int]) -> bool:
    """Replace what is stored of a block, unless another process has done so since its `waiting_ids` were read."""
    project_id, number = block
    if not waiting_ids or not _take(connection, project_id, waiting_ids):
        return False
    of_block = (_W.project_id == project_id, _W.bucket.in_(range(BUCKETS)), _W.block == number)
    connection.execute(delete(search_words).where(*of_block))
    stored = compress_all(list(buckets.values()))
    rows = [(project_id, bucket, number, words) for bucket, words in zip(buckets, stored, strict=True)]
    queries.insert_new(connection, "search_words", ("project_id", "bucket", "block", "words"), rows)
    return True


def clear(connection: Connection, *, limit: int) -> int:
    """Remove rows of the index; returns their number, 0 once only EVERYTHING waits."""
    key = select(_W.project_id, _W.bucket, _W.block).order_by(_W.project_id, _W.bucket, _W.block)
    first = connection.execute(key.limit(1)).one_or_none()
    if first is not None:
        of_bucket = (_W.project_id == first.project_id, _W.bucket == first.bucket)
        blocks = list(connection.scalars(select(_W.block).where(*of_bucket).order_by(_W.block).limit(limit)))
        return connection.execute(delete(search_words).where(*of_bucket, _W.block.in_(blocks))).rowcount
    ids = list(connection.scalars(select(_Q.id).where(_Q.project_id != EVERYTHING[0]).limit(limit)))
    removed = connection.execute(delete(search_waiting).where(_Q.id.in_(ids))).rowcount
    if not removed:
        project_id, block = EVERYTHING
        missing = select(literal(project_id), literal(block)).where(~exists().where(_Q.project_id == project_id))
        connection.execute(insert(search_waiting).from_select(["project_id", "block"], missing))
    return removed


def buckets_in(
    connection: Connection,
    *,
    project_id: int,
    bucket: int,
    below: int | None = None,
    limit: int | None = None,
    blocks: Sequence[int] | None = None,
) -> list[tuple[int, bytes]]:
    """List blocks with their words of a bucket, the newest first: those of `blocks`, or at most `limit` under `below`.

    `blocks` are as many as one statement takes.
    """
    found = select(_W.block, _W.words).where(_W.project_id == project_id, _W.bucket == bucket)
    if blocks is not None:
        found = found.where(_W.block.in_(blocks))
    if below is not None:
        found = found.where(_W.block < below)
    return [(block, words) for block, words in connection.execute(found.order_by(_W.block.desc()).limit(limit))]


def turns_by_id(connection: Connection, *, project_id: int, ids: Sequence[int]) -> list[IndexedTurn]:
    found: list[IndexedTurn] = []
    of_project = _TURN.where(beside(_T.project_id) == project_id)
    for some in queries.pieces(ids):
        found += queries.list_rows(connection, IndexedTurn, of_project.where(_T.id.in_(some)))
    return found


def turns_of_sessions(connection: Connection, *, project_id: int, session_keys: Sequence[bytes]) -> list[IndexedTurn]:
    """List the turns of sessions, those of each in their order."""
    found = _TURN.where(beside(_T.project_id) == project_id, _T.session_key.in_(session_keys))
    return queries.list_rows(connection, IndexedTurn, found.order_by(_T.session_key, _T.start_ns, _T.trace_id))
