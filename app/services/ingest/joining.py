"""Joins turns of which each names, as its conversation, the response id of the turn before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from app.database.transactions import Database
from app.models import queries, sessions, turns
from app.services.ingest.turns import TurnPart, conversation_key, move_turns
from app.sessions.facts import TurnFacts, load
from app.timestamps import Now

TURNS_MAX = 1_000
"""Turns that are moved at once. A session with more is not moved."""
PREFIX = 3
"""Characters that the ids of one vendor begin with, as in `resp_1`, unless all have one length, as UUIDs have."""

Answer = tuple[int, str]
"""A prompt and the response id of a turn, which a later turn may have as its conversation id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnJoiner:
    """Moves a session with a conversation id that is a turn's response id to the session of that turn.

    Vendors that keep conversations have no id for all of one: each request names the response before it. A batch is
    joined after its commit, so that the later of two batches sees both. The database is asked only about turns that may
    be in such a chain: see `_may_follow`. So a turn that joins a conversation of another kind must arrive after it.
    """

    database: Database
    now: Now

    def join(self, project_id: int, parts: Sequence[TurnPart]) -> None:
        """Join the turns of a batch with earlier and later ones."""
        following = [part for part in parts if _may_follow(part.facts)]
        followed = [*following, *(part for part in parts if not part.facts.conversation and part.facts.response)]
        if not followed:
            return
        with self.database.read() as connection:
            answers = {*_answered(connection, project_id, following), *_continued(connection, project_id, followed)}
        for answer in sorted(answers):
            self.database.retrying(partial(_join, project_id=project_id, now=self.now, answer=answer))


def _may_follow(facts: TurnFacts) -> bool:
    """Return whether the conversation id may be a response id: it looks like the turn's own, or the turn has failed."""
    if not facts.conversation:
        return False
    if not facts.response:
        return facts.errors > 0
    (_, conversation), (_, response) = facts.conversation, facts.response
    return len(conversation) == len(response) or conversation[:PREFIX] == response[:PREFIX]


def _answered(connection: Connection, project_id: int, parts: Sequence[TurnPart]) -> Iterator[Answer]:
    """Yield the answers that the turns name as their conversations."""
    named = {(part.prompt_id, part.facts.conversation[1]) for part in parts if part.facts.conversation}
    for row in turns.with_responses(connection, project_id=project_id, response_ids={name for _, name in named}):
        if (answer := _answer(row.prompt_id, row.facts)) in named:
            yield answer


def _continued(connection: Connection, project_id: int, parts: Sequence[TurnPart]) -> Iterator[Answer]:
    """Yield the answers of the turns that other turns, which arrived earlier, name as their conversations."""
    answers = {
        conversation_key(part.prompt_id, part.facts.response[1]): (part.prompt_id, part.facts.response[1])
        for part in parts
        if part.facts.response
    }
    for row in sessions.find_sessions(connection, project_id=project_id, session_keys=answers.keys()):
        yield answers[row.session_key]


def _answer(prompt_id: int, facts: bytes) -> Answer | None:
    response = load(facts).response
    return (prompt_id, response[1]) if response else None


def _join(connection: Connection, *, project_id: int, now: Now, answer: Answer) -> None:
    prompt_id, response_id = answer
    rows = turns.with_responses(connection, project_id=project_id, response_ids=[response_id])
    answered = next((row for row in rows if _answer(row.prompt_id, row.facts) == answer), None)
    key = conversation_key(prompt_id, response_id)
    if answered is None or answered.session_key == key:
        return
    later = turns.lock_of_session(connection, project_id=project_id, session_key=key, limit=TURNS_MAX + 1)
    if 0 < len(later) <= TURNS_MAX:
        move_turns(connection, queries.new_batch_id(now()), later, answered.session_key)
