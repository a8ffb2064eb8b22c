"""Replays of programs: the turns that a program is asked, its answers, and the calls of its models in between."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection

from app.chat import ToolCall
from app.database.transactions import Database
from app.encryption import digest, new_token
from app.errors import Conflict, Invalid, Unauthorized, require
from app.models import audit_log, language_models, program_replays, replays
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.program_replays import AWAITS_PROGRAM, PLAYED_BY_PROGRAM, ProgramReplay, ToolsMode
from app.models.replays import ReplayRow, ReplaySetup
from app.providers.types import ProviderPort
from app.replay.engine import converse
from app.replay.fault_types import Fault
from app.replay.playing import Stop
from app.replay.ports import Ports
from app.replay.program import OtherCall, ProgramAnswer, ProgramEvent, TurnStopped, is_void
from app.replay.types import CaseTurn, Judging, TestCase
from app.services.language_models.credentials import CredentialService
from app.services.language_models.prices import PriceService
from app.services.replays.budget import cost_reached, is_spent
from app.services.replays.candidates import Candidate
from app.services.replays.judge_choice import JudgeChoice
from app.services.replays.preparation import Preparation, Prepared
from app.services.replays.program_calls import (
    BUSY,
    Exchange,
    ExchangeOver,
    LiveProgram,
    PaidCalls,
)
from app.services.replays.program_store import NO_TURN, ChangedMeanwhile, ProgramStore, StoredProgram
from app.services.replays.program_tools import ToolLookup, ToolResult
from app.services.replays.program_upstream import ProgramRequest, Upstream, model_of, snapshots_of
from app.services.replays.service import ReplayService
from app.timestamps import Now

TOKEN_FOR = timedelta(hours=1)
ANSWER_MAX = 1_000_000
"""Characters of a program's answer."""
# Simultaneous calls of one program; each of them may be stored after all others.
ATTEMPTS = 50
ID_MAX = 2**63 - 1
Store = Callable[[ProgramEvent], None]
T = TypeVar("T")
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


@dataclass(frozen=True, slots=True)
class _Played:
    """A replay that its program plays."""

    stored: StoredProgram
    prepared: Prepared

    @property
    def case(self) -> TestCase:
        return self.prepared.case

    @property
    def turn(self) -> int:
        return self.stored.transcript.turn

    @property
    def has_turn(self) -> bool:
        """Whether there is a turn that is not answered yet."""
        return not is_void(self.case) and self.turn < len(self.case.played)

    @property
    def is_over(self) -> bool:
        """Whether no turn is left to ask."""
        return self.stored.transcript.is_stopped or not self.has_turn


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramService:
    database: Database
    now: Now
    replays: ReplayService
    preparation: Preparation
    store: ProgramStore
    providers: ProviderPort
    prices: PriceService
    credentials: CredentialService
    call_timeout_s: float

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
        values = {"digest": digest(token), "tools": tools, "offline": offline, "expires_at": now + TOKEN_FOR}
        program_replays.add_program(connection, setup=setup, replay_id=replay_id, values=values)
        key = {"project_id": setup.project_id}
        audit_log.note(connection, now, actor, Action.PROGRAM_REPLAYED, str(replay_id), {"tools": tools}, **key)
        return token

    def authenticate(self, token: str) -> ProgramReplay:
        """Return the replay that a token is for; raises `Unauthorized`."""
        row = None
        if match := _TOKEN.fullmatch(token):
            with self.database.read() as connection:
                ids = {"project_id": int(match[1]), "replay_id": int(match[2])}
                row = program_replays.find_program(connection, **ids) if max(ids.values()) <= ID_MAX else None
        if row is None or not hmac.compare_digest(row.digest, digest(token)) or row.expires_at <= self.now():
            raise Unauthorized("The token is not valid: it is for one replay, for an hour, until the replay is judged.")
        return row

    def next_turn(self, *, project_id: int, replay_id: int) -> NextTurn | None:
        """Return the turn to ask the program, the same one until it is answered; None when none is left."""
        if self._is_handed_over(project_id, replay_id):
            return None
        played = self._played(project_id, replay_id)
        if played.is_over:
            self._hand_over(played.stored.row)
            return None
        return NextTurn(played.turn, len(played.case.played), played.case.turns[played.turn])

    def answer_turn(self, *, project_id: int, replay_id: int, turn: int, text: str) -> AnsweredTurn:
        """Store the program's answer. The last one ends the program's part: the caller sends the replay's message.

        Raises `Conflict` for a turn that is not the next one to be answered, and `Invalid` if no model was called in a
        turn that was recorded with an answer.
        """
        return _repeated(partial(self._answer_turn, project_id, replay_id, turn, text))

    def chat(self, row: ProgramReplay, request: ProgramRequest) -> Any:
        """Return the JSON of the model's answer that the program gets, after calls of its tools were answered.

        Raises `Invalid` where the replay can't go on, `ProviderError`, and `Conflict` when the turn has ended.
        """
        exchange = Exchange(request, self._calls(row, request))
        return _repeated(partial(self._answered, row, exchange))

    def tool_result(self, row: ProgramReplay, call: ToolCall) -> ToolResult:
        """Return what a tool that the program calls has to return; raises as `chat`."""
        return _repeated(partial(self._looked_up, row, call))

    def pass_on(self, row: ProgramReplay, request: ProgramRequest, path: str) -> Any:
        """Return the JSON of a model's answer that is no chat, such as embeddings; raises as `chat`."""
        if row.offline:
            raise Invalid(f"The replay is offline: {path} is no chat, and no other model is called.")
        calls = self._calls(row, request)
        event = OtherCall(calls.turn, path, request.model)
        _, received, _ = calls.ask(request, request.body, lambda _answer, _before: event, other_path=path)
        return received

    def _answer_turn(self, project_id: int, replay_id: int, turn: int, text: str) -> AnsweredTurn:
        played = self._played(project_id, replay_id)
        if turn != played.turn or not played.has_turn:
            raise Conflict(f"Turn {turn} can't be answered now; {played.turn} turns have been answered.")
        transcript = played.stored.transcript
        calls = transcript.calls_in(turn)
        if not calls and played.case.turns[turn].steps and not transcript.is_stopped:
            raise Invalid(_BY_ITSELF.format(turn=turn + 1))
        others = [event for event in transcript.events if isinstance(event, OtherCall) and event.turn == turn]
        after = self.store.add(played.stored, ProgramAnswer(turn, text))
        is_last = _Played(after, played.prepared).is_over
        if is_last:
            self._hand_over(after.row)
        return AnsweredTurn(turn, is_last, len(calls), others)

    def _is_handed_over(self, project_id: int, replay_id: int) -> bool:
        """Return whether all turns of a program's replay are answered, so that a worker judges it or has judged it."""
        with self.database.read() as connection:
            row = replays.find_replay(connection, project_id=project_id, replay_id=replay_id)
        snapshot = require(row, "There is no such replay.")
        of_program = snapshot.claim in (AWAITS_PROGRAM, PLAYED_BY_PROGRAM)
        return snapshot.external is not None and not of_program and snapshot.status != "cancelled"

    def _hand_over(self, row: ProgramReplay) -> None:
        """Let a worker judge the replay."""
        self.database.retrying(partial(program_replays.leave_replay, of=row, values={"claim": None}))

    def _played(self, project_id: int, replay_id: int) -> _Played:
        with self.database.read() as connection:
            row = require(
                replays.find_replay(connection, project_id=project_id, replay_id=replay_id), "There is no such replay."
            )
            stored = self.store.find(connection, project_id=project_id, replay_id=replay_id)
            if stored is None or row.claim != PLAYED_BY_PROGRAM or row.finished:
                raise Conflict(f"The replay is not one that a program plays now: {row.status}.")
            return _Played(stored, self.preparation.prepare(connection, row))

    def _calls(self, row: ProgramReplay, request: ProgramRequest) -> PaidCalls:
        """Return the calls of a request, in the turn that is played now.

        Raises `Conflict` without a turn, and `Invalid` for a disabled model.
        """
        played, _ = self._open(row)
        with self.database.read() as connection:
            named = {"organization_id": row.organization_id}
            rows = language_models.find_models_named(connection, name=request.model, **named)
            if not rows:
                rows = snapshots_of(language_models.list_models(connection, **named), request.model)
            prices = self.prices.book(connection, project_id=row.project_id)
        known = model_of(rows, request.wire)
        upstream = Upstream(row.organization_id, known, prices, self.providers, self.credentials, self.call_timeout_s)
        return PaidCalls(self.store, row, upstream, played.turn, partial(self._check_cost, played))

    def _check_cost(self, played: _Played) -> None:
        """Raise `Invalid` if the replay's experiment has cost its limit, and cancel what its program has not played.

        A program can't answer without its model, so what it does then is no failure of the program.
        """
        row, max_cost, experiment_id = played.prepared.row, played.prepared.max_cost, played.prepared.row.budget_id
        if max_cost is None or experiment_id is None:
            return
        if not is_spent(self.database, experiment_id=experiment_id, replay_id=row.id, max_cost=max_cost):
            return
        end = {"status": "cancelled", "error": cost_reached(max_cost), "finished_at": self.now(), "claim": None}

        def work(connection: Connection) -> None:
            program_replays.leave_replay(connection, of=played.stored.row, values=end)
            key = {"project_id": row.project_id, "experiment_id": experiment_id}
            program_replays.leave_awaiting(connection, **key, values=end)

        self.database.retrying(work)
        raise Invalid(cost_reached(max_cost))

    def _answered(self, row: ProgramReplay, exchange: Exchange) -> Any:
        played, store = self._open(row)
        if played.turn != exchange.calls.turn:
            raise Conflict(NO_TURN)
        _converse(played, LiveProgram(played.stored.transcript, exchange, row.tools == "endpoint"), store)
        return exchange.last

    def _looked_up(self, row: ProgramReplay, call: ToolCall) -> ToolResult:
        played, store = self._open(row)
        lookup = ToolLookup(played.stored.transcript, call, store, row.tools == "endpoint")
        _converse(played, lookup, store)
        assert lookup.found  # noqa: S101 - the conversation ends with it
        return lookup.found

    def _open(self, row: ProgramReplay) -> tuple[_Played, Store]:
        """Return a replay with a turn to answer, and what adds to its transcript. Raises `Conflict` without one."""
        played = self._played(row.project_id, row.replay_id)
        if played.is_over:
            raise Conflict(NO_TURN)
        stored = played.stored

        def store(event: ProgramEvent) -> None:
            nonlocal stored
            stored = self.store.add(stored, event)

        return played, store


def _repeated(attempt: Callable[[], T]) -> T:
    """Return the result of an attempt during which the transcript was not changed. Raises `Conflict`."""
    for _ in range(ATTEMPTS):
        try:
            return attempt()
        except ChangedMeanwhile:
            continue
    raise Conflict(BUSY)


def _converse(played: _Played, program: LiveProgram | ToolLookup, store: Store) -> None:
    """Play the conversation until the program gets its answer. Raises `Invalid` where the replay can't go on."""
    proposed = played.prepared.proposed
    ports = Ports(model=program, draft=program.draft, judge=None, goes_on=program.goes_on, proposed=proposed)
    try:
        converse(played.case, ports, played.turn, played.prepared.faults)
    except ExchangeOver:
        return
    except Stop as stop:
        store(TurnStopped(played.turn, str(stop)))
        raise Invalid(f"The replay ends with this turn: {stop}.") from stop
    raise AssertionError("a program's turn ends by an answer")
