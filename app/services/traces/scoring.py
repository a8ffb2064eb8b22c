"""The scores that people and programs give to sessions, turns, steps and runs."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from sqlalchemy import Connection

from app import cursors
from app.cursors import Page
from app.db import Database
from app.errors import NotFound, require
from app.models import audit_log, prompts, runs, scores, sessions, turns
from app.models.audit_log import Action, Actor
from app.models.queries import new_batch_id
from app.models.scores import ScoreRow, Source
from app.otlp.masking import Masking
from app.services.data.masking import MaskingRules
from app.services.traces.logs import session_key_of
from app.services.traces.prompt_log import ns_of
from app.services.traces.turns import conversation_key
from app.timestamps import Now

NO_SCORE = "There is no such score."
THUMBS = "thumbs"
"""The name of the score that a person gives to a session on its page: true for good, false for bad."""
DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A thing to score: a session by its id or by its prompt and conversation, a turn by its trace, a step, or a run.

    A step is named by its trace and its span.
    """

    session_id: str | None = None
    prompt_id: int | None = None
    conversation_id: str | None = None
    trace_id: bytes | None = None
    span_id: bytes | None = None
    run_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenScore:
    """A score as somebody gives it; a text as its value is a category."""

    name: str
    value: float | bool | str
    target: Target
    comment: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreService:
    database: Database
    now: Now
    rules: MaskingRules

    def put(self, *, project_id: int, score: GivenScore) -> tuple[ScoreRow, bool]:
        """Store a program's score, in the place of the one that has its id; returns it, and whether there was none.

        `NotFound` for a session, prompt or run that the project does not have. Traces and conversations may come later.
        """
        digest = secrets.token_bytes(DIGEST_BYTES) if score.id is None else _digest("api", score.id)
        masking = self.rules.of(project_id)
        with self.database.write() as connection:
            return self._put(connection, project_id, digest, "api", score, masking)

    def rate(self, *, project_id: int, session_id: str, user_id: int, good: bool, comment: str, actor: Actor) -> None:
        """Store a person's thumb on a session, in the place of the one they gave before; `NotFound` for no session."""
        digest, masking = _thumb(user_id, session_id), self.rules.of(project_id)
        score = GivenScore(name=THUMBS, value=good, comment=comment or None, target=Target(session_id=session_id))
        with self.database.write() as connection:
            self._put(connection, project_id, digest, "person", score, masking)
            subject = f"the session {session_id}"
            audit_log.note(connection, self.now(), actor, Action.SCORE_GIVEN, subject, project_id=project_id)

    def thumb(self, *, project_id: int, session_id: str, user_id: int) -> ScoreRow | None:
        """Return the thumb that a person gave to a session."""
        with self.database.read() as connection:
            return scores.find(connection, project_id=project_id, digests=[_thumb(user_id, session_id)])

    def get(self, *, project_id: int, score_id: str) -> ScoreRow:
        """Return a score by its id; `NotFound` for none."""
        with self.database.read() as connection:
            return _find(connection, project_id, score_id)

    def list(
        self,
        *,
        project_id: int,
        name: str | None = None,
        run_id: int | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[ScoreRow]:
        """Return the scores of a name, of a run, or all, the last one stored first."""
        before_id = int(cursors.decode(cursor, int)[0]) if cursor else None
        with self.database.read() as connection:
            found = scores.listed(
                connection, project_id=project_id, name=name, run_id=run_id, before_id=before_id, limit=limit + 1
            )
        more = cursors.encode(found[limit - 1][0]) if len(found) > limit else None
        return Page([row for _, row in found[:limit]], more)

    def remove(self, *, project_id: int, score_id: str, actor: Actor) -> None:
        """Delete a score; `NotFound` for none."""
        with self.database.write() as connection:
            score = _find(connection, project_id, score_id)
            if not scores.remove(connection, project_id=project_id, digest=score.digest):
                raise NotFound(NO_SCORE)
            audit_log.note(connection, self.now(), actor, Action.SCORE_REMOVED, score.id, project_id=project_id)

    def _put(
        self,
        connection: Connection,
        project_id: int,
        digest: bytes,
        source: Source,
        score: GivenScore,
        masking: Masking,
    ) -> tuple[ScoreRow, bool]:
        now = self.now()
        prompt_id, place = _place(connection, project_id, score.target, masking)
        value, label = _value_and_label(score.value)
        row = ScoreRow(
            digest=digest,
            score_id=score.id,
            **place,
            time_ns=ns_of(now),
            name=masking.text(score.name)[:255],
            value=value,
            label=masking.text(label)[:255] if label else None,
            comment=masking.text(score.comment) if score.comment else None,
            source=source,
        )
        known = scores.find(connection, project_id=project_id, digests=[digest])
        waiting_since = new_batch_id(now)
        scores.put(connection, row, project_id=project_id, prompt_id=prompt_id, waiting_since=waiting_since)
        return row, known is None


def _thumb(user_id: int, session_id: str) -> bytes:
    return _digest("person", f"{user_id} {session_id}")


def _digest(source: Source, told_apart: str) -> bytes:
    return blake2b(told_apart.encode(), digest_size=DIGEST_BYTES, person=source.encode()).digest()


def _find(connection: Connection, project_id: int, score_id: str) -> ScoreRow:
    """Return the score that a program gave this id, or the one whose digest it is."""
    digests = [_digest("api", score_id), *_as_digest(score_id)]
    return require(scores.find(connection, project_id=project_id, digests=digests), NO_SCORE)


def _as_digest(score_id: str) -> Iterator[bytes]:
    if key := session_key_of(score_id):
        yield key


def _value_and_label(value: float | bool | str) -> tuple[float | None, str | None]:
    if isinstance(value, str):
        return None, value
    return float(value), str(value).lower() if isinstance(value, bool) else None


def _place(
    connection: Connection, project_id: int, target: Target, masking: Masking
) -> tuple[int | None, dict[str, Any]]:
    """Return the prompt of a target, None where it is not known, and the columns that name the target."""
    place: dict[str, Any] = dict.fromkeys(("session_key", "trace_id", "span_id", "run_id"))
    if target.run_id is not None:
        prompt_id = runs.prompt_of(connection, project_id=project_id, run_id=target.run_id)
        return require(prompt_id, "There is no such run."), place | {"run_id": target.run_id}
    if target.trace_id is not None:
        return None, place | {"trace_id": target.trace_id, "span_id": target.span_id}
    if target.session_id is not None:
        prompt_id, named = _session(connection, project_id, target.session_id)
        return prompt_id, place | named
    prompt_id = target.prompt_id or 0
    if not prompts.known_prompts(connection, project_id=project_id, prompt_ids={prompt_id}):
        raise NotFound("There is no such prompt.")
    key = conversation_key(prompt_id, masking.conversation(target.conversation_id or ""))
    return prompt_id, place | {"session_key": key}


def _session(connection: Connection, project_id: int, session_id: str) -> tuple[int, dict[str, bytes]]:
    """Return the prompt of a session and the column that names it.

    A turn without a conversation is named by its trace: it may join another session when it is told its conversation.
    """
    key = session_key_of(session_id)
    known = sessions.find_session(connection, project_id=project_id, session_key=key) if key else None
    row = require(known, "There is no such session.")
    if row.conversation_id is None:
        for turn in turns.list_turns(connection, session_keys=[row.session_key]):
            return row.prompt_id, {"trace_id": turn.trace_id}
    return row.prompt_id, {"session_key": row.session_key}
