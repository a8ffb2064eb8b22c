"""Answers the tools of a program during a replay, where the program calls them itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import orjson

from app.chat import Answer, Message, ToolCall, ToolDefinition
from app.replay.call_arguments import arguments_of
from app.replay.json_differences import equal
from app.replay.program_transcript import (
    OWN_CALL,
    ModelCall,
    ProgramDraft,
    ProgramEvent,
    ProgramStep,
    ResultFetched,
    Transcript,
    settled_steps,
)
from app.services.replays.program_calls import ExchangeOver, program_nok
from app.values.budget import OverBudget, WorkBudget
from app.values.json import may_be_deep, too_deep


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool has to return, or the message of the error that it has to raise.

    JSON of more than `MAX_DEPTH` levels is returned as text.
    """

    result: Any
    error: str | None


@dataclass(slots=True)
class ToolLookup:
    """The engine's `ModelPort` that finds the result of a tool's call, which the program now makes.

    With `calls_are_answered` the program gets no calls of models, so that each call that it makes is a new one. `store`
    adds to the transcript. The comparisons with the calls of models have `compared_at_once` steps.
    """

    transcript: Transcript
    turn: int
    call: ToolCall
    store: Callable[[ProgramEvent], None]
    calls_are_answered: bool
    compared_at_once: int
    found: ToolResult | None = field(default=None, init=False)
    steps: list[ProgramStep] = field(init=False)
    _given: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.steps = list(self.transcript.steps())

    def skip(self, answers: int) -> None:
        """Let so many of the first answers be given already."""
        self._given = answers

    @property
    def settled(self) -> int:
        """The number of answers that were given and can't change any more."""
        return settled_steps(self.steps, self._given)

    @property
    def given(self) -> int:
        return self._given

    @property
    def draft(self) -> ProgramDraft:
        return ProgramDraft(self.transcript.instruction, self.transcript.tools, program_nok)

    def turn_continues(self) -> bool:
        return not self.steps[self._given - 1].is_last

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        """Return the next answer; raises `ExchangeOver` when the call has its result, which is `found`."""
        if self._given == len(self.steps):
            if called := self._waiting(messages):
                self.store(ResultFetched(self.turn, called.id))
                results = (message.text for message in messages if message.tool_call_id == called.id)
                self.found = _result(next(results))
                raise ExchangeOver
            self._add()
        self._given += 1
        return self.steps[self._given - 1].answer

    def _waiting(self, messages: Sequence[Message]) -> ToolCall | None:
        """Return the first call in the turn without a fetched result: one with equal arguments, else of that name.

        A call with other arguments that the program made itself belongs to another request, which runs now.
        """
        fetched = {event.call_id for event in self.transcript.events if isinstance(event, ResultFetched)}
        turn = max(index for index, message in enumerate(messages) if message.role == "user")
        named = [
            call
            for message in messages[turn:]
            for call in message.tool_calls
            if call.name == self.call.name and call.id not in fetched and self._is_for_program(call)
        ]
        alike = filter(self._is_equal(), named)
        of_models = (call for call in named if not call.id.startswith(OWN_CALL))
        return next(alike, next(of_models, None))

    def _is_equal(self) -> Callable[[ToolCall], bool]:
        """Return whether a call has the arguments that the tool got; False for calls that are too long to compare."""
        budget, sent = WorkBudget(self.compared_at_once), cache(partial(arguments_of, self.call.arguments))

        def is_equal(call: ToolCall) -> bool:
            if call.arguments is self.call.arguments:  # `_add` made it
                return True
            with suppress(OverBudget):
                return equal(arguments_of(call.arguments, budget), sent(), budget)
            return False

        return is_equal

    def _is_for_program(self, call: ToolCall) -> bool:
        return not self.calls_are_answered or call.id.startswith(OWN_CALL)

    def _add(self) -> None:
        """Let the program's own call be one more step of the turn."""
        call = ToolCall(f"{OWN_CALL}{len(self.transcript.events)}", self.call.name, self.call.arguments)
        event = ModelCall(self.turn, Answer("", (call,)))
        self.store(event)
        self.transcript = Transcript((*self.transcript.events, event))
        self.steps.append(ProgramStep(event.answer, None))


def _result(text: str) -> ToolResult:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return ToolResult(text, None)
    if may_be_deep(text) and too_deep(value):
        return ToolResult(text, None)
    is_error = isinstance(value, dict) and value.keys() == {"error"}
    return ToolResult(None, str(value["error"])) if is_error else ToolResult(value, None)
