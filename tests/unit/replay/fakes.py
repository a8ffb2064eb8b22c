"""Fakes behind the engine's ports; each remembers what it was asked."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.chat import Answer, Message, Tokens, ToolCall, ToolDefinition
from app.replay import pairing
from app.replay.case_types import CaseStep, CaseTurn, Check, CheckedAnswer, CheckedCall, Order, TestCase, ToolRules
from app.replay.checks import Checker, Comparison
from app.replay.effects import resolve
from app.replay.judge_types import JudgedTurn, JudgeFinding, JudgeVerdict, OpenStep, StepJudgement, TurnJudgement
from app.replay.ports import Ports, RenderedDraft, Simulation
from app.replay.recording import RecordedCalls, Recording
from app.replay.result_types import ProducedStep
from app.replay.texts.sources import Sources


@dataclass
class FakeModel:
    """Answers with what `script` returns for the n-th call, n from 0, given all the messages."""

    script: Callable[[int, Sequence[Message]], Answer]
    asked: list[tuple[str, tuple[Message, ...], tuple[ToolDefinition, ...]]] = field(default_factory=list)
    schemas: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        self.asked.append((instruction, tuple(messages), tuple(tools)))
        return self.script(len(self.asked) - 1, messages)

    def structured(self, instruction: str, question: str, schema: dict[str, Any]) -> Answer:
        self.schemas.append(schema)
        return self.answer(instruction, [Message("user", question)], ())


@dataclass
class FakeDraft:
    tools: Sequence[ToolDefinition] = ()
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    versions: Mapping[str | None, frozenset[str]] = field(default_factory=dict)

    @property
    def agent_owns_tools(self) -> bool:
        return not self.tools and not any(self.versions.values())

    def version_tools(self, commit_hash: str | None) -> frozenset[str]:
        return self.versions.get(commit_hash, frozenset())

    def render(self, placeholders: Mapping[str, str]) -> RenderedDraft:
        ignored = [key for key, value in placeholders.items() if value not in self.values.get(key, ())]
        return RenderedDraft(f"Be helpful {sorted(placeholders.items())}", tuple(ignored))

    def nok(self, answer: Answer) -> str | None:
        return f"NOK: {answer.finish_reason}" if answer.finish_reason in ("length", "refused") else None


@dataclass
class FakeJudge:
    verdict: Callable[[str, str], JudgeVerdict] = lambda expected, actual: "passed" if expected == actual else "failed"
    turns: list[JudgedTurn] = field(default_factory=list)

    @property
    def asked(self) -> list[OpenStep]:
        """The steps of all questions."""
        return [step for turn in self.turns for step in turn.steps]

    def judge_turn(self, turn: JudgedTurn) -> TurnJudgement:
        """Give the `verdict` on the texts of each step, with a finding for each failure."""
        self.turns.append(turn)
        return TurnJudgement(tuple(map(self._judged, turn.steps)), Tokens(3, 1))

    def _judged(self, step: OpenStep) -> StepJudgement:
        verdict = self.verdict(step.recorded, step.produced)
        if verdict == "passed":
            return StepJudgement(step.step, "passed")
        finding = JudgeFinding("other", "", "", True, "because")
        return StepJudgement(step.step, verdict, (finding,), "because")

    def simulate(self, call: ToolCall, tool: ToolDefinition | None, examples: Sequence[CheckedCall]) -> Simulation:
        return Simulation({"imagined": len(examples)}, Tokens(3, 1))


def says(text: str, **more: Any) -> Answer:
    return Answer(text, tokens=Tokens(10, 2), **more)


def calls(*named: tuple[str, Any], text: str = "") -> Answer:
    made = tuple(ToolCall(f"id{n}", name, arguments) for n, (name, arguments) in enumerate(named))
    return Answer(text, made, tokens=Tokens(10, 2), finish_reason="tool_calls")


def call(name: str, given: Any = None, result: Any = "ok", error: str | None = None, **check: Any) -> CaseStep:
    return CheckedCall(name=name, arguments=given, result=result, error=error, check=Check(**check))


def answer(text: str, **check: Any) -> CaseStep:
    return CheckedAnswer(text=text, check=Check(**check))


def turn(user: str | None, *steps: CaseStep, **more: Any) -> CaseTurn:
    return CaseTurn(user=user, steps=steps, **more)


def scripted(*answers: Answer) -> FakeModel:
    return FakeModel(lambda n, messages: answers[n])


def ports(model: Any, **more: Any) -> Ports:
    return Ports(model, more.pop("draft", None) or FakeDraft(), more.pop("judge", None) or FakeJudge(), **more)


def compare(step: CaseStep, produced: ProducedStep) -> Comparison:
    return Checker({}, Sources).compare(step, produced)


def pair(steps: Sequence[CaseStep], produced: Sequence[ProducedStep], order: Order) -> dict[int, int]:
    """Pair the steps of a turn with a model that made these calls one by one."""
    checker = Checker({}, Sources)
    recording = Recording(RecordedCalls([turn("?", *steps)]), steps, 0, checker)
    for each in produced:
        if each.kind == "tool_call":
            tool = resolve(each.name, ToolRules(), None, None)
            made = ToolCall("", each.name, each.arguments)
            recording.answer_calls([(made, tool)], [True], recording.keys_of([made]))
    numbers = [index for index, each in enumerate(produced) if each.kind == "tool_call"]
    accepted = dict(zip(numbers, recording.accepted, strict=True))
    return pairing.pair(steps, produced, order, checker, accepted)


class Parrot:
    """Repeats the recording: the calls of the turn in one order, `at_once` or one by one, then the answer."""

    def __init__(self, case: TestCase, at_once: bool, seed: int | None = None) -> None:
        self._case = case
        self._at_once = at_once
        self._seed = seed

    def __call__(self, n: int, messages: Sequence[Message]) -> Answer:
        asked = [place for place, message in enumerate(messages) if message.role == "user"]
        turn = self._case.turns[len(asked) - 1]
        made = [step for step in turn.steps if step.kind == "tool_call"]
        if self._seed is not None:
            made = random.Random(f"{self._seed} {turn}").sample(made, len(made))
        done = sum(message.role == "tool" for message in messages[asked[-1] :])
        todo = made[done:] if self._at_once else made[done : done + 1]
        if not todo:
            last = turn.steps[-1] if turn.steps else None
            return says(last.text if isinstance(last, CheckedAnswer) else "")
        return Answer("", tuple(ToolCall(f"c{at}", step.name, step.arguments) for at, step in enumerate(todo)))
