"""What a judge reads of a turn, and what it decides (docs/reference/gate.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from app.chat import Message, Tokens

OpenStepKind = Literal["answer", "arguments"]
JudgeVerdict = Literal["passed", "failed", "needs_review"]
FindingKind = Literal[
    "missing",
    "added",
    "contradicts",
    "unsupported",
    "against_instruction",
    "leaks",
    "language",
    "format",
    "refusal",
    "other",
]


@dataclass(frozen=True, slots=True)
class StepEvidence:
    """What rules found in the two texts of a step.

    `kept`, `lost` and `invented` are values, such as amounts and dates. `differences` are sentences about arguments,
    such as "order: the items of a list are in another order".
    """

    kept: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenStep:
    """A step with two texts that differ in a way that only a reader can weigh.

    `step` is its index in the turn. For the kind "arguments" the texts are JSON and `tool` is the tool's name. With an
    `assertion` the question is whether the produced text satisfies it. With a recorded `result` it is whether that
    answers a read with other arguments.
    """

    step: int
    kind: OpenStepKind
    tool: str | None
    recorded: str
    produced: str
    evidence: StepEvidence = StepEvidence()
    assertion: str = ""
    result: str = ""


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """A tool call of the candidate in the turn, and the text that answered it."""

    name: str
    arguments: Any
    result: str


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """All that a judge reads: what the candidate knew and did in a turn, and the steps to decide.

    `instruction` is the candidate's, rendered. `conversation` are the messages before `user`.
    """

    instruction: str
    conversation: tuple[Message, ...]
    user: str
    calls: tuple[JudgedCall, ...]
    steps: tuple[OpenStep, ...]


class JudgeFinding(msgspec.Struct, frozen=True, rename="camel"):
    """One thing in which the produced text differs, with the judge's quotes of both texts; "" where it quotes none.

    `matters` is true if the difference is a reason to fail.
    """

    kind: FindingKind
    recorded: str
    produced: str
    matters: bool
    why: str


@dataclass(frozen=True, slots=True)
class StepJudgement:
    """A judge's verdict on a step. `reason` explains it; it may be "" for one that has passed.

    A `known` verdict is an earlier one on the same texts. A person's verdict on the step is remembered by `digest`,
    unless that is None.
    """

    step: int
    verdict: JudgeVerdict
    findings: tuple[JudgeFinding, ...] = ()
    reason: str = ""
    known: bool = False
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class TurnJudgement:
    """The verdicts on all steps of a `JudgedTurn`, in their order, and the tokens of all questions."""

    steps: tuple[StepJudgement, ...]
    tokens: Tokens = Tokens()
