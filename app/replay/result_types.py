"""Results of replays (docs/reference/gate.md). Each struct describes its stored JSON, too."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec
from msgspec import UNSET

from app.chat import Tokens
from app.replay.case_types import DeclaredEffect, Effect, Fidelity
from app.replay.effects import EffectFrom
from app.replay.judge_types import JudgeFinding
from app.replay.texts.facts import Facts

StepKind = Literal["tool_call", "answer"]
ComparisonResult = Literal["passed", "failed", "needs_review"]
StepResult = Literal["passed", "failed", "ignored", "not_run", "needs_review"]
ReplayStatus = Literal["passed", "failed", "needs_review", "void", "error", "cancelled"]
StopReason = Literal["missing_result", "step_limit", "no_user_text", "provider_error", "cancelled", "void"]
AnsweredBy = Literal["recording", "borrowed", "nearest", "static", "simulate", "fault", "none"]
# What answers a call with something that the turn's own recording does not hold.
FROM_ELSEWHERE: frozenset[AnsweredBy] = frozenset({"borrowed", "static", "simulate"})
DecidedBy = Literal["text", "rule", "known", "facts", "guard", "judge", "person", "check"]
ViolationKind = Literal[
    "extra_write", "extra_read", "never", "order", "lost_tool", "max_calls", "unanswered_write", "repeated_write"
]


class _ResultDocument(msgspec.Struct, frozen=True, rename="camel"):
    pass


class ProducedCall(_ResultDocument, frozen=True, tag_field="kind", tag="tool_call"):
    """A tool call that the draft made, and the text that answered it in the place of the user's tool."""

    kind: ClassVar[Literal["tool_call"]] = "tool_call"
    name: str
    arguments: Any = None
    result: Any = None
    effect: Effect = "write"
    answered_by: AnsweredBy = "none"


class ProducedAnswer(_ResultDocument, frozen=True, omit_defaults=True, tag_field="kind", tag="answer"):
    """An answer that the draft gave; `nok` is the reason for which a run would mark it as not usable, None without.

    `aside` is the text that the draft wrote next to its calls before the answer. Its user reads this text, too. What
    the recorded model also wrote there is left out. `recorded_aside` is what the recorded model wrote there; empty
    without an `aside`.
    """

    kind: ClassVar[Literal["answer"]] = "answer"
    text: str
    nok: str | None = None
    aside: str = ""
    recorded_aside: str = ""


ProducedStep = ProducedCall | ProducedAnswer


class Difference(_ResultDocument, frozen=True):
    """Where two values differ: a JSON pointer ("" for text) and both sides, UNSET where the path does not exist."""

    path: str
    expected: Any = UNSET
    actual: Any = UNSET


class StepVerdict(_ResultDocument, frozen=True, omit_defaults=True):
    """The verdict on one recorded step.

    For a tool call `expected` is `{name, arguments}` and `actual` the fields of `ProducedCall`; for an answer they are
    the text with which it is compared and the text that came. `actual` is None when no step of the draft was paired
    with the step. `judged` is the verdict of a judge that a person replaced, `findings` are the judge's reasons. A
    person's verdict is remembered by `digest`. A step that is not `required` may be left out. `form` are sentences
    about arguments that differ in form or words.
    """

    kind: StepKind
    result: StepResult
    expected: Any
    actual: Any
    reason: str | None = None
    diff: tuple[Difference, ...] = ()
    facts: Facts | None = None
    decided_by: DecidedBy | None = None
    judged: Literal["passed", "failed"] | None = None
    findings: tuple[JudgeFinding, ...] = ()
    digest: str | None = None
    form: tuple[str, ...] = ()
    required: bool = True


class Violation(_ResultDocument, frozen=True):
    """Something that the draft must not do. It fails the replay, whatever the verdicts on the steps.

    `turn` counts from 0. `message` explains what happened and what to do about it. `arguments` is None for `lost_tool`.
    """

    kind: ViolationKind
    tool: str
    turn: int
    arguments: Any
    message: str


class ToolEffect(_ResultDocument, frozen=True):
    """The effect of a tool, and where it was found."""

    effect: DeclaredEffect
    effect_from: EffectFrom


class Drift(_ResultDocument, frozen=True):
    """The values and tools that the recording names and the draft no longer has."""

    placeholders: dict[str, str] = {}
    tools: tuple[str, ...] = ()


class TurnResult(_ResultDocument, frozen=True):
    """One turn's verdicts, in the order of its recorded steps, and the steps paired with none of them.

    `stop_reason` is None when the turn was played to its end; `error` is the provider's message. `judge_tokens` are
    counted apart from `tokens`, for the judge may be another model. `calls` are the names of the called tools, in
    order, those of each answer of the model together; results of older releases have none.
    """

    user: str | None
    steps: tuple[StepVerdict, ...]
    extra: tuple[ProducedStep, ...] = ()
    stop_reason: StopReason | None = None
    drift: Drift = Drift()
    tokens: Tokens = Tokens()
    judge_tokens: Tokens = Tokens()
    error: str | None = None
    violations: tuple[Violation, ...] = ()
    calls: tuple[tuple[str, ...], ...] = ()


class ReplayResult(_ResultDocument, frozen=True):
    """A whole replay; `stop_reason` and `error` are those of the first turn that has one.

    `offered_from` is "recording" if the prompt never defined tools, so that the recorded definitions were offered, and
    "calls" if these are derived from calls; `no_tools_defined` is true if the recording has none either. `void` is the
    reason for which the replay shows nothing of what the recorded model saw, None if it shows all of it.
    `accepted_partial` is true if it was played although its `fidelity` is not complete.
    """

    status: ReplayStatus
    turns: tuple[TurnResult, ...]
    stop_reason: StopReason | None = None
    drift: Drift = Drift()
    tokens: Tokens = Tokens()
    judge_tokens: Tokens = Tokens()
    error: str | None = None
    violations: tuple[Violation, ...] = ()
    tools: dict[str, ToolEffect] = {}
    offered_from: Literal["prompt", "recording", "calls"] = "prompt"
    no_tools_defined: bool = False
    void: str | None = None
    fidelity: Fidelity = Fidelity()
    accepted_partial: bool = False
