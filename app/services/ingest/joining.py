"""Joins the turns of a conversation of which each request names, as its id, the response id of the turn before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from app.database.transactions import Database
from app.models import queries, sessions, turns
from app.models.spans import TurnKey
from app.services.ingest.turns import TurnPart, conversation_key, move_turns
from app.sessions.facts import TurnFacts
from app.timestamps import Now

TURNS_MAX = 1_000
"""Turns that are moved in one transaction. A session with more is not moved."""
BATCH_TURNS_MAX = 50_000
"""Turns that are read to be moved because of one batch; sessions that are left then stay as they are."""
ANSWERS_AT_ONCE = 200
PREFIX_CHARACTERS = 3
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
        later = [part for part in parts if _may_follow(part.facts)]
        # Each of these may be followed by a turn that names its response.
        earlier = [*later, *(part for part in parts if not part.facts.conversation and part.facts.response)]
        if not earlier:
            return
        with self.database.read() as connection:
            starts = {
                **_answers_with_later_turns(connection, project_id, earlier),
                **_answers_of_earlier_turns(connection, project_id, later),
            }
        # In the order of a conversation, so that a turn is hardly ever moved twice.
        answers = sorted(starts, key=lambda answer: (starts[answer], answer))
        waiting = [*queries.pieces(answers, ANSWERS_AT_ONCE)][::-1]
        turns_left = BATCH_TURNS_MAX
        while waiting and turns_left > 0:
            piece = waiting.pop()
            locked = self.database.retrying(partial(_join, project_id=project_id, now=self.now, answers=piece))
            turns_left -= locked
            if locked > TURNS_MAX and len(piece) > 1:
                # Nothing was moved: the sessions of half of the answers may have few enough turns.
                half = len(piece) // 2
                waiting += [piece[half:], piece[:half]]


def _may_follow(facts: TurnFacts) -> bool:
    """Return whether the conversation id may be a response id: it looks like the turn's own, or the turn has failed."""
    if not facts.conversation:
        return False
    if not facts.response:
        return facts.errors > 0
    (_, conversation), (_, response) = facts.conversation, facts.response
    return len(conversation) == len(response) or conversation[:PREFIX_CHARACTERS] == response[:PREFIX_CHARACTERS]


def _answers_of_earlier_turns(connection: Connection, project_id: int, parts: Sequence[TurnPart]) -> dict[Answer, int]:
    """Return the answers of stored turns that `parts` follow, with the start of each answer's turn in nanoseconds."""
    named = {(part.prompt_id, part.facts.conversation[1]) for part in parts if part.facts.conversation}
    earlier = turns.first_with_responses(connection, project_id=project_id, responses=named)
    return {answer: first.start_ns for answer, first in earlier.items()}


def _answers_with_later_turns(connection: Connection, project_id: int, parts: Sequence[TurnPart]) -> dict[Answer, int]:
    """Return the answers of `parts` that stored turns follow, with the start of each answer's turn in nanoseconds."""
    answers = {
        conversation_key(part.prompt_id, part.facts.response[1]): ((part.prompt_id, part.facts.response[1]), part)
        for part in parts
        if part.facts.response
    }
    rows = sessions.find_sessions(connection, project_id=project_id, session_keys=answers.keys())
    return {answer: part.facts.start_ns for answer, part in (answers[row.session_key] for row in rows)}


def _join(connection: Connection, *, project_id: int, now: Now, answers: Sequence[Answer]) -> int:
    """Move the sessions that name these answers, if they have no more turns than may be moved at once.

    Returns how many of their turns were locked.
    """
    earlier = turns.first_with_responses(connection, project_id=project_id, responses=answers)
    session_of = {conversation_key(*answer): first.session_key for answer, first in earlier.items()}
    rows = turns.lock_of_sessions(
        connection, project_id=project_id, session_keys=session_of.keys(), limit=TURNS_MAX + 1
    )
    if len(rows) <= TURNS_MAX:
        targets = _targets({row.session_key: session_of[row.session_key] for row in rows})
        moved: defaultdict[bytes, list[TurnKey]] = defaultdict(list)
        for row in rows:
            if target := targets.get(row.session_key):
                moved[target].append(row.key)
        for target in sorted(moved):
            move_turns(connection, project_id, queries.new_batch_id(now()), moved[target], target)
    return len(rows)


def _targets(session_of: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return where each session ends that follows a turn of another one. Of a circle of sessions one stays."""
    ends: dict[bytes, bytes] = {}

    def end_of(key: bytes) -> bytes:
        passed = []
        while key in ends:
            passed.append(key)
            key = ends[key]
        ends.update(dict.fromkeys(passed, key))
        return key

    for key, session in session_of.items():
        if (end := end_of(session)) != key:
            ends[key] = end
    return {key: end_of(key) for key in session_of if key in ends}
