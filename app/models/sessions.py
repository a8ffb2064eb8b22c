"""Sessions: conversations of a prompt. A session is the turns with the same session key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Annotated, Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    DefaultClause,
    Index,
    Integer,
    UniqueConstraint,
    and_,
    case,
    delete,
    func,
    select,
)

from app.models import bulk, insight, queries, session_fingerprints
from app.models.base import BigInt, ExactText, MediumBlob, binary, exact, new_table, no_index
from app.models.compression import OF_FACTS, CompressedFacts, compress_all, stored_bodies
from app.models.insight import InsightKey
from app.models.scores import remove_of_sessions
from app.models.turns import BY_SESSION, turns, turns_in_pieces
from app.sessions.facts import load
from app.sessions.figures import Counted, Figures, dump, load_counted, total
from app.sessions.model_calls import calls_in
from app.sessions.sums import SessionSums, SessionTotals, with_names

LATER_MAX = 200
"""How many of the sessions after another one `list_without_conversation_after` looks at."""
CALLS_LENGTH_MAX = 8 * 1024
"""Bytes of a session's `calls`. A batch that appends to longer ones also sums them up, which makes them short."""
COUNTED_LENGTH_MAX = 1024
"""Bytes of the figures of a session. Longer ones are not compressed: readers limit memory by the stored sizes."""
TURNS_PER_QUERY = 200
"""Turns of sessions that are added up in the transaction that removes some of them."""
# Default values for rows that an earlier release stores while it still runs.
_ZERO, _UNCOUNTED, _ACTIVE = DefaultClause("0"), DefaultClause("1"), DefaultClause("1")


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session. `conversation_id` is None for a turn without a conversation.

    The fields from `turns` on are the sums of its turns: see app/sessions/sums.py. `errors` is None until all turns
    were added; `names` are written by `with_names`. `uncounted` is a new number with each change of the row until the
    session's figures are counted; then it is None. `active` is 1 if a turn has a model call, a tool call, an agent or
    words. `calls` are lines of `CallSums`; None if they are not known, as of sessions of earlier releases. The
    lowest `uncounted` are counted first: of changes that no batch made, then of batches in their order.
    """

    session_key: Annotated[bytes, binary(16)]
    project_id: Annotated[int, BigInt]
    prompt_id: Annotated[int, BigInt]
    conversation_id: Annotated[str | None, exact(512)]
    start_ns: Annotated[int, BigInt]
    last_ns: Annotated[int, BigInt]
    turns: Annotated[int, Integer, _ZERO] = 0
    errors: Annotated[int | None, Integer] = None
    tool_calls: Annotated[int, Integer, _ZERO] = 0
    tool_errors: Annotated[int, Integer, _ZERO] = 0
    input_tokens: Annotated[int, BigInt, _ZERO] = 0
    output_tokens: Annotated[int, BigInt, _ZERO] = 0
    duration_ns: Annotated[int, BigInt, _ZERO] = 0
    user_id: Annotated[str | None, exact(255)] = None
    names: Annotated[str | None, ExactText] = None
    uncounted: Annotated[int | None, BigInt, _UNCOUNTED] = field(default=None, compare=False)
    active: Annotated[int, Integer, _ACTIVE] = 1
    calls: Annotated[bytes | None, MediumBlob] = None
    id: int = 0

    @property
    def sums(self) -> SessionSums:
        return SessionSums(
            self.turns, self.errors, self.tool_calls, self.tool_errors, self.input_tokens, self.output_tokens
        )


sessions = new_table(
    "sessions",
    SessionRow,
    # The figures that the session was counted with: see `Counted`.
    Column("counted", CompressedFacts, nullable=True),
    UniqueConstraint("session_key"),
    # The orders of lists. `active` is last, so that the index also serves the lists of all sessions.
    Index("ix_sessions_prompt_id_start_ns_id_active", "prompt_id", "start_ns", "id", "active"),
    Index("ix_sessions_project_id_start_ns_id_active", "project_id", "start_ns", "id", "active"),
    Index("ix_sessions_project_id_duration_ns_id_active", "project_id", "duration_ns", "id", "active"),
    Index("ix_sessions_project_id_errors_id_active", "project_id", "errors", "id", "active"),
    Index("ix_sessions_project_id_user_id_start_ns", "project_id", "user_id", "start_ns"),
    Index("ix_sessions_project_id_uncounted", "project_id", "uncounted"),
)


_C = sessions.c
SESSION_COLUMNS = tuple(name for name in SessionRow.__dataclass_fields__ if name != "id")
_SELECT = select(*queries.columns_of(SessionRow, sessions))
_values = attrgetter(*SESSION_COLUMNS)
_SUMS = ("turns", "errors", "tool_calls", "tool_errors", "input_tokens", "output_tokens")
# What a statement does with a stored value: see `bulk.Rule`.
_ADD: dict[str, bulk.Rule] = {
    "duration_ns": "extent",
    "start_ns": "least",
    "last_ns": "greatest",
    **dict.fromkeys(_SUMS, "plus"),
    "user_id": "first",
    "uncounted": "new",
    "active": "greatest",
    "calls": "append",
}
_PUT: dict[str, bulk.Rule] = dict.fromkeys(
    ("duration_ns", "start_ns", "last_ns", *_SUMS, "user_id", "names", "uncounted", "active", "calls"), "new"
)


def put(connection: Connection, rows: Sequence[SessionRow], *, project_id: int) -> None:
    """Insert sessions of a project (in key order), or add them to stored ones.

    A statement can't join `names`, nor sum up `calls` that have become long, so stored rows are changed once more.
    """
    if _upsert(connection, rows, _ADD):
        return
    fresh = {row.session_key: row.names for row in rows if row.names or row.calls}
    is_long = func.length(_C.calls) > CALLS_LENGTH_MAX
    for keys in queries.pieces(list(fresh)):
        # These rows are locked already.
        stored = select(_C.session_key, _C.names, case((is_long, _C.calls))).where(
            no_index(_C.project_id) == project_id, _C.session_key.in_(keys)
        )
        for key, names, calls in connection.execute(stored).all():
            changes: dict[str, Any] = {}
            new = fresh[key]
            if new and names != new and (both := with_names(names or "", new)) != names:
                changes["names"] = both
            if calls is not None:
                changes["calls"] = calls_in(calls).lines
            if changes:
                queries.update_rows(connection, sessions, {"project_id": project_id, "session_key": key}, **changes)


def _upsert(connection: Connection, rows: Sequence[SessionRow], update: Mapping[str, bulk.Rule]) -> bool:
    """Return whether all rows are known to be new: stored rows have changed, at least their `uncounted`."""
    values = [_values(row) for row in rows]
    return bulk.upsert(connection, "sessions", SESSION_COLUMNS, values, key=("session_key",), update=update)


def settle(
    connection: Connection, *, project_id: int, session_keys: Collection[bytes], loses_all: bool = False
) -> None:
    """Write the sums of the remaining turns to sessions that lost turns; remove sessions without turns.

    The rows are locked before their turns are read: a transaction that adds a turn writes the row after that. The clock
    adds up sessions with too many turns to read here. With `loses_all` it adds up all that remain: a session that is
    removed loses a hundred turns at a time, and the others would be read each time.
    """
    for keys in queries.pieces(sorted(session_keys)):
        of_project = _SELECT.where(no_index(_C.project_id) == project_id, _C.session_key.in_(keys))
        rows = queries.list_rows(connection, SessionRow, of_project.order_by(_C.session_key).with_for_update())
        starts = _first_starts(connection, project_id, [row.session_key for row in rows])
        # The words of the turns that are gone are in them. The clock makes new ones of the sessions that remain.
        session_fingerprints.remove_of_sessions(
            connection, project_id=project_id, session_keys=[row.session_key for row in rows]
        )
        if empty := [row.session_key for row in rows if row.session_key not in starts]:
            _remove(connection, project_id, empty)
        kept = [row for row in rows if row.session_key in starts]
        totals = {} if loses_all else _totals_of(connection, project_id, kept)
        settled = [
            _added_up(row, totals[row.session_key])
            if row.session_key in totals
            else _left_to_the_clock(row, starts[row.session_key])
            for row in kept
        ]
        _upsert(connection, settled, _PUT)


def _first_starts(connection: Connection, project_id: int, session_keys: Sequence[bytes]) -> dict[bytes, int]:
    """Return the start of the first turn of each session that has turns."""
    return dict(_of_first_turns(connection, project_id, session_keys, turns.c.start_ns))


def first_traces(
    connection: Connection, *, project_id: int, session_keys: Collection[bytes]
) -> Iterator[tuple[bytes, bytes]]:
    """Yield (session key, trace id) of the first turn of each session that has one."""
    for piece in queries.pieces(sorted(session_keys)):
        yield from _of_first_turns(connection, project_id, piece, turns.c.trace_id)


def _of_first_turns(
    connection: Connection, project_id: int, session_keys: Sequence[bytes], column: ColumnElement[Any]
) -> Iterator[tuple[bytes, Any]]:
    """Yield the keys of sessions that have turns, each with a column of the first turn. No other turn is read."""
    of_session = select(column).where(no_index(turns.c.project_id) == project_id, turns.c.session_key == _C.session_key)
    # The order by the key, too, keeps MariaDB from reading the index from its beginning.
    in_order = of_session.order_by(turns.c.session_key, turns.c.start_ns)
    first = in_order.with_hint(turns, BY_SESSION, dialect_name="mysql").limit(1).scalar_subquery()
    of_project = select(_C.session_key, first).where(
        no_index(_C.project_id) == project_id, _C.session_key.in_(session_keys)
    )
    yield from ((key, value) for key, value in connection.execute(of_project) if value is not None)


def _remove(connection: Connection, project_id: int, session_keys: Sequence[bytes]) -> None:
    """Delete locked sessions with their scores, and subtract the figures that they were counted with."""
    remove_of_sessions(connection, project_id=project_id, session_keys=session_keys)
    gone = and_(no_index(_C.project_id) == project_id, _C.session_key.in_(session_keys))
    kept = select(_C.prompt_id, _C.counted).where(gone, _C.counted.is_not(None))
    changes: dict[InsightKey, list[Figures]] = defaultdict(list)
    for prompt_id, text in connection.execute(kept):
        counted = load_counted(text)
        changes[InsightKey.of(project_id, prompt_id, counted)].append(counted.figures.negative)
    connection.execute(delete(sessions).where(gone))
    insight.add(connection, {key: total(figures) for key, figures in changes.items()})


def _totals_of(connection: Connection, project_id: int, rows: Sequence[SessionRow]) -> dict[bytes, SessionTotals]:
    """Return, by session key, the totals of the sessions with the fewest turns, up to `TURNS_PER_QUERY` turns.

    The rows count the turns that were there before, so that no session of many turns is counted again and again.
    """
    keys, left = [], TURNS_PER_QUERY
    for row in sorted((row for row in rows if row.errors is not None), key=attrgetter("turns")):
        left -= row.turns
        if left >= 0:
            keys.append(row.session_key)
    totals: dict[bytes, SessionTotals] = defaultdict(SessionTotals)
    for piece in turns_in_pieces(connection, project_id=project_id, session_keys=keys):
        for turn in piece:
            totals[turn.session_key].add(load(turn.facts))
    return totals


def _added_up(row: SessionRow, totals: SessionTotals) -> SessionRow:
    """Return the session with the sums of all of its turns."""
    return SessionRow(
        row.session_key,
        row.project_id,
        row.prompt_id,
        row.conversation_id,
        totals.start_ns,
        totals.last_ns,
        *totals.sums,
        duration_ns=totals.last_ns - totals.start_ns,
        user_id=totals.user_id,
        names=totals.names,
        uncounted=queries.new_early_id(),
        active=totals.active,
        calls=totals.calls.lines,
    )


def _left_to_the_clock(row: SessionRow, start_ns: int) -> SessionRow:
    """Return the session marked as not added up. It keeps its end and its names until it is."""
    return replace(
        row,
        start_ns=start_ns,
        duration_ns=row.last_ns - start_ns,
        **SessionSums(errors=None)._asdict(),
        uncounted=queries.new_early_id(),
        active=1,
        calls=None,
    )


def lock_session(connection: Connection, *, project_id: int, session_key: bytes) -> SessionRow | None:
    """Lock a session until the commit."""
    of_project = _SELECT.where(no_index(_C.project_id) == project_id, _C.session_key == session_key)
    return queries.find_row(connection, SessionRow, of_project.with_for_update())


def put_totals(connection: Connection, row: SessionRow, totals: SessionTotals) -> None:
    """Write the sums of all turns to a locked session."""
    _upsert(connection, [_added_up(row, totals)], _PUT)


def not_added_up(connection: Connection, *, project_id: int, after_id: int, limit: int) -> list[SessionRow]:
    """List a project's sessions that are to be added up and have ids above `after_id`, in the order of ids."""
    statement = _SELECT.where(_C.project_id == project_id, _C.errors.is_(None), _C.id > after_id)
    return queries.list_rows(connection, SessionRow, statement.order_by(_C.id).limit(limit))


def find_session(connection: Connection, *, project_id: int, session_key: bytes) -> SessionRow | None:
    statement = _SELECT.where(_C.session_key == session_key, _C.project_id == project_id)
    return queries.find_row(connection, SessionRow, statement)


def list_without_conversation_after(connection: Connection, row: SessionRow, *, limit: int) -> list[SessionRow]:
    """List the sessions without a conversation among the next `LATER_MAX` that began after one of the same prompt."""
    later = select(_C.id).where(
        no_index(_C.project_id) == row.project_id, _C.prompt_id == row.prompt_id, _C.start_ns >= row.start_ns
    )
    next_ones = connection.scalars(later.order_by(_C.start_ns, _C.id).limit(LATER_MAX)).all()
    without_conversation = _SELECT.where(
        no_index(_C.project_id) == row.project_id,
        _C.id.in_(next_ones),
        _C.conversation_id.is_(None),
        _C.session_key != row.session_key,
    )
    return queries.list_rows(connection, SessionRow, without_conversation.order_by(_C.start_ns, _C.id).limit(limit))


def find_sessions(connection: Connection, *, project_id: int, session_keys: Collection[bytes]) -> list[SessionRow]:
    """List the project's sessions among these, in no order."""
    rows: list[SessionRow] = []
    for piece in queries.pieces(sorted(session_keys)):
        statement = _SELECT.where(no_index(_C.project_id) == project_id, _C.session_key.in_(piece))
        rows += queries.list_rows(connection, SessionRow, statement)
    return rows


def uncounted(
    connection: Connection, *, project_id: int, limit: int, resting: Collection[bytes] = ()
) -> list[SessionRow]:
    """List a project's sessions that are added up and to be counted, the longest waiting first, but the `resting`."""
    statement = _SELECT.where(_C.project_id == project_id, _C.uncounted.is_not(None), _C.errors.is_not(None))
    statement = statement.where(_C.session_key.not_in(sorted(resting))) if resting else statement
    return queries.list_rows(connection, SessionRow, statement.order_by(_C.uncounted).limit(limit))


def put_counted(
    connection: Connection,
    *,
    project_id: int,
    marks: Mapping[bytes, int | None],
    counted: Mapping[bytes, Counted],
    calls: Mapping[bytes, bytes],
) -> dict[bytes, Counted | None]:
    """Store the figures and the calls of the sessions that still have the `uncounted` in `marks`.

    Returns their earlier figures.
    """
    columns = (_C.session_key, _C.project_id, _C.prompt_id, _C.start_ns, _C.last_ns, _C.calls, _C.uncounted, _C.counted)
    marked = select(*columns).where(no_index(_C.project_id) == project_id, _C.session_key.in_(sorted(marks)))
    locked = connection.execute(marked.order_by(_C.session_key).with_for_update()).all()
    same = [row for row in locked if row.uncounted is not None and row.uncounted == marks[row.session_key]]
    figures = _stored_figures(connection, [counted[row.session_key] for row in same])
    # One statement for all. The rows exist, so only their last three columns change.
    bulk.upsert(
        connection,
        "sessions",
        [column.name for column in columns],
        [(*row[:-3], calls[row.session_key], None, stored) for row, stored in zip(same, figures, strict=True)],
        key=("session_key",),
        update={"calls": "new", "uncounted": "new", "counted": "new"},
    )
    return {row.session_key: load_counted(row.counted) if row.counted else None for row in same}


def _stored_figures(connection: Connection, counted: Sequence[Counted]) -> list[bytes]:
    """Return the stored forms of figures."""
    dumped = [dump(figures) for figures in counted]
    short = [text for text in dumped if len(text) <= COUNTED_LENGTH_MAX]
    stored = dict(zip(short, stored_bodies(connection, short, partial(compress_all, dictionary=OF_FACTS)), strict=True))
    return [stored.get(text, text) for text in dumped]
