"""The requests of programs in replays: their calls of models and tools, which the recording and real models answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import Connection

from app.chat import Answer, Message, ToolCall, ToolDefinition
from app.concurrency.caches import BoundedCache
from app.database.transactions import Database
from app.errors import Conflict, Invalid, ProviderError
from app.models import language_models, program_replays
from app.models.program_replays import ProgramReplay
from app.providers.types import ProviderPort
from app.replay.engine import PlayedConversation
from app.replay.ports import Ports
from app.replay.program_transcript import OtherCall, ProgramDraft, ProgramEvent, TurnStopped
from app.replay.recording import RecordedKeys
from app.replay.replay_state import StopTurn
from app.replay.stored_replies import StoredReplies
from app.replay.text_reader import COMPARISON_STEPS_MAX
from app.services.language_models.credentials import CredentialService
from app.services.language_models.prices import PriceService
from app.services.replays.budget import cost_reached, is_spent
from app.services.replays.played_programs import KeptConversation, PlayedProgram, PlayedPrograms, repeated
from app.services.replays.program_calls import Exchange, ExchangeOver, LiveProgram, PaidCalls
from app.services.replays.program_memory import ProgramMemory
from app.services.replays.program_store import BUSY, NO_TURN, ChangedMeanwhile, ProgramStore
from app.services.replays.program_tools import ToolLookup, ToolResult
from app.services.replays.program_upstream import ProgramRequest, Upstream, model_of, models_by_other_name
from app.timestamps import Now
from app.values.budget import WorkBudget

COMPARISON_STEPS_PER_REQUEST = 500_000
"""Steps of the comparisons of one request, of `COMPARISON_STEPS_MAX` for the replay: half a second of a processor."""

KEYS_KEPT = 100_000
"""Recorded calls of which a process keeps the fingerprints: some tens of megabytes."""


@dataclass(slots=True)
class KeptReplies:
    """The engine's `ModelPort` that stores the replies to calls of tools before its program goes on."""

    program: LiveProgram | ToolLookup
    store: ProgramStore
    row: ProgramReplay
    replies: StoredReplies
    budget: WorkBudget
    _counted: int = field(default=0, init=False)

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        self.keep()
        return self.program.answer(instruction, messages, tools)

    def keep(self) -> None:
        """Store new replies. Raises `ChangedMeanwhile`."""
        if self.replies.new:
            self.row = self.store.keep(self.row, self.replies.new, self.budget.spent - self._counted)
            self.replies.new, self._counted = [], self.budget.spent


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRequests:
    """Answers the requests of programs in replays; `call_timeout_s` limits one answer of a real model."""

    database: Database
    now: Now
    played: PlayedPrograms
    store: ProgramStore
    providers: ProviderPort
    prices: PriceService
    credentials: CredentialService
    memory: ProgramMemory
    call_timeout_s: float
    _keys: BoundedCache[RecordedKeys] = field(default_factory=partial(BoundedCache, KEYS_KEPT), init=False)

    def chat(self, row: ProgramReplay, request: ProgramRequest) -> Any:
        """Return the JSON of the model's answer that the program gets, after calls of its tools were answered.

        Raises `Invalid` where the replay can't go on, `ProviderError`, `Conflict` when the turn has ended, and
        `Unavailable` without room in the memory of the process.
        """
        with self.memory.hold(row) as grow:
            return self._chat(row, request, grow)

    def _chat(self, row: ProgramReplay, request: ProgramRequest, grow: Callable[[int], None]) -> Any:
        exchange: Exchange | None = None

        def answered() -> Any:
            nonlocal exchange
            played = self.played.open(row)
            exchange = exchange or Exchange(request, self._calls(played, request), grow)
            if played.turn != exchange.calls.turn:
                raise Conflict(NO_TURN)
            self._converse(played, LiveProgram(played.stored.transcript, exchange, row.tools == "endpoint"))
            return exchange.last

        return repeated(answered)

    def tool_result(self, row: ProgramReplay, call: ToolCall) -> ToolResult:
        """Return what a tool that the program calls has to return; raises as `chat`."""

        def looked_up() -> ToolResult:
            played = self.played.open(row)
            stored = played.stored

            def store(event: ProgramEvent) -> None:
                nonlocal stored
                stored = self.store.add(stored, event)

            is_endpoint = row.tools == "endpoint"
            lookup = ToolLookup(stored.transcript, played.turn, call, store, is_endpoint, COMPARISON_STEPS_PER_REQUEST)
            self._converse(played, lookup)
            assert lookup.found  # noqa: S101 - the conversation ends with it
            return lookup.found

        with self.memory.hold(row):
            return repeated(looked_up)

    def pass_on(self, row: ProgramReplay, request: ProgramRequest, path: str) -> Any:
        """Return the JSON of a model's answer that is no chat, such as embeddings; raises as `chat`."""
        if row.offline:
            raise Invalid(f"The replay is offline: {path} is no chat, and no other model is called.")
        with self.memory.hold(row):
            return self._passed_on(row, request, path)

    def _passed_on(self, row: ProgramReplay, request: ProgramRequest, path: str) -> Any:
        played = self.played.open(row)
        calls, known = self._calls(played, request), played.stored.transcript
        event = OtherCall(calls.turn, path, request.model)
        _, received, _ = calls.ask(request, request.body, known, lambda _answer, _before: event, other_path=path)
        return received

    def _calls(self, played: PlayedProgram, request: ProgramRequest) -> PaidCalls:
        """Return the calls of a request, in the turn that is played now. Raises `Invalid` for a disabled model."""
        row = played.stored.row
        with self.database.read() as connection:
            named = {"organization_id": row.organization_id}
            rows = language_models.find_models_named(connection, name=request.model, **named)
            if not rows:
                rows = models_by_other_name(language_models.list_models(connection, **named), request.model)
            prices = self.prices.book(connection, project_id=row.project_id)
        known = model_of(rows, request.wire)
        upstream = Upstream(row.organization_id, known, prices, self.providers, self.credentials, self.call_timeout_s)
        return PaidCalls(self.store, row, upstream, played.turn, partial(self._check_cost, played))

    def _check_cost(self, played: PlayedProgram) -> None:
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

    def _converse(self, played: PlayedProgram, program: LiveProgram | ToolLookup) -> None:
        """Play the conversation until the program gets its answer. Raises `Invalid` where the replay can't go on.

        It goes on where the last request in this process ended, unless the program has offered more tools since.
        """
        row, prepared, draft = played.stored.row, played.prepared, program.draft
        before = _conversation_before(played, draft, len(program.steps))
        replies, budget = (before.replies, before.budget) if before else (StoredReplies(), WorkBudget())
        replies.stored = played.stored.transcript.replies
        budget.limit, budget.spent = min(COMPARISON_STEPS_PER_REQUEST, COMPARISON_STEPS_MAX - row.compared), 0
        kept = KeptReplies(program, self.store, row, replies, budget)
        ports = Ports(
            model=kept,
            draft=draft,
            judge=None,
            turn_continues=program.turn_continues,
            proposed=prepared.proposed,
            replies=replies,
            recorded_keys=self._recorded_keys(played),
        )
        if before:
            program.skip(before.answers)
            conversation = before.conversation
            conversation.attach(ports)
        else:
            conversation = PlayedConversation(prepared.case, ports, prepared.faults, budget)
        is_kept = False
        try:
            conversation.play(played.turn)
        except (ExchangeOver, ProviderError) as end:
            # What is not stored, such as the instruction of a call that failed, is in no limit of what is kept.
            is_kept = (draft.instruction, draft.tools) == (program.transcript.instruction, program.transcript.tools)
            if is_kept:
                if program.settled < program.given:
                    conversation.forget_answer()
                conversation.detach()
                after = KeptConversation(conversation, draft, prepared.proposed, replies, budget, program.settled)
                played.conversation[:] = [after]
            if isinstance(end, ExchangeOver):
                return
            raise
        except StopTurn as stop:
            kept.keep()
            self.store.stop(played.stored.row, TurnStopped(played.turn, str(stop)))
            raise Invalid(f"The replay ends with this turn: {stop}.") from stop
        finally:
            if not is_kept:
                conversation.close()
        raise AssertionError("a program's turn ends by an answer")

    def _recorded_keys(self, played: PlayedProgram) -> RecordedKeys:
        """Return the keys of a replay's recorded calls, which its first request in a process makes."""
        row = played.prepared.row
        if row.case_snapshot_id is None:  # the test case may change meanwhile
            return {}
        keys = self._keys.get(row.id)
        if keys is None:
            keys = dict[tuple[int, int], tuple[str, bytes]]()
            self._keys.put(row.id, keys, weight=1 + sum(len(turn.steps) for turn in played.case.turns))
        return keys


def _conversation_before(played: PlayedProgram, draft: ProgramDraft, steps: int) -> KeptConversation | None:
    """Remove and return the conversation of the last request; None without one that can be continued.

    Raises `ChangedMeanwhile` if it has more than the `steps` that were read before the last request ended.
    """
    try:
        before = played.conversation.pop()
    except IndexError:
        return None
    if before.answers > steps:
        played.conversation[:] = [before]
        raise ChangedMeanwhile(BUSY)
    return before if (before.draft, before.proposed) == (draft, played.prepared.proposed) else None
