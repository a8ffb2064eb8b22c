"""The scores that people and programs give to sessions, turns, steps and runs."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from hashlib import blake2b

from sqlalchemy import Connection

from app.database.transactions import Database, retried
from app.errors import NotFound, require
from app.models import audit_log, scores
from app.models.audit_log import Action, Actor
from app.models.queries import new_batch_id
from app.models.scores import THUMBS, ScoreRow, Source
from app.otlp.masking import Masking
from app.pagination import ListPage, json_size, page_by_size
from app.services.masking.rules import MaskingRules
from app.services.scores.targets import Target, TargetColumns, columns_of_targets
from app.services.sessions.service import session_key_of
from app.timestamps import Now, ns_of

NO_SCORE = "There is no such score."
DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenScore:
    """A score from a person or a program; a text value is a category."""

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
        """Store a program's score, or replace the score with its id; returns it, and whether it is new.

        Raises `NotFound` for a session, prompt or run that the project does not have. Traces and conversations may come
        later.
        """
        [stored] = self._put_all(project_id, [score])
        return stored

    def put_all(self, *, project_id: int, given: Sequence[GivenScore]) -> list[ScoreRow]:
        """Store programs' scores like `put`, all or none, and return them; their ids must differ."""
        return [row for row, _ in self._put_all(project_id, given, path="scores.{}.target: ")]

    def _put_all(self, project_id: int, given: Sequence[GivenScore], path: str = "") -> list[tuple[ScoreRow, bool]]:
        now, masking = self.now(), self.rules.of(project_id)
        rows = [_row(score, _given_digest(score), "api", masking, now) for score in given]
        targets = [score.target for score in given]

        def work(connection: Connection) -> list[tuple[ScoreRow, bool]]:
            columns = columns_of_targets(connection, project_id=project_id, targets=targets, masking=masking, path=path)
            return _store(connection, project_id, rows, columns, now)

        return self.database.retrying(work)

    @retried
    def rate(
        self,
        *,
        project_id: int,
        session_id: str,
        user_id: int,
        value: float | bool | str,
        comment: str,
        actor: Actor,
        name: str = THUMBS,
    ) -> None:
        """Store a person's score of a session, replacing their previous one with the name, by default their thumb.

        Raises `NotFound` if there is no such session.
        """
        now, masking = self.now(), self.rules.of(project_id)
        score = GivenScore(name=name, value=value, comment=comment or None, target=Target(session_id=session_id))
        row = _row(score, _rating_digest(user_id, session_id, name), "person", masking, now)
        with self.database.write() as connection:
            columns = columns_of_targets(connection, project_id=project_id, targets=[score.target], masking=masking)
            _store(connection, project_id, [row], columns, now)
            subject = f"the session {session_id}"
            audit_log.note(connection, now, actor, Action.SCORE_GIVEN, subject, project_id=project_id)

    def rating(self, *, project_id: int, session_id: str, user_id: int, name: str = THUMBS) -> ScoreRow | None:
        """Return the score with a name, by default the thumb, that a person gave to a session."""
        with self.database.read() as connection:
            return scores.find(connection, project_id=project_id, digests=[_rating_digest(user_id, session_id, name)])

    def get(self, *, project_id: int, score_id: str) -> ScoreRow:
        """Return a score by its id; `NotFound` if there is none."""
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
    ) -> ListPage[ScoreRow]:
        """Return scores, optionally only those with a name or of a run, the newest first.

        A page ends early if the comments are long.
        """
        with self.database.read() as connection:
            read = partial(scores.listed, connection, project_id=project_id, name=name, run_id=run_id)
            page = page_by_size(read, size=lambda score: json_size(score.row.comment), limit=limit, cursor=cursor)
        return ListPage([score.row for score in page.entries], page.next_cursor)

    @retried
    def remove(self, *, project_id: int, score_id: str, actor: Actor) -> None:
        """Delete a score; `NotFound` if there is none."""
        with self.database.write() as connection:
            score = _find(connection, project_id, score_id)
            if not scores.remove(connection, project_id=project_id, digest=score.digest):
                raise NotFound(NO_SCORE)
            audit_log.note(connection, self.now(), actor, Action.SCORE_REMOVED, score.id, project_id=project_id)


def _row(score: GivenScore, digest: bytes, source: Source, masking: Masking, now: datetime) -> ScoreRow:
    """Return the row of a score, without its target."""
    value, label = _value_and_label(score.value)
    return ScoreRow(
        digest=digest,
        score_id=score.id,
        session_key=None,
        trace_id=None,
        span_id=None,
        run_id=None,
        time_ns=ns_of(now),
        name=masking.text(score.name)[:255],
        value=value,
        label=masking.text(label)[:255] if label else None,
        comment=masking.text(score.comment) if score.comment else None,
        source=source,
    )


def _store(
    connection: Connection, project_id: int, rows: Sequence[ScoreRow], targets: Sequence[TargetColumns], now: datetime
) -> list[tuple[ScoreRow, bool]]:
    """Store scores with the columns of their targets; returns each, and whether its digest is new.

    A score that is already stored with the same fields is not changed and keeps its time.
    """
    known = scores.find_all(connection, project_id=project_id, digests=[row.digest for row in rows])
    changed, stored = [], []
    for row, target in zip(rows, targets, strict=True):
        columns = asdict(target)
        prompt_id = columns.pop("prompt_id")
        score = replace(row, **columns)
        before = known.get(row.digest)
        if before is not None and replace(before, time_ns=row.time_ns) == score:
            score = before
        else:
            changed.append((score, prompt_id))
        stored.append((score, before is None))
    scores.put(connection, changed, project_id=project_id, waiting_since=new_batch_id(now))
    return stored


def _given_digest(score: GivenScore) -> bytes:
    return secrets.token_bytes(DIGEST_BYTES) if score.id is None else _digest("api", score.id)


def _rating_digest(user_id: int, session_id: str, name: str) -> bytes:
    return _digest("person", f"{user_id} {session_id}" if name == THUMBS else f"{user_id} {session_id} {name}")


def _digest(source: Source, name: str) -> bytes:
    return blake2b(name.encode(), digest_size=DIGEST_BYTES, person=source.encode()).digest()


def _find(connection: Connection, project_id: int, score_id: str) -> ScoreRow:
    """Return the score with this id from a program, or the score with this digest."""
    digests = [_digest("api", score_id), *_as_digest(score_id)]
    return require(scores.find(connection, project_id=project_id, digests=digests), NO_SCORE)


def _as_digest(score_id: str) -> Iterator[bytes]:
    if key := session_key_of(score_id):
        yield key


def _value_and_label(value: float | bool | str) -> tuple[float | None, str | None]:
    if isinstance(value, str):
        return None, value
    return float(value), str(value).lower() if isinstance(value, bool) else None
