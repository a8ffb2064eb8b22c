"""The sessions of a prompt with what suites are chosen by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, and_, func, literal, or_, select
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from app.models import queries
from app.models.base import no_index
from app.models.scores import scores
from app.models.session_fingerprints import session_fingerprints
from app.models.sessions import sessions
from app.models.turns import turns

_S, _F = sessions.c, session_fingerprints.c
_WITH_FINGERPRINT = and_(_F.session_key == _S.session_key, no_index(_F.project_id) == _S.project_id)


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A session with its fingerprint, None until the clock has made it, and `counted` of app/sessions/figures.py."""

    session_key: bytes
    start_ns: int
    turns: int
    counted: bytes | None
    edition: int | None
    fingerprint: bytes | None


def list_samples(
    connection: Connection, *, project_id: int, prompt_id: int, from_ns: int, to_ns: int, limit: int
) -> list[SampleRow]:
    """List the newest sessions that began in [from, to), the newest first; sessions such as health checks are none."""
    n, joined = _newest(project_id, prompt_id, from_ns, to_ns, limit)
    return queries.list_rows(
        connection,
        SampleRow,
        joined.with_only_columns(n.session_key, n.start_ns, n.turns, n.counted, _F.edition, _F.fingerprint),
    )


def sizes_of_samples(
    connection: Connection, *, project_id: int, prompt_id: int, from_ns: int, to_ns: int, limit: int
) -> list[int]:
    """List the bytes of the fingerprint and of `counted` of what `list_samples` lists, without reading them."""
    n, joined = _newest(project_id, prompt_id, from_ns, to_ns, limit)
    lengths = (func.coalesce(func.length(column), 0) for column in (_F.fingerprint, n.counted))
    return list(connection.scalars(joined.with_only_columns(sum(lengths, literal(0)))))


def _newest(
    project_id: int, prompt_id: int, from_ns: int, to_ns: int, limit: int
) -> tuple[ReadOnlyColumnCollection[str, Any], Select[Any]]:
    """Return the columns of the newest sessions, and their join with the fingerprints, the newest first."""
    within = and_(_S.prompt_id == prompt_id, _S.start_ns >= from_ns, _S.start_ns < to_ns, _S.active == 1)
    # In a subquery, so that no server begins the join with the fingerprints.
    newest = (
        select(_S.session_key, _S.start_ns, _S.id, _S.turns, _S.counted)
        .where(within, no_index(_S.project_id) == project_id)
        .order_by(_S.start_ns.desc(), _S.id.desc())
        .limit(limit)
        .subquery("newest")
    )
    n = newest.c
    of_session = and_(_F.session_key == n.session_key, no_index(_F.project_id) == project_id)
    joined = select(n.session_key).select_from(newest.outerjoin(session_fingerprints, of_session))
    return n, joined.order_by(n.start_ns.desc(), n.id.desc())


def low_scores(
    connection: Connection, *, project_id: int, session_keys: Sequence[bytes], below: float
) -> Iterator[tuple[bytes, str, str]]:
    """Yield for each session, and for each source, the first name of the scores below a value.

    The scores of its turns and steps count, too; a session and a source may come twice.
    """
    s, t = scores.c, turns.c
    first = func.min(s.name)
    for piece in queries.pieces(session_keys):
        of_sessions = select(s.session_key, s.source, first).where(
            no_index(s.project_id) == project_id, s.value < below, s.session_key.in_(piece)
        )
        yield from map(tuple, connection.execute(of_sessions.group_by(s.session_key, s.source)))
        of_turns = and_(s.project_id == project_id, s.trace_id == t.trace_id, s.value < below)
        joined = select(t.session_key, s.source, first).join(scores, of_turns)
        mine = joined.where(no_index(t.project_id) == project_id, t.session_key.in_(piece))
        yield from map(tuple, connection.execute(mine.group_by(t.session_key, s.source)))


@dataclass(frozen=True, slots=True)
class UnmadeSession:
    """A counted session with an id above the last one that was looked at, and whether it has no present fingerprint."""

    id: int
    session_key: bytes
    prompt_id: int
    is_made: bool


def list_counted(
    connection: Connection, *, project_id: int, edition: int, after_id: int, limit: int
) -> list[UnmadeSession]:
    """List a project's counted sessions in the order of their ids."""
    made = or_(_F.edition == edition, _F.waiting.is_not(None))
    statement = (
        select(_S.id, _S.session_key, _S.prompt_id, and_(_F.session_key.is_not(None), made))
        .outerjoin(session_fingerprints, _WITH_FINGERPRINT)
        .where(_S.project_id == project_id, _S.uncounted.is_(None), _S.id > after_id)
    )
    rows = connection.execute(statement.order_by(_S.id).limit(limit))
    return [UnmadeSession(id_, key, prompt_id, bool(is_made)) for id_, key, prompt_id, is_made in rows]
