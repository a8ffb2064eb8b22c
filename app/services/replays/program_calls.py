"""Answers the calls of a program's models during a replay: asks the real model, and answers its tools' calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from app.chat import Answer, Message, ToolDefinition
from app.concurrency import deadline
from app.errors import MALFORMED_DATA, Conflict, ProviderError
from app.models.program_replays import ProgramReplay
from app.providers.failures import ProviderFailure
from app.providers.passing.wire import Body, Results, encoded
from app.providers.types import ModelConfig
from app.replay.ports import EarlierVerdictsPort, JudgePort, Ports
from app.replay.program_transcript import (
    ModelCall,
    OtherCall,
    ProgramDraft,
    ProgramEvent,
    ProgramStep,
    RecordedProgram,
    Transcript,
    settled_steps,
)
from app.replay.result_types import TurnResult
from app.replay.stored_replies import StoredReplies
from app.services.replays.program_memory import PER_MARK
from app.services.replays.program_store import BUSY, NO_TURN, ChangedMeanwhile, ProgramStore
from app.services.replays.program_upstream import ProgramRequest, Upstream
from app.services.runs.outcome import nok_status
from app.values.json import count_marks

# What is paid has to be stored, however long the request lasts already.
STORED_WITHIN_S = 30
EXCHANGE_BYTES = 20 * 1024 * 1024
"""JSON of the model's answers in one request of a program; one answer may have 16 MiB."""
EXCHANGE_MEMORY = 64 * 1024 * 1024
"""Bytes of memory of these answers, of which a bracket or comma counts `PER_MARK`."""


class ExchangeOver(Exception):
    """The program gets the last answer: the model used words, or the program's own tools are called."""


@dataclass(frozen=True, slots=True)
class PaidCalls:
    """Calls of models in one turn, each admitted before it is paid. `turn` is that in which the request began.

    `check_cost` raises `Invalid` when the experiment has cost its limit.
    """

    store: ProgramStore
    row: ProgramReplay
    upstream: Upstream
    turn: int
    check_cost: Callable[[], None]

    def ask(
        self,
        request: ProgramRequest,
        body: Body,
        known: Transcript,
        event_of: Callable[[Answer, Transcript | None], ProgramEvent],
        *,
        other_path: str | None = None,
    ) -> tuple[Answer, Any, Transcript | None]:
        """Return the model's answer, its JSON, and what is stored then; None if the turn has ended meanwhile.

        `known` is what was stored when the request read it. `other_path` is that of a call that is no chat. Raises
        `ProviderError`, and as `ProgramStore.begin` and `end`.
        """
        self.check_cost()
        self.store.begin(self.row, self.turn)
        path, is_chat = other_path or request.wire.path(request.model), other_path is None
        try:
            answer, received = self.upstream.ask(request, path, body, is_chat=is_chat)
        except ProviderFailure as failure:
            # The usage of an answer that can't be read is not known.
            if failure.is_answered:
                usage = self.upstream.usage(request, self.upstream.most_tokens(request, body, is_chat=is_chat))
                with deadline.within(STORED_WITHIN_S):
                    self.store.count_failed(self.row, usage)
            raise
        with deadline.within(STORED_WITHIN_S):
            usage = self.upstream.usage(request, answer.tokens)
            after = self.store.end(self.row, self.turn, known, partial(event_of, answer), usage)
        return answer, received, after


@dataclass(slots=True)
class Exchange:
    """One request of a program, and the JSON of the model's answers by their places among the replay's model calls.

    `grow` counts the bytes of memory that the answers need.
    """

    request: ProgramRequest
    calls: PaidCalls
    grow: Callable[[int], None]
    received: dict[int, Any] = field(default_factory=dict)
    _bytes: int = field(default=0, init=False)
    _memory: int = field(default=0, init=False)

    def keep(self, place: int, received: Any) -> None:
        """Keep an answer's JSON. Raises `ProviderError` for more than a request may keep and send again."""
        text = encoded(received)
        memory = len(text) + count_marks(text) * PER_MARK
        self._bytes, self._memory = self._bytes + len(text), self._memory + memory
        self.grow(memory)
        if self._bytes > EXCHANGE_BYTES:
            raise ProviderError(f"The model's answers to one request are larger than {EXCHANGE_BYTES:,} bytes of JSON.")
        if self._memory > EXCHANGE_MEMORY:
            raise ProviderError("The model's answers to one request have too many lists, objects and members.")
        self.received[place] = received

    @property
    def last(self) -> Any:
        return self.received[max(self.received)]


@dataclass(slots=True)
class LiveProgram:
    """The engine's `ModelPort` on a program's request: stored answers first, then those of the real model.

    With `calls_are_answered` the program gets no calls of its tools.
    """

    transcript: Transcript
    exchange: Exchange
    calls_are_answered: bool
    steps: list[ProgramStep] = field(init=False)
    _body: Body = field(init=False)
    _given: list[ProgramStep] = field(default_factory=list, init=False)
    _is_answered: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.steps = list(self.transcript.steps())
        self._body = self.exchange.request.wire.whole(self.exchange.request.body)

    def skip(self, answers: int) -> None:
        """Let so many of the first answers be given already."""
        self._given = self.steps[:answers]

    @property
    def settled(self) -> int:
        """The number of answers that were given and can't change any more."""
        return settled_steps(self.steps, self.given)

    @property
    def given(self) -> int:
        return len(self._given)

    @property
    def draft(self) -> ProgramDraft:
        """The program's instruction, as the first request of the replay had it, and all tools that it offered."""
        request, known = self.exchange.request, self.transcript
        instruction = known.instruction or request.instruction
        return ProgramDraft(instruction, (*known.tools, *self._new_tools(known)), program_nok)

    def turn_continues(self) -> bool:
        """Return whether more of the turn follows an answer in words. Raises `ExchangeOver` after its own answer."""
        if self._is_answered:
            raise ExchangeOver
        return not self._given[-1].is_last

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        """Return the next answer. Raises `ExchangeOver`, `ChangedMeanwhile`, and as `PaidCalls.ask`."""
        if self._is_answered:
            raise ExchangeOver
        self._continue(messages)
        if len(self._given) == len(self.steps):
            self._ask()
        step = self.steps[len(self._given)]
        self._given.append(step)
        self._is_answered = step.place in self.exchange.received and self._is_for_program(step.answer)
        return step.answer

    def _is_for_program(self, answer: Answer) -> bool:
        return not (answer.tool_calls and self.calls_are_answered)

    def _continue(self, messages: Sequence[Message]) -> None:
        """Add the last answer, if this request got it, and the results of its calls to what the model is asked next.

        Raises `ProviderError` for an answer that is not in the vendor's format.
        """
        last = self._given[-1] if self._given else None
        if last and last.place in self.exchange.received and last.answer.tool_calls:
            results = [message.text for message in messages[-len(last.answer.tool_calls) :]]
            received = self.exchange.received[last.place]
            try:
                self._body = self.exchange.request.wire.continued(self._body, Results(received, results))
            except MALFORMED_DATA as error:
                raise ProviderError(f"The model's answer can't be continued: {error!r}") from error

    def _ask(self) -> None:
        """Ask the real model. The next steps are those of calls that ended meanwhile, then that of this one."""
        exchange, before = self.exchange, self.transcript
        answer, received, after = exchange.calls.ask(exchange.request, self._body, before, self._event)
        if after is None:
            exchange.keep(len(before.model_calls), received)
            raise ExchangeOver if self._is_for_program(answer) else Conflict(NO_TURN)
        exchange.keep(len(after.model_calls) - 1, received)
        own = after.model_calls[-1]
        self.transcript, self.steps = after, list(after.steps())
        others = Transcript(tuple(call for call in after.model_calls if call is not own))
        if answer.tool_calls and (others.instruction, others.tools) != (before.instruction, before.tools):
            raise ChangedMeanwhile(BUSY)

    def _event(self, answer: Answer, before: Transcript | None) -> ProgramEvent:
        request, turn = self.exchange.request, self.exchange.calls.turn
        if before is None:
            return OtherCall(turn, request.wire.path(request.model), request.model)
        calls = tuple(replace(call, vendor_state=None) for call in answer.tool_calls)
        kept = replace(answer, tool_calls=calls, vendor_state=None)
        return ModelCall(turn, kept, "" if before.instruction else request.instruction, tuple(self._new_tools(before)))

    def _new_tools(self, before: Transcript) -> Iterator[ToolDefinition]:
        known = {tool.name for tool in before.tools}
        return (tool for tool in self.exchange.request.tools if tool.name not in known)


def program_nok(answer: Answer) -> str | None:
    """Return why an answer of a program's model can't be used, as for a run; None if it can be used."""
    return nok_status(answer, ModelConfig())


def program_ports(
    transcript: Transcript,
    judge: JudgePort | None,
    progress: Callable[[int, int, TurnResult | None], None],
    cancelled: Callable[[], bool],
    earlier_verdicts: EarlierVerdictsPort,
) -> Ports:
    """Return the ports of a replay that its program has played."""
    program = RecordedProgram(transcript)
    return Ports(
        model=program,
        draft=ProgramDraft(transcript.instruction, transcript.tools, program_nok),
        judge=judge,
        progress=progress,
        cancelled=cancelled,
        earlier_verdicts=earlier_verdicts,
        turn_continues=program.turn_continues,
        replies=StoredReplies(transcript.replies),
    )
