"""Test cases, results and ports of replays (docs/reference/gate.md). Each struct describes its stored JSON, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol

import msgspec
from msgspec import UNSET, Meta

from app.chat import Answer, Message, Tokens, ToolDefinition
from app.patterns import compile_pattern
from app.pointers import parse_pointer
from app.storable import decode_json

ArgumentsCheck = Literal["exact", "subset", "ignore"]
AnswerCheck = Literal["strict", "contains", "regex", "json_subset", "ai", "manual", "ignore"]
AssertionType = Literal["STRICT", "AI", "MANUAL"]
Order = Literal["any", "in_order"]
History = Literal["replayed", "recorded"]
OnMissing = Literal["stop", "error"]
StepKind = Literal["tool_call", "answer"]
StepResult = Literal["passed", "failed", "ignored", "not_run", "needs_review"]
ReplayStatus = Literal["passed", "failed", "needs_review", "error", "cancelled"]
StopReason = Literal["missing_result", "step_limit", "no_user_text", "provider_error", "cancelled"]


class Check(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The way in which a step is checked.

    `value` takes the place of the recorded text: text, or any JSON for `json_subset`. `ignore_paths` are JSON
    pointers (RFC 6901). Raises ValueError, with the field's name, for a value or a path that can't be checked.
    """

    enabled: bool = True
    arguments: ArgumentsCheck = "exact"
    answer: AnswerCheck = "strict"
    value: Any = None
    ignore_paths: Annotated[tuple[str, ...], Meta(max_length=100)] = ()

    def __post_init__(self) -> None:
        for index, path in enumerate(self.ignore_paths):
            _require(parse_pointer, path, f"ignorePaths.{index}")
        if self.value is None:
            if self.answer == "regex":
                raise ValueError("value: is required, the regular expression to find")
        elif self.answer == "json_subset":
            if isinstance(self.value, str):
                _require(decode_json, self.value, "value", "must be JSON")
        elif not isinstance(self.value, str):
            raise ValueError("value: must be a string")
        elif self.answer == "regex":
            _require(compile_pattern, self.value, "value")
        elif self.answer == "contains" and not self.value.strip():
            raise ValueError("value: every answer contains the empty text")


class _CaseDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A document that people write: an unknown field is an error."""


class CheckedCall(_CaseDocument, frozen=True, kw_only=True, tag_field="kind", tag="tool_call"):
    """A recorded tool call (as `sessions.types.Step`) and its check."""

    kind: ClassVar[Literal["tool_call"]] = "tool_call"
    span_id: str = ""
    name: str = ""
    arguments: Any = None
    result: Any = None
    error: str | None = None
    check: Check = Check()

    @property
    def checked(self) -> bool:
        """True if the step can pass or fail at all."""
        return self.check.enabled


class CheckedAnswer(_CaseDocument, frozen=True, kw_only=True, tag_field="kind", tag="answer"):
    """A recorded answer and its check."""

    kind: ClassVar[Literal["answer"]] = "answer"
    span_id: str = ""
    text: str = ""
    check: Check = Check()

    @property
    def checked(self) -> bool:
        """True if the step can pass or fail at all."""
        return self.check.enabled and self.check.answer != "ignore"


CaseStep = CheckedAnswer | CheckedCall


class CaseTurn(_CaseDocument, frozen=True, kw_only=True):
    """A copy of a recorded turn; the fields mean what they mean in `sessions.types.Turn`."""

    trace_id: str = ""
    prompt_version: str | None = None
    placeholders: dict[str, str] | None = None
    offered_tools: tuple[str | dict[str, Any], ...] | None = None
    user: str | None
    steps: tuple[CaseStep, ...]


class CaseSettings(_CaseDocument, frozen=True, kw_only=True):
    """The settings of a test case.

    `assertion_type` and `assertion_value` are the prompt's where they are None; the judge reads `assertion_value`, so
    the caller of a replay fills it in.
    """

    order: Order = "any"
    history: History = "replayed"
    on_missing: OnMissing = "stop"
    included_turns: int | None = None
    assertion_type: AssertionType | None = None
    assertion_value: str | None = None


class TestCase(CaseSettings, frozen=True, kw_only=True):
    """Turns to replay."""

    turns: tuple[CaseTurn, ...]

    @property
    def played(self) -> tuple[CaseTurn, ...]:
        """The turns that a replay plays: all of them, or the first `included_turns`."""
        return self.turns[: self.included_turns]


class _ResultDocument(msgspec.Struct, frozen=True, rename="camel"):
    pass


class ProducedCall(_ResultDocument, frozen=True, tag_field="kind", tag="tool_call"):
    """A tool call that the draft made; `result` is what the recording answered it with."""

    kind: ClassVar[Literal["tool_call"]] = "tool_call"
    name: str
    arguments: Any = None
    result: Any = None


class ProducedAnswer(_ResultDocument, frozen=True, tag_field="kind", tag="answer"):
    """An answer that the draft gave."""

    kind: ClassVar[Literal["answer"]] = "answer"
    text: str


ProducedStep = ProducedCall | ProducedAnswer


class Difference(_ResultDocument, frozen=True):
    """Where two values differ: a JSON pointer ("" for text) and both sides, UNSET where the path does not exist."""

    path: str
    expected: Any = UNSET
    actual: Any = UNSET


class StepVerdict(_ResultDocument, frozen=True, omit_defaults=True):
    """The verdict on one recorded step.

    `expected` and `actual` are `{name, arguments}` of a tool call, or what the answer is compared with and the text
    that came; `actual` is None when no step of the draft was paired with it.
    """

    kind: StepKind
    result: StepResult
    expected: Any
    actual: Any
    reason: str | None = None
    diff: tuple[Difference, ...] = ()


class Drift(_ResultDocument, frozen=True):
    """The values and tools that the recording names and the draft no longer has."""

    placeholders: dict[str, str] = {}
    tools: tuple[str, ...] = ()


class TurnResult(_ResultDocument, frozen=True):
    """One turn's verdicts, in the order of its recorded steps, and the steps paired with none of them.

    `stop_reason` is None when the turn was played to its end; `error` is the provider's message. `judge_tokens` are
    counted apart from `tokens`, for the judge may be another model.
    """

    user: str | None
    steps: tuple[StepVerdict, ...]
    extra: tuple[ProducedStep, ...] = ()
    stop_reason: StopReason | None = None
    drift: Drift = Drift()
    tokens: Tokens = Tokens()
    judge_tokens: Tokens = Tokens()
    error: str | None = None


class ReplayResult(_ResultDocument, frozen=True):
    """A whole replay; `stop_reason` and `error` are those of the first turn that has one."""

    status: ReplayStatus
    turns: tuple[TurnResult, ...]
    stop_reason: StopReason | None = None
    drift: Drift = Drift()
    tokens: Tokens = Tokens()
    judge_tokens: Tokens = Tokens()
    error: str | None = None


def _require(parse: Callable[[str], object], text: str, field: str, problem: str | None = None) -> None:
    try:
        parse(text)
    except ValueError as error:
        raise ValueError(f"{field}: {problem or error}") from None


class ModelPort(Protocol):
    """A language model."""

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        """Return the model's next message. Raises `ProviderError` after the provider's own retries."""


@dataclass(frozen=True, slots=True)
class RenderedDraft:
    """The draft's instruction; `ignored` are the keys of placeholders that were not applied."""

    instruction: str
    ignored: tuple[str, ...] = ()


class DraftPort(Protocol):
    """The draft as it was when the replay began."""

    @property
    def tools(self) -> Sequence[ToolDefinition]:
        """The tools that the draft defines."""

    def render(self, placeholders: Mapping[str, str]) -> RenderedDraft:
        """Return the instruction; `placeholders` maps keys to names of values."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's verdict and its reasons; `needs_review` when it came to none."""

    verdict: Literal["passed", "failed", "needs_review"]
    reasoning: str
    tokens: Tokens = Tokens()


class JudgePort(Protocol):
    """Decides `ai` checks."""

    def judge(self, assertion: str, expected: str, actual: str, question: str) -> Judgement:
        """Decide if `actual` satisfies the assertion. A `ProviderError` makes the step `needs_review`."""


@dataclass(frozen=True, slots=True)
class Ports:
    """All that one replay can reach.

    `progress(done, total, turn)` counts recorded steps of the turns that are replayed; it is called after every
    answer of the model (turn None) and with every finished turn. `cancelled()` is called before every call of the
    model.
    """

    model: ModelPort
    draft: DraftPort
    judge: JudgePort
    progress: Callable[[int, int, TurnResult | None], None] = lambda done, total, turn: None
    cancelled: Callable[[], bool] = lambda: False
