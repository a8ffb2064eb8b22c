"""Recorded conversations with which the gate is measured, and which its rules were not built on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from app.audit.probes import Labelled, ProbedCase
from app.chat import ToolDefinition
from app.errors import Invalid
from app.replay.case_types import DeclaredEffect, TestCase
from app.replay.effects import tools_of
from tests.gate.built import BUILT, exported
from tests.gate.cases import RECORDINGS, case_of
from tests.gate.conversations import CONVERSATIONS, Call, Conversation, Turn

HERE = Path(__file__).parent
EXPORTS = HERE.parent / "data" / "otlp"


@dataclass(frozen=True)
class Source:
    """A recorded session: its test case, the instruction and the tools of the draft that plays it.

    `of` names the set of recordings that it is from. `proposed` are effects that a model proposes and no person has
    confirmed.
    """

    of: str
    name: str
    case: TestCase
    instruction: str
    tools: tuple[ToolDefinition, ...]
    labelled: tuple[Labelled, ...] = ()
    proposed: Mapping[str, DeclaredEffect] = field(default_factory=dict)

    def probed(self, number: int) -> ProbedCase:
        return ProbedCase(number, self.case, self.instruction, self.labelled)


@cache
def sources() -> tuple[Source, ...]:
    """Return all recordings: the unseen conversations, those of the gate's table, and the exports of SDKs."""
    return (*_unseen(), *_of_the_table(), *_exports())


def _unseen() -> Iterator[Source]:
    for path in sorted((HERE / "unseen").glob("*.json")):
        yield read_source("unseen", path.stem, orjson.loads(path.read_bytes()))


def read_source(of: str, name: str, document: dict[str, Any]) -> Source:
    """Return the recorded session of a document, which has the instruction, the tools and the turns of an agent."""
    conversation = Conversation(
        document["instruction"],
        tuple(Turn(turn["user"], turn["answer"], tuple(map(_calls, turn["rounds"]))) for turn in document["turns"]),
    )
    case = case_of(exported(conversation, tool_spans=True))
    tools = tuple(ToolDefinition(**tool) for tool in document["tools"])
    labelled = tuple(_labelled(case, document["turns"]))
    return Source(of, name, case, conversation.instruction, tools, labelled)


def _calls(calls: list[dict[str, Any]]) -> tuple[Call, ...]:
    return tuple(Call(call["name"], call["arguments"], call.get("result"), call.get("error")) for call in calls)


def _labelled(case: TestCase, turns: list[dict[str, Any]]) -> Iterator[Labelled]:
    for index, turn in enumerate(turns):
        step = len(case.turns[index].steps) - 1
        for key, accepted in (("accepted", True), ("refused", False)):
            if key in turn:
                yield Labelled(index, step, turn[key], accepted)


def _of_the_table() -> Iterator[Source]:
    for name, conversation in BUILT.items():
        case = case_of(exported(conversation, tool_spans=True))
        yield Source("table", name, case, conversation.instruction, _tools(case))
    for path in sorted(RECORDINGS.glob("*.json")):
        case = case_of(path.read_bytes())
        instruction = CONVERSATIONS[path.stem.partition(".")[0]].instruction
        yield Source("table", path.stem, case, instruction, _tools(case))


def _exports() -> Iterator[Source]:
    for path in sorted(EXPORTS.glob("*.json")):
        if path.name == "expected.json":
            continue
        try:
            case = case_of(path.read_bytes())
        except Invalid:
            continue
        if any(turn.user and turn.steps for turn in case.turns):
            yield Source("exports", path.stem, case, "", _tools(case))


def _tools(case: TestCase) -> tuple[ToolDefinition, ...]:
    return tuple(ToolDefinition(name, parameters=tool.schema) for name, tool in tools_of(case, ()).items())
