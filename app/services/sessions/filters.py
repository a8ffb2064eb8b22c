"""The filters of a project's list of sessions, and their conditions on stored sessions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from sqlalchemy import Connection

from app.models import prompts, session_list
from app.models.scores import ScoreRange
from app.models.session_list import Conditions, Range
from app.services.ingest.turns import conversation_key
from app.timestamps import NS_PER_MS, ns_of

PERIODS = {"1h": timedelta(hours=1), "1d": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30)}
"""The periods before now that `SessionFilter.since` can name."""
ALL = "all"
"""The value of `include` with which sessions without a model call, a tool call, an agent or words are listed, too."""
YESTERDAY = "yesterday"
"""The value of `since` for the UTC day before today; unlike the periods, it has an end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Conditions on a project's sessions; None means no condition.

    `words` is a query of the text search; one turn of a session must match all of it. `label` names a label that now
    points to the version of a session's turns. `score` is a score of the session, or of one of its turns or spans.
    `errors` is true for sessions in which a span has an error, false for others. Costs are in US dollars by today's
    prices; a session without any price has none. `since` is one of `PERIODS`, or `YESTERDAY`. `include` is `ALL` or
    None.
    """

    prompt_id: int | None = None
    version: str | None = None
    label: str | None = None
    model: str | None = None
    user_id: str | None = None
    conversation_id: str | None = None
    errors: bool | None = None
    tool: str | None = None
    failed_tool: str | None = None
    score: ScoreRange | None = None
    tokens: Range = Range()
    duration_ms: Range = Range()
    turns: Range = Range()
    cost: Range = Range()
    from_at: datetime | None = None
    to_at: datetime | None = None
    since: str | None = None
    words: str | None = None
    include: str | None = None

    def starts(self, now: datetime) -> datetime | None:
        """Return the time from which sessions are listed, None without a limit."""
        since = _midnight(now) - timedelta(days=1) if self.since == YESTERDAY else None
        since = now - PERIODS[self.since] if self.since in PERIODS else since
        return max((bound for bound in (self.from_at, since) if bound), default=None)

    def ends(self, now: datetime) -> datetime | None:
        """Return the time before which sessions are listed, None without a limit."""
        until = _midnight(now) if self.since == YESTERDAY else None
        return min((bound for bound in (self.to_at, until) if bound), default=None)


def _midnight(now: datetime) -> datetime:
    return datetime.combine(now.astimezone(UTC), time(), UTC)


CONVERSATIONS_MAX = 1_000
"""Sessions of one conversation id that are listed: each prompt may have one. These are those of the newest prompts."""


def stored_conditions(connection: Connection, project_id: int, filters: SessionFilter, now: datetime) -> Conditions:
    """Return a filter as conditions on the tables of sessions: keys, nanoseconds, and times counted from `now`."""
    from_at, to_at = filters.starts(now), filters.ends(now)
    return Conditions(
        project_id=project_id,
        prompt_id=filters.prompt_id,
        session_keys=None
        if filters.conversation_id is None
        else _keys_of_conversation(connection, project_id, filters.prompt_id, filters.conversation_id),
        user_id=filters.user_id,
        from_ns=ns_of(from_at) if from_at else None,
        to_ns=ns_of(to_at) if to_at else None,
        version=filters.version,
        label=filters.label,
        model=filters.model,
        tool=filters.tool,
        failed_tool=filters.failed_tool,
        errors=filters.errors,
        score=filters.score,
        tokens=filters.tokens,
        duration_ns=Range(*(None if ms is None else ms * NS_PER_MS for ms in filters.duration_ms)),
        turns=filters.turns,
        cost=filters.cost,
        only_active=filters.include != ALL,
    )


def _keys_of_conversation(
    connection: Connection, project_id: int, prompt_id: int | None, conversation_id: str
) -> list[bytes]:
    """Return the keys of the sessions with a conversation id, of one prompt or of all."""
    prompt_ids = prompts.prompt_ids_of(connection, project_id=project_id) if prompt_id is None else [prompt_id]
    keys = [conversation_key(id_, conversation_id) for id_ in prompt_ids]
    return session_list.keys_of_sessions(connection, project_id=project_id, keys=keys, limit=CONVERSATIONS_MAX)
