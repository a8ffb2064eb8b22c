"""A replay of a program that is not part of Reprise: what it asked models, and its answers, in their order.

The same engine as for prompts plays the turns from this record, so that the verdicts are made in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import structs

from app.chat import Answer, Message, ToolDefinition
from app.errors import ProviderError
from app.replay.case_types import Fidelity, Missing, OnMissing, TestCase
from app.replay.ports import RenderedDraft
from app.replay.stored_replies import StoredReply
from app.values.structs import convert, decode


class ModelCall(msgspec.Struct, frozen=True, tag="model", rename="camel"):
    """A model's answer. `instruction` and `tools` are empty where the request had those of an earlier call."""

    turn: int
    answer: Answer
    instruction: str = ""
    tools: tuple[ToolDefinition, ...] = ()


class OtherCall(msgspec.Struct, frozen=True, tag="other", rename="camel"):
    """A call that is no chat, such as one for embeddings."""

    turn: int
    path: str
    model: str


class ProgramAnswer(msgspec.Struct, frozen=True, tag="answer", rename="camel"):
    """What the program answered, which ends a turn."""

    turn: int
    text: str


class ResultFetched(msgspec.Struct, frozen=True, tag="asked", rename="camel"):
    """The program's tool has fetched the result of this call."""

    turn: int
    call_id: str


class TurnStopped(msgspec.Struct, frozen=True, tag="stopped", rename="camel"):
    """The turn can't go on, so that the replay ends with it."""

    turn: int
    reason: str


ProgramEvent = ModelCall | OtherCall | ProgramAnswer | ResultFetched | TurnStopped
OWN_CALL = "program_"
"""What the ids of calls begin with that the program made without a model."""


class ProgramStep(NamedTuple):
    """An answer in a replay; the last one ends a turn. `place` counts calls of models, None if no model wrote it."""

    answer: Answer
    place: int | None
    is_last: bool = False


def settled_steps(steps: Sequence[ProgramStep], given: int) -> int:
    """Return how many of the `given` first steps can't change any more.

    What the program answers may replace the last step, unless it calls tools or ends its turn.
    """
    is_open = given == len(steps) > 0 and not (steps[-1].is_last or steps[-1].answer.tool_calls)
    return given - is_open


@dataclass(frozen=True, slots=True)
class Transcript:
    """What happened so far in the replay of a program, and the replies to the calls of tools in it."""

    events: Sequence[ProgramEvent] = ()
    replies: Sequence[StoredReply | None] = ()

    @property
    def model_calls(self) -> list[ModelCall]:
        return [event for event in self.events if isinstance(event, ModelCall)]

    @property
    def instruction(self) -> str:
        return next((call.instruction for call in self.model_calls if call.instruction), "")

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """All tools that the program offered, each as it was first defined."""
        defined: dict[str, ToolDefinition] = {}
        for call in self.model_calls:
            for tool in call.tools:
                defined.setdefault(tool.name, tool)
        return tuple(defined.values())

    def calls_in(self, turn: int) -> list[ModelCall]:
        return [call for call in self.model_calls if call.turn == turn]

    def steps(self) -> Iterator[ProgramStep]:
        """Yield the answers in order. What the program answers replaces what the last model wrote in the turn."""
        waiting: ProgramStep | None = None
        place = 0
        for event in self.events:
            if isinstance(event, ModelCall):
                if waiting:
                    yield waiting
                waiting, place = ProgramStep(event.answer, place), place + 1
            elif isinstance(event, ProgramAnswer):
                if waiting and waiting.answer.tool_calls:
                    yield waiting
                    waiting = None
                last = waiting or ProgramStep(Answer(""), None)
                yield ProgramStep(replace(last.answer, text=event.text, refusal=None), last.place, is_last=True)
                waiting = None
        if waiting:
            yield waiting


def earlier_transcript(written: bytes) -> Transcript:
    """Return the transcript that a release before 0046 stored as one JSON list of events.

    Its events of the type `begun`, for calls that failed or did not end, are left out: this release has none.
    """
    events = [event for event in decode(written, list[dict[str, Any]]) if event["type"] != "begun"]
    return Transcript(convert(events, list[ProgramEvent]))


def program_case(case: TestCase) -> TestCase:
    """Return a test case as a program can play it.

    A program keeps the conversation itself, so that each turn follows its own earlier answers. No model imagines
    results, because the program has to get the same ones that are judged later.
    """
    earlier = [
        Missing(kind="history", turn=number, message="a program can't be shown what came before its recording")
        for number, turn in enumerate(case.turns)
        if turn.earlier
    ]
    recorded = case.fidelity.missing if case.fidelity else ()
    # The instruction is the program's own.
    missing = (*(gap for gap in recorded if gap.kind != "instruction"), *earlier)
    rules = {
        name: structs.replace(rules, on_missing=rules.on_missing and _answerable(rules.on_missing))
        for name, rules in case.tools.items()
    }
    return structs.replace(
        case,
        history="replayed",
        on_missing=_answerable(case.on_missing),
        tools=rules,
        fidelity=Fidelity(missing=missing),
    )


def is_void(case: TestCase) -> bool:
    """Return whether a program can't be shown what the recorded one saw, so that nothing is played."""
    missing = case.fidelity.missing if case.fidelity else ()
    shown = (gap.turn >= len(case.played_turns) or gap.kind == "tool_definitions" for gap in missing)
    return not (case.accept_partial or all(shown))


def _answerable(on_missing: OnMissing) -> OnMissing:
    return "error" if on_missing == "simulate" else on_missing


@dataclass(frozen=True, slots=True)
class ProgramDraft:
    """The engine's `DraftPort` for a program: its own instruction and tools. `nok_of` implements `DraftPort.nok`."""

    instruction: str
    tools: Sequence[ToolDefinition]
    nok_of: Callable[[Answer], str | None]
    agent_owns_tools: Literal[False] = False

    def nok(self, answer: Answer) -> str | None:
        return self.nok_of(answer)

    def version_tools(self, _commit_hash: str | None) -> frozenset[str]:
        return frozenset()

    def render(self, placeholders: Mapping[str, str]) -> RenderedDraft:
        return RenderedDraft(self.instruction)


@dataclass(slots=True)
class RecordedProgram:
    """The engine's `ModelPort` on what a program did."""

    transcript: Transcript
    _steps: Iterator[ProgramStep] = field(init=False)
    _turn_continues: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._steps = self.transcript.steps()

    def turn_continues(self) -> bool:
        """Return whether the program did more in the turn after the last answer."""
        return self._turn_continues

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        """Return the next answer; raises `ProviderError` where the program did no more."""
        step = next(self._steps, None)
        if step is None:
            raise ProviderError("The program did not answer this turn.")
        self._turn_continues = not step.is_last
        return step.answer
