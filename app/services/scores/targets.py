"""Finds the targets of scores, all targets of a request at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from app.errors import NotFound, require
from app.models import prompts, runs, sessions
from app.otlp.masking import Masking
from app.services.ingest.turns import conversation_key
from app.services.sessions.service import NO_SESSION, session_key_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The target of a score: a session, a turn, a step or a run.

    A session is named by its id, or by its prompt and conversation. A turn is named by its trace, and a step by its
    trace and span.
    """

    session_id: str | None = None
    prompt_id: int | None = None
    conversation_id: str | None = None
    trace_id: bytes | None = None
    span_id: bytes | None = None
    run_id: int | None = None


@dataclass(frozen=True, slots=True)
class TargetColumns:
    """The columns that name a target, and its prompt, None if unknown."""

    prompt_id: int | None = None
    session_key: bytes | None = None
    trace_id: bytes | None = None
    span_id: bytes | None = None
    run_id: int | None = None


def columns_of_targets(
    connection: Connection, *, project_id: int, targets: Sequence[Target], masking: Masking, path: str = ""
) -> list[TargetColumns]:
    """Return the columns of targets, in their order.

    Raises `NotFound` for a session, prompt or run that the project does not have. The message begins with `path`, with
    `{}` replaced by the target's index.
    """
    found = _FoundTargets(
        prompt_of_run=_prompts_of_runs(connection, project_id, targets),
        prompt_ids=_prompt_ids(connection, project_id, targets),
        columns_of_session=_columns_of_sessions(connection, project_id, targets),
        masking=masking,
    )
    columns = []
    for index, target in enumerate(targets):
        try:
            columns.append(found.columns(target))
        except NotFound as error:
            raise NotFound(f"{path.format(index)}{error}") from error
    return columns


@dataclass(frozen=True, slots=True, kw_only=True)
class _FoundTargets:
    """The sessions, prompts and runs of the project that targets name."""

    prompt_of_run: Mapping[int, int]
    prompt_ids: set[int]
    columns_of_session: Mapping[bytes, TargetColumns]
    masking: Masking

    def columns(self, target: Target) -> TargetColumns:
        if target.run_id is not None:
            prompt_id = require(self.prompt_of_run.get(target.run_id), "There is no such run.")
            return TargetColumns(prompt_id, run_id=target.run_id)
        if target.trace_id is not None:
            return TargetColumns(trace_id=target.trace_id, span_id=target.span_id)
        if target.session_id is not None:
            key = session_key_of(target.session_id)
            return require(self.columns_of_session.get(key) if key else None, NO_SESSION)
        if target.prompt_id not in self.prompt_ids:
            raise NotFound(prompts.NO_PROMPT)
        named = self.masking.conversation(target.conversation_id or "")
        return TargetColumns(target.prompt_id, conversation_key(target.prompt_id, named))


def _prompts_of_runs(connection: Connection, project_id: int, targets: Sequence[Target]) -> dict[int, int]:
    run_ids = {target.run_id for target in targets if target.run_id is not None}
    return runs.prompts_of(connection, project_id=project_id, run_ids=run_ids)


def _prompt_ids(connection: Connection, project_id: int, targets: Sequence[Target]) -> set[int]:
    named = {target.prompt_id for target in targets if target.prompt_id is not None}
    return prompts.known_prompts(connection, project_id=project_id, prompt_ids=named)


def _columns_of_sessions(
    connection: Connection, project_id: int, targets: Sequence[Target]
) -> dict[bytes, TargetColumns]:
    """Return the columns of the sessions that targets name by ids.

    A session without a conversation is named by its trace: a later span with a conversation moves its turn to another
    session.
    """
    named = (session_key_of(target.session_id) for target in targets if target.session_id is not None)
    rows = sessions.find_sessions(connection, project_id=project_id, session_keys={key for key in named if key})
    columns = {row.session_key: TargetColumns(row.prompt_id, row.session_key) for row in rows}
    without_conversation = {row.session_key: row.prompt_id for row in rows if row.conversation_id is None}
    for key, trace_id in sessions.first_traces(connection, project_id=project_id, session_keys=without_conversation):
        columns[key] = TargetColumns(without_conversation[key], trace_id=trace_id)
    return columns
