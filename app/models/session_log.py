"""The sessions of a prompt in the order of its log, where they are listed with its runs (app/models/run_log.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, and_, literal, or_, select

from app.models import queries
from app.models.base import no_index
from app.models.session_list import Conditions
from app.models.sessions import SessionRow, sessions
from app.models.turns import turns

_C = sessions.c
_SELECT = select(*queries.columns_of(SessionRow, sessions))


@dataclass(frozen=True, slots=True)
class SessionRange:
    """A prompt's sessions that started in [`from_ns`, `to_ns`).

    Lists begin after the position `after`, a (start, id), with the newest session, or `oldest_first`. `session_keys`
    limits the range to these sessions; None means all. For `only_active` see `Conditions`.
    """

    prompt_id: int
    after: tuple[int, int] | None = None
    from_ns: int | None = None
    to_ns: int | None = None
    oldest_first: bool = False
    session_keys: Sequence[bytes] | None = None
    only_active: bool = False

    def in_order(self, statement: Select[Any]) -> Select[Any]:
        """Return a statement on sessions with the conditions and the order of this range."""
        statement = statement.where(_C.prompt_id == self.prompt_id)
        if self.only_active:
            statement = statement.where(_C.active == 1)
        if self.session_keys is not None:
            statement = statement.where(_C.session_key.in_(self.session_keys))
        if self.after is not None:
            start_ns, id_ = self.after
            beyond, further = (
                (_C.start_ns > start_ns, _C.id > id_) if self.oldest_first else (_C.start_ns < start_ns, _C.id < id_)
            )
            statement = statement.where(or_(beyond, and_(_C.start_ns == start_ns, further)))
        if self.from_ns is not None:
            statement = statement.where(_C.start_ns >= self.from_ns)
        if self.to_ns is not None:
            statement = statement.where(_C.start_ns < self.to_ns)
        order = (_C.start_ns, _C.id)
        return statement.order_by(*(order if self.oldest_first else (column.desc() for column in order)))


def list_sessions(
    connection: Connection,
    within: SessionRange,
    *,
    limit: int,
    search: str | None = None,
    conditions: Conditions | None = None,
) -> list[SessionRow]:
    """List sessions in their order; `search` is a part of the conversation id or of a turn's opening, in any case.

    Of `conditions`, only those of `Conditions.of_score` and `Conditions.may_have_sums` apply; `within` has the others.
    """
    statement = within.in_order(_SELECT)
    if conditions is not None:
        statement = statement.where(*conditions.of_score(), *conditions.may_have_sums())
    if search:
        opened = turns.c.opening.icontains(search, autoescape=True)
        # The limit keeps MariaDB from reading all turns before it looks at the newest sessions.
        of_session = (no_index(turns.c.project_id) == _C.project_id, turns.c.session_key == _C.session_key)
        opening = select(literal(1)).where(*of_session, opened).limit(1).scalar_subquery()
        statement = statement.where(or_(_C.conversation_id.icontains(search, autoescape=True), opening == 1))
    return queries.list_rows(connection, SessionRow, statement.limit(limit))


def count_sessions(connection: Connection, within: SessionRange, *, most: int) -> int:
    """Count the sessions of the range, `most` of them at most."""
    return queries.count_rows(connection, within.in_order(select(_C.id)).limit(most))


def nth_start_ns(connection: Connection, within: SessionRange, *, nth: int) -> int | None:
    """Return the start of the nth session of the range, in its order; None if there are fewer."""
    start_ns: int | None = connection.scalar(within.in_order(select(_C.start_ns)).offset(nth - 1).limit(1))
    return start_ns
