"""Answers the calls of a program's models during a replay: asks the real model, and answers its tools' calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from secrets import token_hex
from typing import Any

from app.chat import TOKEN_COUNTS, Answer, Message, ToolDefinition
from app.concurrency import deadline
from app.errors import UNREADABLE, Conflict, Invalid, ProviderError
from app.models.language_models import LanguageModel
from app.models.program_replays import ProgramReplay
from app.prices.book import PriceBook
from app.prices.names import key_of, keys_of
from app.prices.types import CalledModel
from app.providers.passing.wire import Body, NoChat, PassedOn, PassingWire, Results
from app.providers.types import ModelConfig, ModelRef, ModelRequest, ProviderPort
from app.providers.vendors import VENDORS
from app.replay.findings import TurnResult
from app.replay.ports import JudgePort, KnownPort, Ports
from app.replay.program import (
    BegunCall,
    ModelCall,
    OtherCall,
    ProgramDraft,
    ProgramEvent,
    ProgramStep,
    RecordedProgram,
    Transcript,
)
from app.services.language_models.credentials import CredentialService
from app.services.prompts.content import ref_of
from app.services.replays.program_store import NO_TURN, ChangedMeanwhile, ProgramStore
from app.services.runs.outcome import cost_of, nok_status

BUSY = "Too many calls of the program came at the same time; send this one again."
# What is paid has to be stored, however long the request lasts already.
STORED_WITHIN_S = 30


@dataclass(frozen=True, slots=True)
class ProgramRequest:
    """A request of a program in its vendor's JSON; `headers` are the passed-on ones."""

    wire: PassingWire
    model: str
    body: Body
    headers: Mapping[str, str]

    @property
    def instruction(self) -> str:
        return self.wire.instruction(self.body)

    @property
    def tools(self) -> Iterator[ToolDefinition]:
        return self.wire.tools(self.body)


@dataclass(frozen=True, slots=True)
class Upstream:
    """The real model of a request.

    `known` is its row, or that of the model of which it is a snapshot; None for a model that the instance does not
    know. Of these `prices` may have a price.
    """

    organization_id: int
    known: LanguageModel | None
    prices: PriceBook
    providers: ProviderPort
    credentials: CredentialService
    timeout_s: float

    def ask(self, request: ProgramRequest, path: str, body: Body, *, is_chat: bool = True) -> tuple[Answer, Any]:
        """Return the model's answer, and its JSON. Raises `ProviderError`."""
        passed_on = PassedOn(
            path,
            body,
            {**request.wire.headers, **request.headers},
            type(request.wire).make_decoder if is_chat else NoChat,
        )
        model = ref_of(self.known) if self.known else ModelRef(request.wire.vendor, request.model)
        with deadline.paused():
            credential = self.credentials.find(self.organization_id, model.vendor, base_url=model.base_url or "")
            asked = ModelRequest(
                model, ModelConfig(), (), credential, self.timeout_s, self.organization_id, True, passed_on
            )
            return self.providers.complete(asked), passed_on.received

    def usage(self, request: ProgramRequest, answer: Answer) -> dict[str, float]:
        """Return the columns of a replay that the call adds to, without a cost if the price is unknown."""
        usage = {f"{name}_tokens": float(getattr(answer.tokens, name)) for name in TOKEN_COUNTS}
        called = CalledModel(request.wire.vendor.lower(), request.model)
        cost = cost_of(self.known, answer.tokens) if self.known else self.prices.bill(called, answer.tokens).cost
        if cost is None:
            return usage
        return usage | {"prompt_cost_usd": float(cost.prompt), "completion_cost_usd": float(cost.completion)}


def model_of(rows: Sequence[LanguageModel], wire: PassingWire) -> LanguageModel | None:
    """Return the model that a program names, if a vendor that speaks its format serves it.

    Raises `Invalid` if an admin disabled it.
    """
    spoken = VENDORS[wire.vendor].wire
    rows = [row for row in rows if row.vendor in VENDORS and VENDORS[row.vendor].wire == spoken]
    usable = next((row for row in rows if row.usable), None)
    if usable is None and (disabled := next((row for row in rows if row.disabled), None)):
        raise Invalid(f"The model {disabled.name} is disabled for this organization.")
    return usable


def snapshots_of(rows: Iterable[LanguageModel], name: str) -> list[LanguageModel]:
    """Return the models of which `name` is a snapshot, such as gpt-4o of gpt-4o-2024-11-20."""
    keys = keys_of(name)
    return [row for row in rows if key_of(row.name) in keys]


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
        event_of: Callable[[Answer, Transcript | None], ProgramEvent],
        *,
        other_path: str | None = None,
    ) -> tuple[Answer, Any, Transcript | None]:
        """Return the model's answer, its JSON, and what is stored then; None if the turn has ended meanwhile.

        `other_path` is that of a call that is no chat. Raises `ProviderError`, and as `ProgramStore.begin` and `end`.
        """
        self.check_cost()
        call = BegunCall(self.turn, token_hex(8))
        self.store.begin(self.row, call)
        answer = None
        try:
            path = other_path or request.wire.path(request.model)
            answer, received = self.upstream.ask(request, path, body, is_chat=other_path is None)
        finally:
            if answer is None:
                with deadline.within(STORED_WITHIN_S):
                    self.store.release(self.row, call)
        with deadline.within(STORED_WITHIN_S):
            usage = self.upstream.usage(request, answer)
            return answer, received, self.store.end(self.row, call, partial(event_of, answer), usage)


@dataclass(slots=True)
class Exchange:
    """One request of a program, and the JSON of the model's answers by their places among the replay's model calls."""

    request: ProgramRequest
    calls: PaidCalls
    received: dict[int, Any] = field(default_factory=dict)

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
    _steps: list[ProgramStep] = field(init=False)
    _body: Body = field(init=False)
    _given: list[ProgramStep] = field(default_factory=list, init=False)
    _is_answered: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._steps = list(self.transcript.steps())
        self._body = self.exchange.request.wire.whole(self.exchange.request.body)

    @property
    def draft(self) -> ProgramDraft:
        """The program's instruction, as the first request of the replay had it, and all tools that it offered."""
        request, known = self.exchange.request, self.transcript
        instruction = known.instruction or request.instruction
        return ProgramDraft(instruction, (*known.tools, *self._new_tools(known)), usable)

    def goes_on(self) -> bool:
        """Return whether more of the turn follows an answer in words. Raises `ExchangeOver` after its own answer."""
        if self._is_answered:
            raise ExchangeOver
        return not self._given[-1].is_last

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        """Return the next answer. Raises `ExchangeOver`, `ChangedMeanwhile`, and as `PaidCalls.ask`."""
        if self._is_answered:
            raise ExchangeOver
        self._continue(messages)
        if len(self._given) == len(self._steps):
            self._ask()
        step = self._steps[len(self._given)]
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
            except UNREADABLE as error:
                raise ProviderError(f"The model's answer can't be continued: {error!r}") from error

    def _ask(self) -> None:
        """Ask the real model. The next steps are those of calls that ended meanwhile, then that of this one."""
        exchange, before = self.exchange, self.transcript
        answer, received, after = exchange.calls.ask(exchange.request, self._body, self._event)
        if after is None:
            exchange.received[len(before.model_calls)] = received
            raise ExchangeOver if self._is_for_program(answer) else Conflict(NO_TURN)
        exchange.received[len(after.model_calls) - 1] = received
        own = after.model_calls[-1]
        self.transcript, self._steps = after, list(after.steps())
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


def usable(answer: Answer) -> str | None:
    """Return why an answer of a program's model can't be used, as for a run; None if it can be used."""
    return nok_status(answer, ModelConfig())


def program_ports(
    transcript: Transcript,
    judge: JudgePort | None,
    progress: Callable[[int, int, TurnResult | None], None],
    cancelled: Callable[[], bool],
    known: KnownPort,
) -> Ports:
    """Return the ports of a replay that its program has played."""
    program = RecordedProgram(transcript)
    return Ports(
        model=program,
        draft=ProgramDraft(transcript.instruction, transcript.tools, usable),
        judge=judge,
        progress=progress,
        cancelled=cancelled,
        known=known,
        goes_on=program.goes_on,
    )
