"""Plays a test case's turns against a draft; the recording answers in the place of the user's tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.chat import Answer, Message, Tokens, ToolCall, ToolDefinition
from app.errors import ProviderError
from app.replay.compare import arguments_of, equal
from app.replay.results import conclude, unplayed, verdicts
from app.replay.types import (
    CaseTurn,
    CheckedAnswer,
    CheckedCall,
    Drift,
    Judgement,
    Ports,
    ProducedAnswer,
    ProducedCall,
    ProducedStep,
    ReplayResult,
    StopReason,
    TestCase,
    TurnResult,
)

UNAVAILABLE = json.dumps({"error": "tool unavailable"})


class Recording:
    """The recorded calls of a session, as one turn of it looks them up; it remembers which are used."""

    def __init__(self, turns: Sequence[CaseTurn], turn: int) -> None:
        self._unused = _calls(turns[turn])
        self._everywhere = [*self._unused, *(step for each in turns for step in _calls(each))]

    def look_up(self, calls: Sequence[ToolCall]) -> list[CheckedCall | None]:
        """Return the recorded call that answers each of `calls`, which the model made at once; None where none does.

        Follows the rules 1 to 3 of docs/reference/gate.md.
        """
        equals = [self._take(call, same_arguments=True) for call in calls]
        return [
            step or self._take(call, same_arguments=False) or self._anywhere(call)
            for call, step in zip(calls, equals, strict=True)
        ]

    def _take(self, call: ToolCall, *, same_arguments: bool) -> CheckedCall | None:
        for index, step in enumerate(self._unused):
            if step.name == call.name and (not same_arguments or _equal_arguments(step, call)):
                return self._unused.pop(index)
        return None

    def _anywhere(self, call: ToolCall) -> CheckedCall | None:
        candidates = (step for step in self._everywhere if step.name == call.name)
        return next((step for step in candidates if _equal_arguments(step, call)), None)


def recorded_past(turns: Sequence[CaseTurn]) -> tuple[Message, ...]:
    """Return the recorded turns as a conversation, without those whose content was not recorded."""
    return tuple(message for index, turn in enumerate(turns) if turn.user for message in _messages(index, turn))


def result_text(step: CheckedCall | None) -> str:
    """Return a tool's result as the model reads it: the recorded text or JSON, or the recorded error."""
    if step is None:
        return UNAVAILABLE
    if step.error is not None:
        return json.dumps({"error": step.error}, ensure_ascii=False)
    return step.result if isinstance(step.result, str) else json.dumps(step.result, ensure_ascii=False)


def offered_tools(
    recorded: Sequence[str | dict[str, Any]] | None, draft: Sequence[ToolDefinition]
) -> tuple[tuple[ToolDefinition, ...], tuple[str, ...]]:
    """Return the tools to offer, and the recorded names that can't be offered any more.

    Recorded names select among the draft's tools, recorded definitions fill in those that the draft lacks,
    nothing recorded offers all of the draft's.
    """
    if recorded is None:
        return tuple(draft), ()
    known = {tool.name: tool for tool in draft}
    offered: dict[str, ToolDefinition] = {}
    gone: dict[str, None] = {}
    for entry in recorded:
        name = entry if isinstance(entry, str) else str(entry.get("name") or "")
        tool = known.get(name) or (_definition(name, entry) if isinstance(entry, dict) and name else None)
        if tool is None:
            gone[name] = None
        else:
            offered.setdefault(name, tool)
    return tuple(offered.values()), tuple(gone)


def _messages(index: int, turn: CaseTurn) -> Iterator[Message]:
    yield Message("user", turn.user or "")
    for n, step in enumerate(turn.steps):
        if step.kind == "tool_call":
            call = ToolCall(f"call_{index}_{n}", step.name, step.arguments)
            yield Message("assistant", "", tool_calls=(call,))
            yield Message("tool", result_text(step), tool_call_id=call.id)
        elif step.text:
            yield Message("assistant", step.text)


def _definition(name: str, entry: dict[str, Any]) -> ToolDefinition:
    parameters = entry.get("parameters")
    return ToolDefinition(name, str(entry.get("description") or ""), parameters if isinstance(parameters, dict) else {})


def _calls(turn: CaseTurn) -> list[CheckedCall]:
    return [step for step in turn.steps if step.kind == "tool_call"]


def _equal_arguments(step: CheckedCall, call: ToolCall) -> bool:
    return equal(arguments_of(step.arguments), arguments_of(call.arguments))


CALLS_PER_ANSWER = 16  # on average; bounds what a model can ask for in one turn

Play = Callable[[int], TurnResult]


def replay(
    case: TestCase, ports: Ports, side_by_side: Callable[[Play, Iterable[int]], Iterable[TurnResult]] = map
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
