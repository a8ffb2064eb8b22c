"""A scene: a test case, the draft's tools, and what a scripted model answers and calls in each turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

from app.chat import Answer, Message, ToolCall, ToolDefinition
from app.replay.case_types import CaseTurn, CheckedAnswer, CheckedCall, TestCase
from app.replay.effects import Tool, tools_of
from app.replay.engine import replay
from app.replay.ports import Ports
from app.replay.result_types import ReplayResult
from tests.unit.replay.fakes import FakeDraft, FakeJudge


@dataclass(frozen=True)
class Call:
    name: str
    arguments: Any


Round = tuple[Call, ...]


@dataclass(frozen=True)
class Said:
    """The model's part in a turn: rounds of calls, a text with each, and the answer."""

    rounds: tuple[Round, ...]
    answer: str
    aside: str = ""


@dataclass(frozen=True)
class Scene:
    case: TestCase
    tools: tuple[ToolDefinition, ...]
    turns: tuple[Said, ...]

    def with_turn(self, index: int, **changes: Any) -> Scene:
        changed = replace(self.turns[index], **changes)
        return replace(self, turns=(*self.turns[:index], changed, *self.turns[index + 1 :]))

    def is_write(self, name: str) -> bool:
        return self._tools[name].effect == "write"

    @cached_property
    def _tools(self) -> dict[str, Tool]:
        return tools_of(self.case, self.tools)


def scene_of(case: TestCase) -> Scene:
    """The scene in which the model repeats the recording; the draft defines the tools that were called or offered."""
    names = tools_of(case, ())
    tools = tuple(ToolDefinition(name, parameters=tool.schema) for name, tool in names.items())
    return Scene(case, tools, tuple(map(_said, case.turns)))


def _said(turn: CaseTurn) -> Said:
    made = [step for step in turn.steps if isinstance(step, CheckedCall)]
    rounds = [tuple(Call(step.name, step.arguments) for step in group) for _, group in groupby(made, _round)]
    answers = [step.text for step in turn.steps if isinstance(step, CheckedAnswer)]
    return Said(tuple(rounds), answers[-1] if answers else "")


def _round(step: CheckedCall) -> str | int:
    return step.batch or id(step)


@dataclass(frozen=True)
class ScriptedModel:
    """Plays its turns whatever the tools answer; a turn is known by the user's messages, a round by the model's own."""

    turns: Sequence[Said]

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        asked = [place for place, message in enumerate(messages) if message.role == "user"]
        said = self.turns[len(asked) - 1]
        done = sum(message.role == "assistant" for message in messages[asked[-1] :])
        if done >= len(said.rounds):
            return Answer(said.answer)
        calls = tuple(ToolCall(f"c{done}.{n}", call.name, call.arguments) for n, call in enumerate(said.rounds[done]))
        return Answer(said.aside, calls)


def play(scene: Scene, *, right: bool, judge: bool) -> ReplayResult:
    """Replay a scene; the judge, if there is one, finds worded answers right or wrong as `right` decides."""
    versions: dict[str | None, frozenset[str]] = {None: frozenset(tools_of(scene.case, ()))}
    draft = FakeDraft(scene.tools, versions=versions)
    asked = FakeJudge(lambda expected, actual: "passed" if right else "failed") if judge else None
    return replay(scene.case, Ports(ScriptedModel(scene.turns), draft, asked))


def calls_of(scene: Scene) -> Iterator[tuple[int, int, int, Call]]:
    """Every call with its turn, round and place."""
    for turn, said in enumerate(scene.turns):
        for number, calls in enumerate(said.rounds):
            for place, call in enumerate(calls):
                yield turn, number, place, call
