"""A test case and what replaying it found: the vocabulary of replays (`replay.md`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Literal

from app.chat import Tokens

ArgumentsCheck = Literal["exact", "subset", "ignore"]
AnswerCheck = Literal["strict", "contains", "regex", "json_subset", "ai", "manual", "ignore"]
AssertionType = Literal["STRICT", "AI", "MANUAL"]
Order = Literal["any", "in_order"]
History = Literal["replayed", "recorded"]
OnMissing = Literal["stop", "error"]
StepResult = Literal["passed", "failed", "ignored", "not_run", "needs_review"]
ReplayStatus = Literal["passed", "failed", "needs_review", "error", "cancelled"]
StopReason = Literal["missing_result", "step_limit", "no_user_text", "provider_error", "cancelled"]


class Missing(Enum):
    """Marks the side of a difference on which the path does not exist."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


@dataclass(frozen=True, slots=True)
class Check:
    """How a step is checked. `value` is what the answer is held against instead of the recorded text:
    text, or any JSON for `json_subset`. `ignore_paths` are JSON pointers (RFC 6901).
    """

    enabled: bool = True
    arguments: ArgumentsCheck = "exact"
    answer: AnswerCheck = "strict"
    value: Any = None
    ignore_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseStep:
    """A recorded step (as `sessions.types.Step`) and its check."""

    kind: Literal["tool_call", "answer"]
    name: str = ""
    arguments: Any = None
    result: Any = None
    error: str | None = None
    text: str = ""
    span_id: str = ""
    check: Check = Check()

    @property
    def checked(self) -> bool:
        """Whether the step can pass or fail at all."""
        return self.check.enabled and not (self.kind == "answer" and self.check.answer == "ignore")


@dataclass(frozen=True, slots=True)
class CaseTurn:
    """A copy of a recorded turn; the fields mean what they mean in `sessions.types.Turn`."""

    user: str | None
    steps: tuple[CaseStep, ...] = ()
    placeholders: dict[str, str] | None = None
    offered_tools: tuple[str | dict[str, Any], ...] | None = None
    prompt_version: str | None = None
    trace_id: str = ""


@dataclass(frozen=True, slots=True)
class TestCase:
    """Turns to replay. `assertion_type` and `assertion_value` are the prompt's where they are None;
    the judge reads `assertion_value`, so whoever starts a replay fills it in.
    """

    __test__ = False  # pytest would take the name for a test

    turns: tuple[CaseTurn, ...]
    order: Order = "any"
    history: History = "replayed"
    on_missing: OnMissing = "stop"
    included_turns: int | None = None
    assertion_type: AssertionType | None = None
    assertion_value: str | None = None


@dataclass(frozen=True, slots=True)
class Produced:
    """A step that the draft took. `result` is what the recording answered a tool call with."""

    kind: Literal["tool_call", "answer"]
    name: str = ""
    arguments: Any = None
    result: Any = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two values differ: a JSON pointer ("" for text) and both sides."""

    path: str
    expected: Any = MISSING
    actual: Any = MISSING


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """What became of one recorded step.

    `expected` and `actual` are `{name, arguments}` of a tool call, or what the answer is held against and
    the text that came; `actual` is None when no step of the draft was paired with it.
    """

    kind: Literal["tool_call", "answer"]
    result: StepResult
    expected: Any
    actual: Any = None
    reason: str | None = None
    diff: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Drift:
    """What the recording names and the draft no longer has."""

    placeholders: dict[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnResult:
    """One turn's verdicts, in the order of its recorded steps, and the steps nothing recorded asked for.

    `stop_reason` is None when the turn was played to its end; `error` holds the provider's words.
    `judge_tokens` are counted apart from `tokens`, for the judge may be another model.
    """

    user: str | None
    steps: tuple[StepVerdict, ...]
    extra: tuple[Produced, ...] = ()
    stop_reason: StopReason | None = None
    drift: Drift = Drift()
    tokens: Tokens = Tokens()
    judge_tokens: Tokens = Tokens()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """A whole replay; `stop_reason` and `error` are those of the first turn that has one."""

    status: ReplayStatus
    turns: tuple[TurnResult, ...]
    stop_reason: StopReason | None = None
    drift: Drift = Drift()
    tokens: Tokens = Tokens()
    judge_tokens: Tokens = Tokens()
    error: str | None = None
