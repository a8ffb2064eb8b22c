"""Answers the calls of a program's models during a replay: asks the real model, and answers its tools' calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.chat import TOKEN_COUNTS, Answer, Message, ToolDefinition
from app.concurrency import deadline
from app.models.language_models import LanguageModel
from app.providers.passing.wire import Body, NoChat, PassedOn, PassingWire, Results
from app.providers.types import ModelConfig, ModelRef, ModelRequest, ProviderPort
from app.providers.vendors import VENDORS
from app.replay.findings import TurnResult
from app.replay.ports import JudgePort, KnownPort, Ports
from app.replay.program import ModelCall, ProgramDraft, ProgramEvent, ProgramStep, RecordedProgram, Transcript
from app.services.language_models.credentials import CredentialService
from app.services.prompts.content import ref_of
from app.services.runs.outcome import cost_of, nok_status


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
    """The real model of a request; `known` is its row, None for a model that the instance does not know."""

    organization_id: int
    known: LanguageModel | None
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

    def usage(self, answer: Answer) -> dict[str, float]:
        """Return the columns of a replay that the call adds to. An unknown model's price is unknown."""
        usage = {f"{name}_tokens": float(getattr(answer.tokens, name)) for name in TOKEN_COUNTS}
        if self.known is None:
            return usage
        cost = cost_of(self.known, answer.tokens)
        return usage | {"prompt_cost_usd": float(cost.prompt), "completion_cost_usd": float(cost.completion)}


def model_of(rows: Sequence[LanguageModel], wire: PassingWire) -> LanguageModel | None:
    """Return the model that a program names, if a vendor that speaks its format serves it."""
    spoken = VENDORS[wire.vendor].wire
    rows = [row for row in rows if row.usable and row.vendor in VENDORS and VENDORS[row.vendor].wire == spoken]
    return next(iter(rows), None)


class ExchangeOver(Exception):
    """The program gets the last answer: the model used words, or the program's own tools are called."""


@dataclass(slots=True)
class Exchange:
    """One request of a program, and the JSON of the model's answers by their places among the replay's model calls.

    `unstored` is an answer that is not stored yet.
    """

    request: ProgramRequest
    received: dict[int, Any] = field(default_factory=dict)
    unstored: tuple[Answer, Any] | None = None

    @property
    def last(self) -> Any:
        return self.received[max(self.received)]


@dataclass(slots=True)
class LiveProgram:
    """The engine's `ModelPort` on a program's request: stored answers first, then those of the real model.

    `store` adds a model's call to the transcript. With `calls_are_answered` the program gets no calls of its tools.
    """

    transcript: Transcript
    exchange: Exchange
    upstream: Upstream
    store: Callable[[ProgramEvent, Mapping[str, float]], None]
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
        return ProgramDraft(instruction, (*known.tools, *self._new_tools()), usable)

    def goes_on(self) -> bool:
        """Return whether more of the turn follows an answer in words. Raises `ExchangeOver` after its own answer."""
        if self._is_answered:
            raise ExchangeOver
        return not self._given[-1].is_last

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        """Return the next answer. Raises `ExchangeOver`, `ProviderError` and `ChangedMeanwhile`."""
        if self._is_answered:
            raise ExchangeOver
        self._continue(messages)
        if len(self._given) == len(self._steps):
            self._steps.append(self._asked())
        step = self._steps[len(self._given)]
        self._given.append(step)
        return step.answer

    def _continue(self, messages: Sequence[Message]) -> None:
        """Add the last answer, if this request got it, and the results of its calls to what the model is asked next."""
        last = self._given[-1] if self._given else None
        if last and last.place in self.exchange.received and last.answer.tool_calls:
            results = [message.text for message in messages[-len(last.answer.tool_calls) :]]
            received = self.exchange.received[last.place]
            self._body = self.exchange.request.wire.continued(self._body, Results(received, results))

    def _asked(self) -> ProgramStep:
        exchange, request = self.exchange, self.exchange.request
        if exchange.unstored is None:
            exchange.unstored = self.upstream.ask(request, request.wire.path(request.model), self._body)
        answer, received = exchange.unstored
        calls = tuple(replace(call, vendor_state=None) for call in answer.tool_calls)
        kept = replace(answer, tool_calls=calls, vendor_state=None)
        place = len(self.transcript.model_calls)
        instruction = "" if self.transcript.instruction else request.instruction
        call = ModelCall(self.transcript.turn, kept, instruction, tuple(self._new_tools()))
        self.store(call, self.upstream.usage(answer))
        self.transcript = Transcript((*self.transcript.events, call))
        exchange.unstored, exchange.received[place] = None, received
        self._is_answered = not (calls and self.calls_are_answered)
        return ProgramStep(kept, place)

    def _new_tools(self) -> Iterator[ToolDefinition]:
        known = {tool.name for tool in self.transcript.tools}
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
