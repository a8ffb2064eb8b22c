"""Replays of programs: their begin, their tokens, the turns that a program is asked, and its answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection

from app.database.transactions import Database
from app.encryption import digest, new_token
from app.errors import Conflict, Invalid, Unauthorized, require
from app.models import api_keys, audit_log, program_replays, replays
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.program_replays import AWAITS_PROGRAM, PLAYED_BY_PROGRAM, ProgramReplay, ToolsMode
from app.models.replays import ReplayRow, ReplaySetup
from app.replay.case_types import CaseTurn, Judging
from app.replay.fault_types import Fault
from app.replay.program_transcript import OtherCall, ProgramAnswer
from app.services.replays.candidates import Candidate
from app.services.replays.judge_choice import JudgeChoice
from app.services.replays.played_programs import PlayedProgram, PlayedPrograms, repeated
from app.services.replays.program_store import ProgramStore
from app.services.replays.service import ReplayService
from app.timestamps import Now

TOKEN_FOR = timedelta(hours=1)
ANSWER_MAX = 1_000_000
"""Characters of a program's answer."""
ID_MAX = 2**63 - 1
_TOKEN = re.compile(r"rpp_(\d{1,19})_(\d{1,19})_[A-Za-z0-9_-]{43}", re.ASCII)
_BY_ITSELF = (
    "The program answered turn {turn}, but no model was called at the replay's endpoint, as in the recording. "
    "It must use OPENAI_BASE_URL, ANTHROPIC_BASE_URL or GOOGLE_GEMINI_BASE_URL, and the key of that vendor's variable."
)


@dataclass(frozen=True, slots=True)
class StartedProgram:
    """A replay with the token of its program, which is shown once."""

    row: ReplayRow
    token: str


@dataclass(frozen=True, slots=True)
class NextTurn:
    """A turn to ask the program, counted from 0, of `turns` in all."""

    turn: int
    turns: int
    content: CaseTurn


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """A turn that the program answered, and the calls in it; `other_calls` were no chat."""

    turn: int
    is_last: bool
    model_calls: int
    other_calls: Sequence[OtherCall]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramService:
    database: Database
    now: Now
    replays: ReplayService
    played: PlayedPrograms
    store: ProgramStore

    def start(
        self,
        *,
        project_id: int,
        test_case_id: int,
        candidate: Candidate,
        judge_model: str | None = None,
        judging: Judging = "auto",
        tools: ToolsMode = "endpoint",
        offline: bool = False,
        variant: str | None = None,
        faults: Sequence[Fault] = (),
        actor: Actor = SYSTEM,
    ) -> StartedProgram:
        """Begin a replay of a program, which asks for its turns by `next_turn`; raises as `ReplayService.start`."""

        def work(connection: Connection) -> tuple[int, str]:
            owner = (project_id, test_case_id, candidate, variant, faults)
            content, case = self.replays.frozen(connection, *owner)
            setup = self.replays.setup(connection, content, [case], JudgeChoice(judge_model, judging))
            return self.add(connection, setup, case.columns, tools=tools, offline=offline, actor=actor)

        replay_id, token = self.database.retrying(work)
        with self.database.read() as connection:
            return StartedProgram(replays.get_replays(connection, ids=[replay_id])[0], token)

    def add(
        self,
        connection: Connection,
        setup: ReplaySetup,
        case: Mapping[str, Any],
        *,
        tools: ToolsMode,
        offline: bool,
        actor: Actor,
    ) -> tuple[int, str]:
        """Add a replay of a program; returns its id and its program's token. `case` are the test case's columns."""
        now = self.now()
        setup = replace(setup, claim=PLAYED_BY_PROGRAM, started_at=now)
        (replay_id,) = replays.add_replays(connection, setup, [case], now=now)
        return replay_id, self.admit(connection, setup, replay_id, tools=tools, offline=offline, actor=actor)

    def admit(
        self,
        connection: Connection,
        setup: ReplaySetup | ReplayRow,
        replay_id: int,
        *,
        tools: ToolsMode,
        offline: bool,
        actor: Actor,
    ) -> str:
        """Make the token of a replay's program, and return it."""
        now, token = self.now(), f"rpp_{setup.project_id}_{replay_id}_{new_token()}"
        values = {
            "digest": digest(token),
            "tools": tools,
            "offline": offline,
            "expires_at": now + TOKEN_FOR,
            "key_id": actor.id if actor.kind == "api_key" else None,
            "events": 0,
        }
        program_replays.add_program(connection, setup=setup, replay_id=replay_id, values=values)
        key = {"project_id": setup.project_id}
        audit_log.note(connection, now, actor, Action.PROGRAM_REPLAYED, str(replay_id), {"tools": tools}, **key)
        return token

    def authenticate(self, token: str) -> ProgramReplay:
        """Return the replay that a token is for; raises `Unauthorized`."""
        row = None
        if match := _TOKEN.fullmatch(token):
            ids = {"project_id": int(match[1]), "replay_id": int(match[2])}
            if max(ids.values()) <= ID_MAX:
                with self.database.read() as connection:
                    row = program_replays.find_authenticated(connection, **ids, digest=digest(token))
                    if row is not None and not self._is_valid(connection, row):
                        row = None
        if row is None:
            raise Unauthorized(
                "The token is not valid: it is for one replay, for an hour, until the replay is judged or the API key "
                "that began it is revoked."
            )
        return row

    def _is_valid(self, connection: Connection, row: ProgramReplay) -> bool:
        now = self.now()
        if row.expires_at <= now:
            return False
        if row.key_id is None:
            return True
        key = api_keys.find_key(connection, project_id=row.project_id, key_id=row.key_id)
        return key is not None and key.valid_at(now)

    def next_turn(self, *, project_id: int, replay_id: int) -> NextTurn | None:
        """Return the turn to ask the program, the same one until it is answered; None when none is left."""
        if self._is_handed_over(project_id, replay_id):
            return None
        played = self.played.require_played(project_id=project_id, replay_id=replay_id)
        if played.is_over:
            self.played.hand_over(played.stored.row)
            return None
        return NextTurn(played.turn, len(played.case.played_turns), played.case.turns[played.turn])

    def answer_turn(self, *, project_id: int, replay_id: int, turn: int, text: str) -> AnsweredTurn:
        """Store the program's answer. The last one ends the program's part: the caller sends the replay's message.

        Raises `Conflict` for a turn that is not the next one to be answered, and `Invalid` if no model was called in a
        turn that was recorded with an answer.
        """
        return repeated(partial(self._answer_turn, project_id, replay_id, turn, text))

    def _answer_turn(self, project_id: int, replay_id: int, turn: int, text: str) -> AnsweredTurn:
        played = self.played.require_played(project_id=project_id, replay_id=replay_id)
        if turn != played.turn or not played.has_turn:
            raise Conflict(f"Turn {turn} can't be answered now; {played.turn} turns have been answered.")
        transcript = played.stored.transcript
        calls = transcript.calls_in(turn)
        if not calls and played.case.turns[turn].steps and not played.stored.row.stopped:
            raise Invalid(_BY_ITSELF.format(turn=turn + 1))
        others = [event for event in transcript.events if isinstance(event, OtherCall) and event.turn == turn]
        after = self.store.add(played.stored, ProgramAnswer(turn, text))
        is_last = PlayedProgram(after, played.prepared).is_over
        if is_last:
            self.played.hand_over(after.row)
        return AnsweredTurn(turn, is_last, len(calls), others)

    def _is_handed_over(self, project_id: int, replay_id: int) -> bool:
        """Return whether all turns of a program's replay are answered, so that a worker judges it or has judged it."""
        with self.database.read() as connection:
            row = replays.find_replay(connection, project_id=project_id, replay_id=replay_id)
        replay = require(row, "There is no such replay.")
        of_program = replay.claim in (AWAITS_PROGRAM, PLAYED_BY_PROGRAM)
        return replay.external is not None and not of_program and replay.status != "cancelled"
