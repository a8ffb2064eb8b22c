"""The sessions of a project: conditions on them, the orders of their lists, and pages after any session."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select

from app.models import queries
from app.models.base import no_index
from app.models.prompts import labels_of, prompts
from app.models.scores import ScoreRange
from app.models.sessions import SessionRow, sessions
from app.models.turns import turns
from app.search.query import Query
from app.sessions.sums import FULL_LENGTH_MIN, Kind, part_of_names

Order = Literal["time", "duration", "errors", "oldest", "shortest", "fewestErrors"]
"""What comes first: the latest, the longest or the most errors, or the other way round."""

SHORT_TURNS_MAX = 20
"""Turns of a short session. The openings of short sessions are read together."""
_C = sessions.c
_KEYS: Mapping[Order, ColumnElement[int]] = {
    "time": _C.start_ns,
    "oldest": _C.start_ns,
    "duration": _C.duration_ns,
    "shortest": _C.duration_ns,
    "errors": _C.errors,
    "fewestErrors": _C.errors,
}
_ASCENDING: Collection[Order] = ("oldest", "shortest", "fewestErrors")
_OF_TIME: Collection[Order] = ("time", "oldest")
_TOKENS = _C.input_tokens + _C.output_tokens
_SELECT = select(*queries.columns_of(SessionRow, sessions))


class Range(NamedTuple):
    """The least and the most of a number; None means no limit."""

    least: float | None = None
    most: float | None = None

    def has(self, number: float | None) -> bool:
        """Return whether a number is within the range; None is only within a range without limits."""
        if number is None:
            return self == Range()
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)

    def of(self, column: ColumnElement[Any]) -> Iterator[ColumnElement[bool]]:
        """Yield the conditions that the column is within the range; a limited range leaves out NULL, as `has` does."""
        if self.least is not None:
            yield column >= self.least
        if self.most is not None:
            yield column <= self.most


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Conditions on a project's sessions; None means no condition.

    `only_active` leaves out sessions without a model call, a tool call, an agent or words, such as health checks.
    `session_keys` are those of a conversation, or of the results of a search. A session has a `label` if the label now
    points to the version of a turn. It has a `score` if it, or one of its turns or spans, has such a score. Times are
    Unix nanoseconds, `to_ns` is not included. The `query` of the text search and `cost`, in US dollars, are not
    translated to SQL.
    """

    project_id: int
    prompt_id: int | None = None
    session_keys: Sequence[bytes] | None = None
    user_id: str | None = None
    from_ns: int | None = None
    to_ns: int | None = None
    version: str | None = None
    label: str | None = None
    model: str | None = None
    tool: str | None = None
    failed_tool: str | None = None
    errors: bool | None = None
    score: ScoreRange | None = None
    tokens: Range = Range()
    duration_ns: Range = Range()
    turns: Range = Range()
    query: Query | None = None
    cost: Range = Range()
    only_active: bool = True

    def indexed(self, order: Order) -> Iterator[ColumnElement[bool]]:
        """Yield the conditions that the index of the order serves."""
        if self.session_keys is not None:
            yield _C.session_key.in_(self.session_keys)
        if self.only_active:
            yield _C.active == 1
        if order not in _OF_TIME:
            yield _C.project_id == self.project_id
            if _KEYS[order] is _C.errors:
                yield _C.errors.is_not(None)
            return
        if self.prompt_id is not None:
            yield _C.prompt_id == self.prompt_id
        else:
            yield _C.project_id == self.project_id
            yield from self._equal(_C.user_id, self.user_id)
        if self.from_ns is not None:
            yield _C.start_ns >= self.from_ns
        if self.to_ns is not None:
            yield _C.start_ns < self.to_ns

    def other(self, order: Order) -> list[ColumnElement[bool]]:
        """Return the conditions that have to be checked in the rows."""
        conditions = [*self._of_names(), *self._of_numbers()]
        if order not in _OF_TIME:
            conditions += self._equal(_C.prompt_id, self.prompt_id)
            conditions += Range(self.from_ns, None if self.to_ns is None else self.to_ns - 1).of(_C.start_ns)
        if order not in _OF_TIME or self.prompt_id is not None:
            conditions += self._equal(_C.user_id, self.user_id)
        return [*conditions, *self.of_score()]

    def of_score(self) -> Iterator[ColumnElement[bool]]:
        """Yield the condition that a session has the score."""
        if self.score is not None:
            yield self.score.of_session(self.project_id, _C.session_key)

    def may_have_sums(self) -> Iterator[ColumnElement[bool]]:
        """Yield conditions that every session meets if its sums may match.

        Sessions with turns that are not added up yet meet them, and so do sessions with so many names that some may be
        missing.
        """
        if asked := [*self._of_names(), *self._of_numbers()]:
            yield or_(_C.errors.is_(None), func.length(_C.names) >= FULL_LENGTH_MIN, and_(*asked))

    def looks_through(self, order: Order) -> bool:
        """Return whether some conditions have to be checked session by session."""
        return bool(self.query or self.label or self.cost != Range() or self.other(order))

    @staticmethod
    def _equal(column: ColumnElement[Any], value: object) -> Iterator[ColumnElement[bool]]:
        if value is not None:
            yield column == value

    def _of_names(self) -> Iterator[ColumnElement[bool]]:
        named: tuple[tuple[Kind, str | None], ...] = (
            ("version", self.version),
            ("model", self.model),
            ("tool", self.tool),
            ("failed_tool", self.failed_tool),
        )
        yield from (_has(kind, name) for kind, name in named if name is not None)

    def _of_numbers(self) -> Iterator[ColumnElement[bool]]:
        if self.errors is not None:
            yield _C.errors > 0 if self.errors else _C.errors == 0
        yield from self.tokens.of(_TOKENS)
        yield from self.duration_ns.of(_C.duration_ns)
        yield from self.turns.of(_C.turns)


def _has(kind: Kind, name: str) -> ColumnElement[bool]:
    return func.instr(_C.names, part_of_names(kind, name)) > 0


Position = tuple[int, int]
"""The value by which a list is ordered and the id of a session."""


def window(
    connection: Connection, conditions: Conditions, *, order: Order, after: Position | None, limit: int
) -> list[Position]:
    """List, in the order, the positions after a position of sessions that meet the indexed conditions."""
    key, ascending = _KEYS[order], order in _ASCENDING
    statement = select(key, _C.id).where(*conditions.indexed(order))
    if after is not None:
        beyond, further = (key > after[0], _C.id > after[1]) if ascending else (key < after[0], _C.id < after[1])
        statement = statement.where(or_(beyond, and_(key == after[0], further)))
    in_order = (key, _C.id) if ascending else (key.desc(), _C.id.desc())
    rows = connection.execute(statement.order_by(*in_order).limit(limit))
    return [(value, id_) for value, id_ in rows]


def count(connection: Connection, conditions: Conditions, *, most: int) -> int:
    """Count the sessions that meet the indexed conditions in the order of time, up to `most`."""
    of_project = _C.project_id == conditions.project_id
    first_rows = select(_C.id).where(of_project, *conditions.indexed("time")).limit(most).subquery()
    return connection.execute(select(func.count()).select_from(first_rows)).scalar_one()


def matching(
    connection: Connection, conditions: Conditions, *, order: Order, positions: Sequence[Position]
) -> list[SessionRow]:
    """List the sessions at these positions that meet all conditions, in their order."""
    rows: dict[int, SessionRow] = {}
    of_project = _SELECT.where(no_index(_C.project_id) == conditions.project_id, *conditions.other(order))
    for piece in queries.pieces([id_ for _, id_ in positions]):
        labelled = [] if conditions.label is None else [_of_label(connection, conditions, conditions.label, piece)]
        sessions = queries.list_rows(connection, SessionRow, of_project.where(_C.id.in_(piece), *labelled))
        rows.update((row.id, row) for row in sessions)
    return [rows[id_] for _, id_ in positions if id_ in rows]


def _of_label(connection: Connection, conditions: Conditions, label: str, ids: Sequence[int]) -> ColumnElement[bool]:
    """Return the condition that a label points to the version of a session, for the sessions with these ids.

    Only the labels of their prompts are read, and prompts of the same versions share a part of the condition: SQLite
    refuses one of 1,000 parts.
    """
    project_id = conditions.project_id
    of_sessions = select(_C.prompt_id).distinct().where(no_index(_C.project_id) == project_id, _C.id.in_(ids))
    prompt_ids = list(connection.scalars(of_sessions))
    prompts_of: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for prompt_id, labels in labels_of(connection, project_id=project_id, prompt_ids=prompt_ids):
        if label in labels:
            prompts_of[labels[label].commit_hashes].append(prompt_id)
    of_prompts = (
        and_(_C.prompt_id.in_(prompt_ids), or_(*(_has("version", commit_hash) for commit_hash in hashes)))
        for hashes, prompt_ids in prompts_of.items()
    )
    return or_(_C.id < 0, *of_prompts)


def previews(connection: Connection, rows: Sequence[SessionRow]) -> dict[bytes, str]:
    """Return the opening text of each session that has one; all sessions are of one project."""
    if not rows:
        return {}
    c = turns.c
    opened = select(c.session_key, c.opening).where(
        no_index(c.project_id) == rows[0].project_id, c.opening.is_not(None)
    )
    in_order = c.session_key, c.start_ns, c.trace_id
    short = [row.session_key for row in rows if row.errors is not None and row.turns <= SHORT_TURNS_MAX]
    openings: dict[bytes, str] = {}
    for key, opening in connection.execute(opened.where(c.session_key.in_(short)).order_by(*in_order)):
        openings.setdefault(key, opening)
    # The first turn of a long session is read by the index.
    for long in {row.session_key for row in rows}.difference(short):
        of_session = opened.where(c.session_key == long).order_by(*in_order)
        openings |= {row.session_key: row.opening for row in connection.execute(of_session.limit(1))}
    return openings


def turn_counts(
    connection: Connection, *, project_id: int, session_keys: Sequence[bytes], unknown: int
) -> dict[bytes, int]:
    """Return the number of turns of sessions; `unknown` for those with unknown sums."""
    counts: dict[bytes, int] = {}
    for piece in queries.pieces(session_keys):
        of_keys = (no_index(_C.project_id) == project_id, _C.session_key.in_(piece))
        number = case((_C.errors.is_(None), unknown), else_=_C.turns)
        counts.update((key, count) for key, count in connection.execute(select(_C.session_key, number).where(*of_keys)))
    return counts


def prompt_names(connection: Connection, *, project_id: int, prompt_ids: Sequence[int]) -> dict[int, str]:
    """Return the names of the prompts that are not erased."""
    c = prompts.c
    known = select(c.id, c.name).where(c.project_id == project_id, c.id.in_(prompt_ids), c.erased_at.is_(None))
    return {row.id: row.name for row in connection.execute(known)}


def keys_of_sessions(connection: Connection, *, project_id: int, keys: Sequence[bytes], limit: int) -> list[bytes]:
    """Return the keys among `keys` that the project's sessions have, at most `limit`, the first ones first."""
    known: list[bytes] = []
    for piece in queries.pieces(keys):
        of_project = no_index(_C.project_id) == project_id, _C.session_key.in_(piece)
        stored = set(connection.scalars(select(_C.session_key).where(*of_project)))
        known += (key for key in piece if key in stored)
        if len(known) >= limit:
            break
    return known[:limit]
