"""The types of a judge's question about a turn, and of its judgement (docs/reference/gate.md)."""

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
    """A step that no rule decides: its recorded and its produced text may mean the same.

    `step` is its index in the turn. For the kind "arguments" the texts are JSON, and `tool` is the name of the tool.
    The question is whether the texts mean the same, unless the step has one of these:

    - With an `assertion`, it is whether the produced text satisfies the assertion.
    - With a `result`, it is whether this recorded result answers a read that has other arguments.
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
    """A turn as a judge reads it: what the candidate knew and did, and the steps to decide.

    `instruction` is the rendered instruction of the candidate. `conversation` has the messages before the message
    `user`.
    """

    instruction: str
    conversation: tuple[Message, ...]
    user: str
    calls: tuple[JudgedCall, ...]
    steps: tuple[OpenStep, ...]


class JudgeFinding(msgspec.Struct, frozen=True, rename="camel"):
    """A difference that a judge found, with its quotes of both texts; a quote may be "".

    `matters` is true if the difference is a reason to fail. `why` explains that.
    """

    kind: FindingKind
    recorded: str
    produced: str
    matters: bool
    why: str


@dataclass(frozen=True, slots=True)
class StepJudgement:
    """A judge's verdict on a step. `reason` explains it; it may be "" for a step that passed.

    A verdict that `is_earlier` was given on the same texts in an earlier replay, by a judge or a person. `digest`
    identifies the texts, so that a person's verdict on them can be stored; None if it must not be.
    """

    step: int
    verdict: JudgeVerdict
    findings: tuple[JudgeFinding, ...] = ()
    reason: str = ""
    is_earlier: bool = False
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class TurnJudgement:
    """The verdicts on all steps of a `JudgedTurn`, in their order, and the tokens of all questions."""

    steps: tuple[StepJudgement, ...]
    tokens: Tokens = Tokens()
