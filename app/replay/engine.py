"""Plays a test case's turns against a draft, with the recording in the place of the user's tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from app.chat import Answer, Message, Tokens, ToolDefinition
from app.errors import ProviderError
from app.replay.conversation import offered_tools, recorded_past, result_text
from app.replay.ports import Judgement, Ports
from app.replay.recording import Recording
from app.replay.results import conclude, included, unplayed
from app.replay.types import (
    CaseStep,
    Drift,
    Produced,
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
    """Plays all included turns. Never raises `ProviderError`: that is a result.

    Turns with a `recorded` history do not depend on each other: `side_by_side` (say, the `map` of a thread
    pool) plays them, and then the ports are called from its threads.
    """
    places = range(included(case))
    done = dict.fromkeys(places, 0)
    if case.history == "recorded":
        results = side_by_side(lambda place: _Turn(case, place, ports, done).play(), places)
        return conclude(case, dict(zip(places, results, strict=True)))
    past: list[Message] = []
    played: dict[int, TurnResult] = {}
    for place in places:
        turn = _Turn(case, place, ports, done, past)
        played[place] = turn.play()
        past = turn.messages
        if played[place].stop_reason:
            break
    return conclude(case, played)


class _Stop(Exception):
    """The turn ends before the model has answered; the second argument is for people."""

    def __init__(self, reason: StopReason, words: str) -> None:
        super().__init__(words)
        self.reason: StopReason = reason


class _Turn:
    """One turn being played; `done` counts recorded steps by turn and is shared by the whole replay."""

    def __init__(
        self,
        case: TestCase,
        place: int,
        ports: Ports,
        done: dict[int, int],
        past: Sequence[Message] | None = None,
    ) -> None:
        self.messages = list(recorded_past(case.turns[:place]) if past is None else past)
        self._case = case
        self._place = place
        self._turn = case.turns[place]
        self._ports = ports
        self._done = done
        self._recording = Recording(case.turns, place)
        self._produced: list[Produced] = []
        self._tokens = Tokens()
        self._judge_tokens = Tokens()

    def play(self) -> TurnResult:
        """One verdict for each recorded step, whatever happens but a bug."""
        if not self._turn.user:
            result = unplayed(self._turn, "what the user said was not recorded", "no_user_text")
        else:
            result = self._played(self._turn.user)
        self._report(len(self._turn.steps), result)
        return result

    def _played(self, user: str) -> TurnResult:
        selection = self._turn.placeholders or {}
        rendered = self._ports.draft.render(selection)
        tools, gone = offered_tools(self._turn.offered_tools, self._ports.draft.tools)
        drift = Drift({key: selection[key] for key in rendered.ignored if key in selection}, gone)
        self.messages.append(Message("user", user))
        try:
            self._converse(rendered.instruction, tools)
        except _Stop as stop:
            return replace(self._result(str(stop), stop.reason), drift=drift)
        except ProviderError as problem:
            words = "the model's provider failed"
            return replace(self._result(words, "provider_error"), drift=drift, error=str(problem))
        return replace(self._result(None, None), drift=drift)

    def _converse(self, instruction: str, tools: Sequence[ToolDefinition]) -> None:
        """Until the model answers without calling a tool; raises _Stop when it never gets there."""
        limit = max(8, 2 * sum(step.kind == "tool_call" for step in self._turn.steps))
        for _ in range(limit):
            if self._ports.cancelled():
                raise _Stop("cancelled", "the replay was cancelled")
            answer = self._ports.model.answer(instruction, tuple(self.messages), tools)
            self._tokens += answer.tokens
            text = answer.text or answer.refusal or ""
            said = Message("assistant", text, tool_calls=answer.tool_calls, vendor_state=answer.vendor_state)
            self.messages.append(said)
            if not answer.tool_calls:
                self._produced.append(Produced("answer", text=text))
                return
            self._answer_calls(answer)
            self._report(min(len(self._produced), len(self._turn.steps)), None)
            if len(self._produced) >= limit * CALLS_PER_ANSWER:
                break
        raise _Stop("step_limit", f"the model did not answer within {limit} calls")

    def _answer_calls(self, answer: Answer) -> None:
        found = self._recording.look_up(answer.tool_calls)
        unknown = None
        for call, step in zip(answer.tool_calls, found, strict=True):
            text = result_text(step)
            self._produced.append(Produced("tool_call", call.name, call.arguments, text))
            self.messages.append(Message("tool", text, tool_call_id=call.id))
            unknown = unknown or (call.name if step is None else None)
        if unknown is not None and self._case.on_missing == "stop":
            raise _Stop("missing_result", f"the recording has no result for a call of {unknown}")

    def _result(self, words: str | None, reason: StopReason | None) -> TurnResult:
        played_out = reason in (None, "step_limit")
        steps, extra = verdicts(
            self._turn.steps, self._produced, self._case.order, self._ask, None if played_out else words
        )
        return TurnResult(self._turn.user, steps, extra, reason, tokens=self._tokens, judge_tokens=self._judge_tokens)

    def _ask(self, step: CaseStep, actual: str) -> Judgement:
        assertion = step.check.value if isinstance(step.check.value, str) else self._case.assertion_value
        try:
            judgement = self._ports.judge.judge(assertion or "", step.text, actual, self._turn.user or "")
        except ProviderError as problem:
            return Judgement("needs_review", f"the judge failed: {problem}")
        self._judge_tokens += judgement.tokens
        return judgement

    def _report(self, done: int, result: TurnResult | None) -> None:
        self._done[self._place] = done
        total = sum(len(self._case.turns[place].steps) for place in self._done)
        self._ports.progress(sum(self._done.values()), total, result)
