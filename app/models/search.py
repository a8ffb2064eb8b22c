"""The index of the text search: the words of turns, block by block, and the turns that wait to be indexed.

A block is the turns of a project with neighbouring ids: see app/search/blocks.py. The whole index is made from the
stored spans, and no row is needed longer than its spans.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import itemgetter, or_
from typing import Any, NamedTuple

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
    func,
    insert,
    literal,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app.models import bulk, queries
from app.models.base import OPTIONS, BigInt, metadata, new_table, no_index
from app.models.compression import Compressed, compress_all, decompress, raw_of
from app.models.spans import TurnKey
from app.models.turns import turns
from app.search.blocks import ALL_TURNS, BUCKETS_PER_BLOCK, TURNS_PER_BLOCK, TurnSet

# The key is the order in which a search reads: all blocks of a bucket, newest first.
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

# A row for each time that turns of a block were changed. Rows are only added: with one row for each block, batches
# would wait for each other.
search_waiting = new_table(
    "search_waiting",
    Column("project_id", BigInt, nullable=False),
    Column("block", BigInt, nullable=False),
    # The set of the block's turns that changed, as in app/search/blocks.py, but as a signed number; NULL means all
    # turns.
    Column("turns", BigInt, nullable=True),
    Index("ix_search_waiting_project_id_block", "project_id", "block"),
)

_T, _W, _Q = turns.c, search_words.c, search_waiting.c
_BLOCK = _T.id // TURNS_PER_BLOCK
_RAW = raw_of(_W.words)
_SIZES = select(_W.block, func.length(_RAW))
STORED_AT_ONCE = 1024 * 1024
"""Stored bytes of buckets that a search has in memory at once. A larger bucket is read by itself."""


class BlockKey(NamedTuple):
    """A project and the number of a block of its turns; see `EVERYTHING`."""

    project_id: int
    number: int


@dataclass(frozen=True, slots=True)
class IndexedTurn:
    """A turn that the index has, or will have."""

    id: int
    prompt_id: int
    trace_id: bytes
    session_key: bytes

    @property
    def key(self) -> TurnKey:
        return (self.prompt_id, self.trace_id)

    @property
    def block(self) -> int:
        """The number of the turn's block in its project."""
        return self.id // TURNS_PER_BLOCK

    @property
    def index(self) -> int:
        """The index of the turn in its block, which is its bit in a `TurnSet`."""
        return self.id % TURNS_PER_BLOCK


EVERYTHING = BlockKey(0, 0)
"""The key of a waiting row that means all blocks of all projects."""
_TURN = select(*queries.columns_of(IndexedTurn, turns))


class _TurnSetOf(FunctionElement[int]):
    """In SQL: the `TurnSet` of the ids of a group, which are of one block, as a signed number."""

    type = BigInt
    inherit_cache = True


@compiles(_TurnSetOf)
def _bit_or(element: _TurnSetOf, compiler: SQLCompiler, **options: Any) -> str:
    return f"CAST(BIT_OR(1 << ({compiler.process(element.clauses, **options)} & {TURNS_PER_BLOCK - 1})) AS SIGNED)"


@compiles(_TurnSetOf, "sqlite")
def _sum(element: _TurnSetOf, compiler: SQLCompiler, **options: Any) -> str:
    # SQLite has no BIT_OR. The sum is the same, because the turns of a group differ.
    return f"SUM(1 << ({compiler.process(element.clauses, **options)} % {TURNS_PER_BLOCK}))"


_OF_BATCH = (_T.project_id == bindparam("project_id"), _T.batch_id == bindparam("batch_id"))
_NOTE_BATCH = insert(search_waiting).from_select(
    ["project_id", "block", "turns"],
    select(_T.project_id, _BLOCK, _TurnSetOf(_T.id)).where(*_OF_BATCH).group_by(_T.project_id, _BLOCK),
)


def note_batch(connection: Connection, *, project_id: int, batch_id: int) -> None:
    """Note that the index must read the turns that a batch has written."""
    connection.execute(_NOTE_BATCH, {"project_id": project_id, "batch_id": batch_id})


def note_turns(connection: Connection, *, project_id: int, turn_ids: Iterable[int]) -> None:
    """Note that the index must read turns again, because they change or are removed."""
    blocks: dict[int, TurnSet] = defaultdict(int)
    for id_ in turn_ids:
        blocks[id_ // TURNS_PER_BLOCK] |= 1 << id_ % TURNS_PER_BLOCK
    rows = [{"project_id": project_id, "block": block, "turns": _signed(blocks[block])} for block in sorted(blocks)]
    if rows:
        connection.execute(insert(search_waiting), rows)


def note_block(connection: Connection, block: BlockKey) -> None:
    """Note all turns of a block, unless they are noted already."""
    of_block = select(literal(1)).where(_Q.project_id == block.project_id, _Q.block == block.number, _Q.turns.is_(None))
    if connection.scalar(of_block.limit(1)) is None:
        connection.execute(insert(search_waiting), {"project_id": block.project_id, "block": block.number})


def _signed(turns: TurnSet) -> int:
    return turns - (1 << TURNS_PER_BLOCK) if turns >> (TURNS_PER_BLOCK - 1) else turns


def note_traces(connection: Connection, *, project_id: int, keys: Sequence[TurnKey]) -> None:
    """Note that the index must read these turns again, if they are stored."""
    turn_ids: list[int] = []
    for prompt_id, of_prompt_keys in groupby(sorted(keys), key=itemgetter(0)):
        for piece in queries.pieces([trace_id for _, trace_id in of_prompt_keys]):
            of_prompt = (no_index(_T.project_id) == project_id, _T.prompt_id == prompt_id, _T.trace_id.in_(piece))
            turn_ids += connection.scalars(select(_T.id).where(*of_prompt))
    note_turns(connection, project_id=project_id, turn_ids=turn_ids)


def waiting_projects(connection: Connection) -> list[int]:
    """List the projects with waiting turns, including the project number of EVERYTHING."""
    return sorted(connection.scalars(select(_Q.project_id).distinct()))


def next_waiting(connection: Connection, project_id: int, *, after: int) -> int | None:
    """Return a project's first block with waiting turns after a block, or its very first such block."""
    first = select(func.min(_Q.block)).where(_Q.project_id == project_id)
    block: int | None = connection.scalar(first.where(_Q.block > after))
    return connection.scalar(first) if block is None else block


def waiting_of(connection: Connection, block: BlockKey) -> tuple[list[int], TurnSet]:
    """Return the ids of the waiting rows of a block, and the set of its waiting turns."""
    of_block = select(_Q.id, _Q.turns).where(_Q.project_id == block.project_id, _Q.block == block.number)
    rows = connection.execute(of_block).all()
    turns = reduce(or_, (ALL_TURNS if row.turns is None else row.turns & ALL_TURNS for row in rows), 0)
    return sorted(row.id for row in rows), turns


def _take(connection: Connection, project_id: int, ids: Sequence[int]) -> bool:
    """Remove these rows of waiting blocks; returns False, and removes none, if another process has removed one."""
    rows = and_(no_index(_Q.project_id) == project_id, _Q.id.in_(ids))
    locked = select(_Q.id).where(rows).order_by(_Q.id).with_for_update()
    if len(connection.scalars(locked).all()) < len(ids):
        return False
    connection.execute(delete(search_waiting).where(rows))
    return True


def note_everything(connection: Connection, *, ids: Sequence[int]) -> None:
    """Replace the rows `ids` of EVERYTHING by a row for each block."""
    if _take(connection, EVERYTHING.project_id, ids):
        stored = select(_T.project_id, _BLOCK.label("block")).distinct().order_by("block")
        connection.execute(insert(search_waiting).from_select(["project_id", "block"], stored))


def turns_of_block(connection: Connection, block: BlockKey) -> list[IndexedTurn]:
    """List the turns of a block."""
    project_id, number = block
    of_block = _T.id.between(number * TURNS_PER_BLOCK, number * TURNS_PER_BLOCK + TURNS_PER_BLOCK - 1)
    return queries.list_rows(connection, IndexedTurn, _TURN.where(of_block, _T.project_id == project_id))


def put(
    connection: Connection,
    block: BlockKey,
    buckets: Mapping[int, bytes],
    *,
    waiting_ids: Sequence[int],
    left: TurnSet = 0,
) -> bool:
    """Replace buckets of a block, unless another process has done so since its `waiting_ids` were read.

    The turns in the set `left` go on waiting.
    """
    project_id, number = block
    if not waiting_ids or not _take(connection, project_id, waiting_ids):
        return False
    of_block = (_W.project_id == project_id, _W.bucket.in_(sorted(buckets)), _W.block == number)
    connection.execute(delete(search_words).where(*of_block))
    filled = {bucket: lines for bucket, lines in buckets.items() if lines}
    stored = compress_all(list(filled.values()))
    rows = [(project_id, bucket, number, words) for bucket, words in zip(filled, stored, strict=True)]
    bulk.insert_all(connection, "search_words", ("project_id", "bucket", "block", "words"), rows)
    if left:
        connection.execute(insert(search_waiting), {"project_id": project_id, "block": number, "turns": _signed(left)})
    return True


def stored_buckets(connection: Connection, block: BlockKey) -> dict[int, bytes | None]:
    """Return the buckets of a block, None for one that is damaged."""
    of_block = (_W.project_id == block.project_id, _W.bucket.in_(range(BUCKETS_PER_BLOCK)), _W.block == block.number)
    return {bucket: _readable(words) for bucket, words in connection.execute(select(_W.bucket, _RAW).where(*of_block))}


def _readable(stored: bytes) -> bytes | None:
    """Return the lines of a bucket; None if it is damaged: release 0.1.0 let MySQL cut the longest ones."""
    try:
        return decompress(stored)
    except ValueError:
        return None


def clear(connection: Connection, *, limit: int) -> int:
    """Remove rows of the index; returns their number, 0 once only the row EVERYTHING waits."""
    key = select(_W.project_id, _W.bucket, _W.block).order_by(_W.project_id, _W.bucket, _W.block)
    first = connection.execute(key.limit(1)).one_or_none()
    if first is not None:
        of_bucket = (_W.project_id == first.project_id, _W.bucket == first.bucket)
        blocks = list(connection.scalars(select(_W.block).where(*of_bucket).order_by(_W.block).limit(limit)))
        return connection.execute(delete(search_words).where(*of_bucket, _W.block.in_(blocks))).rowcount
    ids = list(connection.scalars(select(_Q.id).where(_Q.project_id != EVERYTHING.project_id).limit(limit)))
    removed = connection.execute(delete(search_waiting).where(_Q.id.in_(ids))).rowcount
    if not removed:
        project_id, number = EVERYTHING
        missing = select(literal(project_id), literal(number)).where(~exists().where(_Q.project_id == project_id))
        connection.execute(insert(search_waiting).from_select(["project_id", "block"], missing))
    return removed


def blocks_of(connection: Connection, *, project_id: int, bucket: int, below: int | None, limit: int) -> dict[int, int]:
    """Return at most `limit` blocks under `below` with the stored bytes of a bucket, newest first."""
    statement = _SIZES.where(_W.project_id == project_id, _W.bucket == bucket)
    if below is not None:
        statement = statement.where(_W.block < below)
    return queries.id_pairs(connection, statement.order_by(_W.block.desc()).limit(limit))


def sizes_in(connection: Connection, *, project_id: int, bucket: int, blocks: Sequence[int]) -> dict[int, int]:
    """Return those of the blocks that have words of a bucket, with their stored bytes."""
    of_bucket, sizes = _SIZES.where(_W.project_id == project_id, _W.bucket == bucket), dict[int, int]()
    for piece in queries.pieces(blocks):
        sizes |= queries.id_pairs(connection, of_bucket.where(_W.block.in_(piece)))
    return sizes


def words_in(
    connection: Connection, *, project_id: int, bucket: int, sizes: Mapping[int, int]
) -> Iterator[tuple[int, bytes | None]]:
    """Yield blocks with their words of a bucket, None for words that are damaged.

    `sizes` are the stored bytes of the blocks. At most `STORED_AT_ONCE` of these and the words of one block are in
    memory at once.
    """
    of_bucket = select(_W.block, _RAW).where(_W.project_id == project_id, _W.bucket == bucket)
    for small in bulk.by_size(list(sizes), sizes.__getitem__, STORED_AT_ONCE):
        for piece in queries.pieces(small):
            for block, words in connection.execute(of_bucket.where(_W.block.in_(piece))).all():
                yield block, _readable(words)


def turns_by_id(connection: Connection, *, project_id: int, ids: Sequence[int]) -> list[IndexedTurn]:
    """List those of the project's turns, in no order."""
    turns: list[IndexedTurn] = []
    of_project = _TURN.where(no_index(_T.project_id) == project_id)
    for piece in queries.pieces(ids):
        turns += queries.list_rows(connection, IndexedTurn, of_project.where(_T.id.in_(piece)))
    return turns


def turns_of_sessions(
    connection: Connection, *, project_id: int, session_keys: Sequence[bytes], limit: int
) -> list[IndexedTurn]:
    """List the turns of sessions, in order within each session, at most `limit`."""
    of_sessions = _TURN.where(no_index(_T.project_id) == project_id, _T.session_key.in_(session_keys))
    in_order = of_sessions.order_by(_T.session_key, _T.start_ns, _T.trace_id)
    return queries.list_rows(connection, IndexedTurn, in_order.limit(limit))
