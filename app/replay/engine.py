"""Plays a test case's turns against a draft; the recording answers in the place of the user's tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from app.chat import Answer, Message, Tokens, ToolDefinition
from app.errors import ProviderError
from app.replay.conversation import Recording, offered_tools, recorded_past, result_text
from app.replay.ports import Judgement, Ports
from app.replay.results import conclude, unplayed
from app.replay.types import (
    CaseTurn,
    CheckedAnswer,
    Drift,
    ProducedAnswer,
    ProducedCall,
    ProducedStep,
    ReplayResult,
    StopReason,
    TestCase,
    TurnResult,
)
from app.replay.verdicts import verdicts

CALLS_PER_ANSWER = 16  # on average; bounds what a model can ask for in one turn

Play = Callable[[int], TurnResult]


def replay(
    case: TestCase,
    ports: Ports,
    side_by_side: Callable[[Play, Iterable[int]], Iterable[TurnResult]] = map,
) -> ReplayResult:
    """Play all included turns. Never raises `ProviderError`, which is a result.

    Turns with a `recorded` history do not depend on each other: `side_by_side` (say, the `map` of a thread
    pool) plays them, and then the ports are called from its threads.
    """
    indexes = range(len(case.played))
    done = dict.fromkeys(indexes, 0)
    if case.history == "recorded":

        def play(index: int) -> TurnResult:
            return _TurnPlayer(case, index, ports, done, list(recorded_past(case.turns[:index]))).play()

        return conclude(case, dict(zip(indexes, side_by_side(play, indexes), strict=True)))
    messages: list[Message] = []
    played: dict[int, TurnResult] = {}
    for index in indexes:
        played[index] = _TurnPlayer(case, index, ports, done, messages).play()
        if played[index].stop_reason:
            break
    return conclude(case, played)


class _Stop(Exception):
    """The turn ends before the model has answered; the message is for people."""

    def __init__(self, reason: StopReason, message: str) -> None:
        super().__init__(message)
        self.reason: StopReason = reason


@dataclass(slots=True)
class _TurnPlayer:
    """Plays one turn: appends to `messages`, and counts in `done`, which the replay shares, its recorded steps."""

    case: TestCase
    index: int
    ports: Ports
    done: dict[int, int]
    messages: list[Message]
    turn: CaseTurn = field(init=False)
    recording: Recording = field(init=False)
    produced: list[ProducedStep] = field(default_factory=list)
    drift: Drift = Drift()
    tokens: Tokens = Tokens()
    judge_tokens: Tokens = Tokens()

    def __post_init__(self) -> None:
        self.turn = self.case.turns[self.index]
        self.recording = Recording(self.case.turns, self.index)

    def play(self) -> TurnResult:
        """Return one verdict for each recorded step, however the turn ends."""
        if not self.turn.user:
            result = unplayed(self.turn, "what the user said was not recorded", "no_user_text")
        else:
            result = self._played(self.turn.user)
        self._report(len(self.turn.steps), result)
        return result

    def _played(self, user: str) -> TurnResult:
        selection = self.turn.placeholders or {}
        rendered = self.ports.draft.render(selection)
        tools, gone = offered_tools(self.turn.offered_tools, self.ports.draft.tools)
        self.drift = Drift({key: selection[key] for key in rendered.ignored if key in selection}, gone)
        self.messages.append(Message("user", user))
        try:
            self._converse(rendered.instruction, tools)
        except _Stop as stop:
            return self._result(str(stop), stop.reason)
        except ProviderError as problem:
            return self._result("the model's provider failed", "provider_error", str(problem))
        return self._result()

    def _converse(self, instruction: str, tools: Sequence[ToolDefinition]) -> None:
        """Call the model until it answers without calling a tool. Raises _Stop when it never gets there."""
        limit = max(8, 2 * sum(step.kind == "tool_call" for step in self.turn.steps))
        for _ in range(limit):
            if self.ports.cancelled():
                raise _Stop("cancelled", "the replay was cancelled")
            answer = self.ports.model.answer(instruction, tuple(self.messages), tools)
            self.tokens += answer.tokens
            text = answer.text or answer.refusal or ""
            self.messages.append(
                Message("assistant", text, tool_calls=answer.tool_calls, vendor_state=answer.vendor_state)
            )
            if not answer.tool_calls:
                self.produced.append(ProducedAnswer(text))
                return
            self._answer_calls(answer)
            self._report(min(len(self.produced), len(self.turn.steps)), None)
            if len(self.produced) >= limit * CALLS_PER_ANSWER:
                break
        raise _Stop("step_limit", f"the model did not answer within {limit} calls")

    def _answer_calls(self, answer: Answer) -> None:
        found = self.recording.look_up(answer.tool_calls)
        unknown = None
        for call, step in zip(answer.tool_calls, found, strict=True):
            text = result_text(step)
            self.produced.append(ProducedCall(call.name, call.arguments, text))
            self.messages.append(Message("tool", text, tool_call_id=call.id))
            unknown = unknown or (call.name if step is None else None)
        if unknown is not None and self.case.on_missing == "stop":
            raise _Stop("missing_result", f"the recording has no result for a call of {unknown}")

    def _result(
        self, message: str | None = None, reason: StopReason | None = None, error: str | None = None
    ) -> TurnResult:
        not_reached = None if reason in (None, "step_limit") else message
        steps, extra = verdicts(self.turn.steps, self.produced, self.case.order, self._ask, not_reached)
        return TurnResult(self.turn.user, steps, extra, reason, self.drift, self.tokens, self.judge_tokens, error)

    def _ask(self, step: CheckedAnswer, actual: str) -> Judgement:
        assertion = step.check.value if isinstance(step.check.value, str) else self.case.assertion_value
        try:
            judgement = self.ports.judge.judge(assertion or "", step.text, actual, self.turn.user or "")
        except ProviderError as problem:
            return Judgement("needs_review", f"the judge failed: {problem}")
        self.judge_tokens += judgement.tokens
        return judgement

    def _report(self, done: int, result: TurnResult | None) -> None:
        self.done[self.index] = done
        total = sum(len(self.case.turns[index].steps) for index in self.done)
        self.ports.progress(sum(self.done.values()), total, result)
