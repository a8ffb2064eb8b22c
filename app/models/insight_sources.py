"""The sources of insight besides sessions: the newest runs and scores of a prompt, and counts of replays."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Subquery, and_, case, func, or_, select

from app.models.base import no_index
from app.models.language_models import language_models
from app.models.prompt_versions import draft_snapshots
from app.models.queries import bytes_of, list_rows, pieces
from app.models.replays import replays
from app.models.runs import runs
from app.models.scores import scores
from app.models.sessions import sessions
from app.models.turns import turns
from app.sessions.figures import only
from app.sessions.sums import names_in
from app.timestamps import of_unix_ns


@dataclass(frozen=True, slots=True)
class RecentRun:
    """A run that has ended; `commit_hash` is None for the draft's."""

    commit_hash: str | None
    model: str
    created_at: datetime
    response_time_ms: int


def recent_runs(
    connection: Connection, *, prompt_id: int, since: datetime, until: datetime, limit: int
) -> list[RecentRun]:
    """List the ended runs with a response time among the newest `limit` runs created in [since, until).

    A cancelled run is left out: its time is not that of an answer.
    """
    c = runs.c
    # In a subquery, so that no server begins the join with the models.
    newest = (
        select(c.commit_hash, c.language_model_id, c.created_at, c.response_time_ms, c.status)
        .where(c.prompt_id == prompt_id, c.created_at >= since, c.created_at < until)
        .order_by(c.created_at.desc(), c.id.desc())
        .limit(limit)
        .subquery("newest")
    )
    n = newest.c
    ended = and_(n.status.in_(("done", "failed")), n.response_time_ms.is_not(None))
    statement = select(n.commit_hash, language_models.c.name, n.created_at, n.response_time_ms).where(ended)
    return list_rows(
        connection, RecentRun, statement.join(language_models, language_models.c.id == n.language_model_id)
    )


@dataclass(frozen=True, slots=True)
class RecentScore:
    """A numeric score, with the day, version and model of what it scores: a run, or the session with the scored turn.

    "" is the version of a draft, and the version or model of a session that has none or several.
    """

    name: str
    value: float
    day: date
    version: str
    model: str


NAMES_MAX = 16 * 1024
"""Bytes of the names of a session that are read. One with more counts as having several versions and models."""
SESSIONS_AT_ONCE = 50
"""Sessions of which the names are in memory at once."""


def recent_scores(connection: Connection, *, project_id: int, prompt_id: int, limit: int) -> list[RecentScore]:
    """List a prompt's numeric scores of things that still exist.

    Only the prompt's newest `limit` scores are read, and the project's newest `limit` scores of turns and steps, which
    are stored without their prompt.
    """
    s = scores.c
    columns = (s.name, s.value, s.trace_id, s.session_key, s.run_id, s.prompt_id)
    newest = select(*columns).order_by(s.id.desc()).limit(limit)
    # MariaDB might intersect both indexes and sort all scores of the prompt.
    ours = no_index(s.project_id) == project_id
    by_prompt = newest.with_hint(scores, "FORCE INDEX (ix_scores_prompt_id)", dialect_name="mysql")
    of_prompt = by_prompt.where(s.prompt_id == prompt_id, ours).subquery("newest")
    of_any = newest.where(s.project_id == project_id).subquery("newest")
    rows = _with_what_is_scored(connection, of_prompt, project_id, prompt_id)
    rows += _with_what_is_scored(connection, of_any, project_id, prompt_id, of_any.c.prompt_id.is_(None))
    names = _version_and_model(connection, project_id, {row.id for row in rows if row.id is not None})
    return [
        RecentScore(row.name, row.value, row.created_at.date(), row.commit_hash or "", row.model or "")
        if row.created_at
        else RecentScore(row.name, row.value, of_unix_ns(row.start_ns).date(), *names.get(row.id, ("", "")))
        for row in rows
    ]


def _with_what_is_scored(
    connection: Connection, newest: Subquery, project_id: int, prompt_id: int, *further: ColumnElement[bool]
) -> list[Row[Any]]:
    """List the scores of a subquery with what was scored; no server begins the join with the sessions."""
    n, t, c, r = newest.c, turns.c, sessions.c, runs.c
    of_session = c.session_key == func.coalesce(n.session_key, t.session_key)
    statement = (
        select(n.name, n.value, c.id, c.start_ns, r.created_at, r.commit_hash, language_models.c.name.label("model"))
        .outerjoin(
            turns, and_(no_index(t.project_id) == project_id, t.prompt_id == prompt_id, t.trace_id == n.trace_id)
        )
        .outerjoin(sessions, and_(of_session, c.project_id == project_id))
        .outerjoin(runs, and_(r.id == n.run_id, r.project_id == project_id))
        .outerjoin(language_models, language_models.c.id == r.language_model_id)
        .where(n.value.is_not(None), or_(c.id.is_not(None), r.id.is_not(None)), *further)
    )
    return list(connection.execute(statement))


def _version_and_model(connection: Connection, project_id: int, ids: Collection[int]) -> dict[int, tuple[str, str]]:
    """Return the version and the model of sessions by their ids, "" for none or several. Few are read at once."""
    c, named = sessions.c, dict[int, tuple[str, str]]()
    few_names = case((bytes_of(c.names) <= NAMES_MAX, c.names), else_="")
    for piece in pieces(sorted(ids), SESSIONS_AT_ONCE):
        of_project = select(c.id, few_names).where(no_index(c.project_id) == project_id, c.id.in_(piece))
        for id_, names in connection.execute(of_project):
            named[id_] = (only(names_in(names, "version")), only(names_in(names, "model")))
    return named


@dataclass(frozen=True, slots=True)
class ReplayCount:
    """The replays of one content by model, day (UTC) of their start and status."""

    fingerprint: str
    model: str
    day: date
    status: str
    replays: int


def count_decided_replays(
    connection: Connection, *, project_id: int, prompt_id: int, since: datetime, until: datetime
) -> list[ReplayCount]:
    """Count the prompt's replays that passed or failed and were started in [since, until)."""
    c, snapshot = replays.c, draft_snapshots.c
    columns = (snapshot.fingerprint, language_models.c.name, func.date(c.created_at), c.status)
    statement = (
        select(*columns, func.count())
        .join(draft_snapshots, snapshot.id == c.draft_snapshot_id)
        .join(language_models, language_models.c.id == snapshot.language_model_id)
        .where(c.prompt_id == prompt_id, c.project_id == project_id, c.created_at >= since, c.created_at < until)
        .where(c.status.in_(("passed", "failed")))
        .group_by(*columns)
    )
    # SQLite has no dates: its function returns text.
    return [
        ReplayCount(fingerprint, model, date.fromisoformat(str(day)), status, count)
        for fingerprint, model, day, status, count in connection.execute(statement)
    ]
