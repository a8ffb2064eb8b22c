"""Turns: the traces of a prompt, with facts that ingest updates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any, NamedTuple, TypeVar

from sqlalchemy import (
    Connection,
    DefaultClause,
    Index,
    Select,
    String,
    UniqueConstraint,
    func,
    literal,
    or_,
    select,
)

from app.models import bulk, queries
from app.models.base import BigInt, binary, new_table, no_index
from app.models.compression import CompressedFacts, compress_quickly, stored_bodies
from app.models.spans import TurnKey, spans


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A trace of a prompt, which is one turn or several (see `app/sessions`); times are Unix nanoseconds.

    `session_key` is the key of the session that it belongs to. `batch_id` is the batch that last added spans to it.
    """

    project_id: Annotated[int, BigInt]
    prompt_id: Annotated[int, BigInt]
    trace_id: Annotated[bytes, binary(16)]
    session_key: Annotated[bytes, binary(16)]
    start_ns: Annotated[int, BigInt]
    end_ns: Annotated[int, BigInt]
    # The opening text of the turn, which searches read.
    opening: Annotated[str | None, String(300)]
    # The facts of app/sessions/facts.py, merged over batches.
    facts: Annotated[bytes, CompressedFacts]
    batch_id: Annotated[int, BigInt]
    # A batch's id, or 1 for rows of an earlier release, until the clock has counted the calls of all spans; then NULL.
    unsettled: Annotated[int | None, BigInt, DefaultClause("1")] = None
    # The digest of the response id of the turn's last model call: see `response_key`.
    response_key: Annotated[bytes | None, binary(16)] = None

    @property
    def key(self) -> TurnKey:
        return (self.prompt_id, self.trace_id)


turns = new_table(
    "turns",
    TurnRow,
    UniqueConstraint("prompt_id", "trace_id"),
    Index("ix_turns_session_key_start_ns", "session_key", "start_ns"),
    # For retention: the turns of a project by the time when spans were last added to them.
    Index("ix_turns_project_id_batch_id", "project_id", "batch_id"),
    Index("ix_turns_project_id_unsettled", "project_id", "unsettled"),
    Index("ix_turns_project_id_response_key", "project_id", "response_key"),
)


Response = TypeVar("Response", bound=tuple[int | None, str])
BY_SESSION = "FORCE INDEX (ix_turns_session_key_start_ns)"
"""A hint for MySQL, which may read a whole index of turns where its statistics are old."""
ANSWERED_MAX = 64
"""Turns that `first_with_responses` reads together, besides one for each response."""
TURN_COLUMNS = tuple(TurnRow.__dataclass_fields__)
_SELECT = select(*queries.columns_of(TurnRow, turns))
_KEY = ("prompt_id", "trace_id")
_before_facts = attrgetter(*TURN_COLUMNS[: TURN_COLUMNS.index("facts")])
_after_facts = attrgetter(*TURN_COLUMNS[TURN_COLUMNS.index("facts") + 1 :])


def _values(connection: Connection, rows: Sequence[TurnRow]) -> list[bulk.Values]:
    """Return the stored values of the rows in the order of COLUMNS."""
    stored = stored_bodies(connection, [row.facts for row in rows], compress_quickly)
    return [(*_before_facts(row), facts, *_after_facts(row)) for row, facts in zip(rows, stored, strict=True)]


def insert_new(connection: Connection, rows: Sequence[TurnRow]) -> int:
    """Store the new ones of `rows` (in key order); returns their number."""
    return bulk.insert_new(connection, "turns", TURN_COLUMNS, _values(connection, rows))


def replace(connection: Connection, rows: Sequence[TurnRow]) -> None:
    """Write turns that are stored and that this transaction has locked."""
    changed = [name for name in TURN_COLUMNS if name not in ("project_id", *_KEY)]
    bulk.upsert(
        connection, "turns", TURN_COLUMNS, _values(connection, rows), key=_KEY, update=dict.fromkeys(changed, "new")
    )


def lock_existing(
    connection: Connection, *, project_id: int, keys: Sequence[TurnKey], batch_id: int = 0
) -> list[TurnRow]:
    """Lock the stored turns among `keys` until the commit; returns them in key order."""
    c = turns.c
    turn_rows: list[TurnRow] = []
    for statement in _of_keys(project_id, keys):
        others = statement.where(c.batch_id != batch_id)
        turn_rows += queries.list_rows(connection, TurnRow, others.order_by(c.trace_id).with_for_update())
    return turn_rows


def list_existing(connection: Connection, *, project_id: int, keys: Sequence[TurnKey]) -> list[TurnRow]:
    """List the stored turns among `keys`, in no order."""
    turn_rows: list[TurnRow] = []
    for statement in _of_keys(project_id, keys):
        turn_rows += queries.list_rows(connection, TurnRow, statement)
    return turn_rows


def _of_keys(project_id: int, keys: Sequence[TurnKey]) -> Iterator[Select[Any]]:
    """Yield a statement for each prompt: not every server uses the index for a list of pairs."""
    c = turns.c
    by_key = _SELECT.with_hint(turns, "FORCE INDEX (uq_turns_prompt_id_trace_id)", dialect_name="mysql")
    for prompt_id, group in groupby(sorted(keys), key=lambda key: key[0]):
        for piece in queries.pieces([trace_id for _, trace_id in group]):
            yield by_key.where(no_index(c.project_id) == project_id, c.prompt_id == prompt_id, c.trace_id.in_(piece))


def response_key(response_id: str) -> bytes:
    """Return the 16-byte digest by which a response's id is found."""
    return blake2b(response_id.encode(), digest_size=16).digest()


class FirstTurn(NamedTuple):
    """Where a turn is."""

    key: TurnKey
    start_ns: int
    session_key: bytes


def first_with_responses(
    connection: Connection, *, project_id: int, responses: Collection[Response]
) -> dict[Response, FirstTurn]:
    """Return the first stored turn for each prompt, or None for any, and response id.

    Some servers give each response the same id: of many turns with the same ids only the first are read.
    """
    c = turns.c
    columns = select(c.prompt_id, c.response_key, c.id, c.trace_id, c.start_ns, c.session_key)
    # Without it MariaDB may read all turns of the project, or all in the order of their ids.
    by_response = columns.with_hint(turns, "FORCE INDEX (ix_turns_project_id_response_key)", dialect_name="mysql")
    of_project = by_response.where(c.project_id == project_id)
    named: dict[bytes, list[Response]] = defaultdict(list)
    for response in responses:
        named[response_key(response[1])].append(response)
    first_turns: dict[Response, FirstTurn] = {}
    for keys in queries.pieces(sorted(named)):
        of_keys = of_project.where(c.response_key.in_(keys))
        rows = connection.execute(of_keys.limit(ANSWERED_MAX + len(keys))).all()
        if len(rows) == ANSWERED_MAX + len(keys):
            statements = (
                _first_of(of_project, response_key(id_), prompt_id) for key in keys for prompt_id, id_ in named[key]
            )
            rows = [row for statement in statements for row in connection.execute(statement)]
        for row in sorted(rows, key=attrgetter("id")):
            first = FirstTurn((row.prompt_id, row.trace_id), row.start_ns, row.session_key)
            for response in named[row.response_key]:
                if response[0] in (row.prompt_id, None):
                    first_turns.setdefault(response, first)
    return first_turns


def _first_of(of_project: Select[Any], key: bytes, prompt_id: int | None) -> Select[Any]:
    """Return the statement for the first turn with a response key."""
    of_key = of_project.where(turns.c.response_key == key)
    of_prompt = of_key if prompt_id is None else of_key.where(no_index(turns.c.prompt_id) == prompt_id)
    return of_prompt.order_by(turns.c.id).limit(1)


class LockedTurn(NamedTuple):
    """A turn without its facts."""

    key: TurnKey
    session_key: bytes


def lock_of_sessions(
    connection: Connection, *, project_id: int, session_keys: Collection[bytes], limit: int
) -> list[LockedTurn]:
    """Lock the turns of some sessions, at most `limit`, until the commit."""
    c = turns.c
    of_sessions = (
        select(c.prompt_id, c.trace_id, c.session_key)
        .with_hint(turns, BY_SESSION, dialect_name="mysql")
        .where(no_index(c.project_id) == project_id, c.session_key.in_(session_keys))
        .order_by(c.session_key, c.trace_id)
        .limit(limit)
    )
    return [
        LockedTurn((prompt_id, trace_id), key)
        for prompt_id, trace_id, key in connection.execute(of_sessions.with_for_update())
    ]


def list_unsettled(connection: Connection, *, project_id: int, before: int, limit: int) -> list[TurnRow]:
    """List the turns of a project that are unsettled since before a batch's id, the newest first."""
    c = turns.c
    waiting = _SELECT.where(c.project_id == project_id, c.unsettled < before)
    return queries.list_rows(connection, TurnRow, waiting.order_by(c.unsettled.desc(), c.id.desc()).limit(limit))


def list_turns(connection: Connection, *, project_id: int, session_keys: Sequence[bytes]) -> list[TurnRow]:
    """List the turns of sessions in the order of their start, then of their trace ids."""
    statement = _SELECT.where(no_index(turns.c.project_id) == project_id, turns.c.session_key.in_(session_keys))
    return queries.list_rows(connection, TurnRow, statement.order_by(turns.c.start_ns, turns.c.trace_id))


def first_turns(connection: Connection, *, project_id: int, session_key: bytes, limit: int) -> list[TurnRow]:
    """List the first turns of a session in the order of `list_turns`."""
    of_session = _SELECT.where(no_index(turns.c.project_id) == project_id, turns.c.session_key == session_key)
    in_order = of_session.order_by(turns.c.start_ns, turns.c.trace_id)
    return queries.list_rows(connection, TurnRow, in_order.limit(limit))


def last_turn(connection: Connection, *, project_id: int, session_key: bytes) -> TurnRow | None:
    """Return the turn of a session that started last; None if it has no turns."""
    of_session = _SELECT.where(no_index(turns.c.project_id) == project_id, turns.c.session_key == session_key)
    return queries.find_row(connection, TurnRow, of_session.order_by(turns.c.start_ns.desc()).limit(1))


def count_turns(connection: Connection, *, project_id: int, session_key: bytes) -> int:
    c = turns.c
    of_session = no_index(c.project_id) == project_id, c.session_key == session_key
    return connection.scalar(select(func.count()).where(*of_session)) or 0


def traces_of(
    connection: Connection, *, project_id: int, session_key: bytes, offset: int = 0, limit: int | None = None
) -> list[bytes]:
    """List the traces of a session in the order of `list_turns`: at most `limit` after the first `offset`."""
    c = turns.c
    of_session = select(c.trace_id).where(no_index(c.project_id) == project_id, c.session_key == session_key)
    return list(connection.scalars(of_session.order_by(c.start_ns, c.trace_id).offset(offset).limit(limit)))


def index_of_span(connection: Connection, *, project_id: int, session_key: bytes, span_id: bytes) -> int | None:
    """Return the place in `traces_of` of the first trace that has a span with this id; None without one.

    The database looks for the span in each trace, so that no list of traces is read.
    """
    c = turns.c
    of_session = (no_index(c.project_id) == project_id, c.session_key == session_key)
    of_trace = (spans.c.project_id == project_id, spans.c.trace_id == c.trace_id, spans.c.prompt_id == c.prompt_id)
    # Its limit keeps MariaDB from reading all spans of the project first.
    span = select(literal(1)).where(*of_trace, spans.c.span_id == span_id).limit(1).scalar_subquery()
    with_span = select(c.start_ns).where(*of_session, span == 1)
    # In the order of the index, which ends with the first one. MariaDB would read all turns of the project.
    by_start = with_span.with_hint(turns, BY_SESSION, "mysql").order_by(c.start_ns).limit(1)
    start_ns = connection.scalar(by_start)
    if start_ns is None:
        return None
    trace_id = connection.scalar(with_span.with_only_columns(func.min(c.trace_id)).where(c.start_ns == start_ns))
    # The first condition is the one that the index serves: later turns are not read.
    earlier = (c.start_ns <= start_ns) & or_(c.start_ns < start_ns, c.trace_id < trace_id)
    counted = select(func.count()).select_from(turns).where(*of_session, earlier)
    return connection.scalar(counted.with_hint(turns, BY_SESSION, "mysql")) or 0


FACTS_AT_ONCE = 100
"""Turns of which the facts are in memory at once."""


def facts_of(
    connection: Connection, *, project_id: int, prompt_id: int, trace_ids: Sequence[bytes]
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the stored turns of a prompt among `trace_ids` with their facts, in no order; few are read at once."""
    c = turns.c
    of_prompt = select(c.trace_id, c.facts).where(no_index(c.project_id) == project_id, c.prompt_id == prompt_id)
    for piece in queries.pieces(trace_ids, FACTS_AT_ONCE):
        listed = connection.execute(of_prompt.where(c.trace_id.in_(piece)))
        yield from ((trace_id, facts) for trace_id, facts in listed)


def turns_in_pieces(
    connection: Connection, *, project_id: int, session_keys: Collection[bytes]
) -> Iterator[list[TurnRow]]:
    """Yield the turns of sessions in the order of `list_turns`, `FACTS_AT_ONCE` of them at a time."""
    return _in_pieces(connection, project_id, _ids_of(connection, project_id, session_keys))


def _ids_of(connection: Connection, project_id: int, session_keys: Collection[bytes]) -> list[int]:
    c = turns.c
    of_sessions = select(c.id).where(no_index(c.project_id) == project_id, c.session_key.in_(session_keys))
    return list(connection.scalars(of_sessions.order_by(c.start_ns, c.trace_id)))


def _in_pieces(connection: Connection, project_id: int, ids: Sequence[int]) -> Iterator[list[TurnRow]]:
    c = turns.c
    for piece in queries.pieces(ids, FACTS_AT_ONCE):
        statement = _SELECT.where(no_index(c.project_id) == project_id, c.id.in_(piece))
        yield queries.list_rows(connection, TurnRow, statement.order_by(c.start_ns, c.trace_id))


BLOCKS_PER_SESSION = 128
"""The turns of a session are in this many blocks: a turn's block is the remainder of its id."""
_RECENT = 2**31
"""Sums of ids of batches have their remainders: they are all different, and the sums fit into 64 bits."""


class BlockVersion(NamedTuple):
    """The number of a block's turns, and sums that change whenever a turn is added to it, removed or changed."""

    turns: int
    batches: int
    unsettled: int
    bytes: int


def block_versions(connection: Connection, *, project_id: int, session_key: bytes) -> dict[int, BlockVersion]:
    """Return the versions of the blocks of a session that have turns."""
    c = turns.c
    sums = (c.batch_id % _RECENT, func.coalesce(c.unsettled, 0) % _RECENT, func.length(c.facts))
    block = (c.id % BLOCKS_PER_SESSION).label("block")
    statement = select(block, func.count(), *map(func.sum, sums)).where(
        no_index(c.project_id) == project_id, c.session_key == session_key
    )
    rows = connection.execute(statement.group_by(block))
    return {number: BlockVersion(count, *map(int, version)) for number, count, *version in rows}


def turns_in_blocks(
    connection: Connection, *, project_id: int, session_key: bytes, blocks: Collection[int]
) -> Iterator[tuple[int, list[TurnRow]]]:
    """Yield the turns of blocks as `turns_in_pieces`, one block after the other, with the block's number."""
    ids_by_block: dict[int, list[int]] = {block: [] for block in blocks}
    for id_ in _ids_of(connection, project_id, [session_key]) if blocks else ():
        if id_ % BLOCKS_PER_SESSION in ids_by_block:
            ids_by_block[id_ % BLOCKS_PER_SESSION].append(id_)
    for block, ids in ids_by_block.items():
        yield from ((block, piece) for piece in _in_pieces(connection, project_id, ids))
