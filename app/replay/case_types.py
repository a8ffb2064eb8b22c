"""The structs of a test case: its settings, turns, steps with their checks, and rules of tools.

`TestCase` has all of them. Each struct describes its stored JSON, too (docs/reference/gate.md).
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import force_setattr

from app.replay.fault_types import VARIANTS_MAX, Variant
from app.replay.matchers import normalized
from app.sessions.types import EARLIER_MAX, EarlierMessage, GapKind
from app.values.json_pointer import parse_pointer
from app.values.storable import decode_json

ArgumentsCheck = Literal["exact", "subset", "ignore"]
AnswerCheck = Literal["strict", "meaning", "facts", "contains", "regex", "json_subset", "ai", "manual", "ignore"]
AssertionType = Literal["STRICT", "AI", "MANUAL"]
Order = Literal["effects", "any", "in_order"]
History = Literal["replayed", "recorded"]
OnMissing = Literal["error", "stop", "nearest", "static", "simulate"]
Judging = Literal["auto", "never", "always"]
Effect = Literal["read", "write"]
DeclaredEffect = Literal["read", "write", "by_call"]
"""The effect of a tool. With `by_call`, the statement of SQL or the shell command of each call decides."""
Permission = Literal["allow", "fail"]
Basis = Literal["recorded", "corrected"]
StringKind = Literal["value", "code", "prose", "search"]


class Check(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The way in which a step is checked.

    `arguments` may be an object of matchers by JSON pointer (RFC 6901), which precede those of the tool; with "exact"
    only the tool's apply. `value` replaces the recorded text: text, or any JSON for `json_subset`. `ignore_paths` are
    JSON pointers. Raises ValueError, with the field's name, for what can't be checked; `NewPatterns` checks patterns.
    """

    enabled: bool = True
    arguments: ArgumentsCheck | dict[str, Any] = "exact"
    answer: AnswerCheck = "strict"
    value: Any = None
    ignore_paths: Annotated[tuple[str, ...], Meta(max_length=100)] = ()

    def __post_init__(self) -> None:
        for index, path in enumerate(self.ignore_paths):
            _require(parse_pointer, path, f"ignorePaths.{index}")
        if isinstance(self.arguments, dict):
            force_setattr(self, "arguments", normalized(self.arguments))
        if self.value is None:
            if self.answer == "regex":
                raise ValueError("value: is required, the regular expression to find")
        elif self.answer == "json_subset":
            if isinstance(self.value, str):
                _require(decode_json, self.value, "value", "must be JSON")
        elif not isinstance(self.value, str):
            raise ValueError("value: must be a string")
        elif self.answer == "contains" and not self.value.strip():
            raise ValueError("value: every answer contains the empty text")


class _CaseDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A document that people write: an unknown field is an error.

    Fields that test cases of earlier releases lack are UNSET without a value, and are not written then.
    """


class CheckedCall(_CaseDocument, frozen=True, kw_only=True, tag_field="kind", tag="tool_call"):
    """A recorded tool call (as `sessions.types.Step`) and its check.

    Calls of a turn with the same `batch`, unless that is empty, were asked for in one message of the model. A step is
    `corrected` if a person wrote it or changed it. A `hosted` call was run by the model's vendor.
    """

    kind: ClassVar[Literal["tool_call"]] = "tool_call"
    span_id: str = ""
    name: str = ""
    arguments: Any = None
    result: Any = None
    error: str | None = None
    batch: str = ""
    check: Check = Check()
    corrected: bool | UnsetType = UNSET
    hosted: bool | UnsetType = UNSET

    @property
    def checked(self) -> bool:
        """Whether the step is compared: others neither pass nor fail."""
        return self.check.enabled


class CheckedAnswer(_CaseDocument, frozen=True, kw_only=True, tag_field="kind", tag="answer"):
    """A recorded answer and its check."""

    kind: ClassVar[Literal["answer"]] = "answer"
    span_id: str = ""
    text: str = ""
    check: Check = Check()
    corrected: bool | UnsetType = UNSET

    @property
    def checked(self) -> bool:
        """Whether the step is compared: others neither pass nor fail."""
        return self.check.enabled and self.check.answer != "ignore"


CaseStep = CheckedAnswer | CheckedCall


class Missing(_CaseDocument, frozen=True, kw_only=True):
    """Something that the recorded model saw in a turn, and that a replay can't show."""

    kind: GapKind
    turn: int
    message: str


class Fidelity(_CaseDocument, frozen=True, kw_only=True):
    """Whether a replay shows a model all that the recorded one saw; `complete` follows from `missing`."""

    complete: bool = True
    missing: tuple[Missing, ...] = ()

    def __post_init__(self) -> None:
        force_setattr(self, "complete", not self.missing)


class CaseFile(_CaseDocument, frozen=True, kw_only=True):
    """An image, audio or another file of the user's message; `data` is base64."""

    kind: Literal["image", "audio", "file"]
    name: str = ""
    media_type: str
    data: str

    def __post_init__(self) -> None:
        _require(partial(b64decode, validate=True), self.data, "data", "must be base64")

    @property
    def content(self) -> bytes:
        """The decoded bytes of the file."""
        return b64decode(self.data)


class RemovedCall(_CaseDocument, frozen=True, kw_only=True):
    """A recorded call that was wrong: a person took it out of its turn."""

    name: str
    arguments: Any = None


class CaseTurn(_CaseDocument, frozen=True, kw_only=True):
    """A copy of a recorded turn; the fields mean what they mean in `sessions.types.Turn`.

    `earlier` is what came before its recording, where the conversation was under way.
    """

    trace_id: str = ""
    prompt_version: str | None = None
    placeholders: dict[str, str] | None = None
    offered_tools: tuple[str | dict[str, Any], ...] | None = None
    user: str | None
    steps: tuple[CaseStep, ...]
    removed: tuple[RemovedCall, ...] | UnsetType = UNSET
    files: tuple[CaseFile, ...] | UnsetType = UNSET
    earlier: Annotated[tuple[EarlierMessage, ...], Meta(max_length=EARLIER_MAX)] | UnsetType = UNSET


class ToolRules(_CaseDocument, frozen=True, kw_only=True, omit_defaults=True):
    """The rules of one tool that a test case sets; `app.replay.effects.Tool` has the defaults of the others.

    `max_calls` bounds the calls of a whole replay. After a fault a call of an `idempotent` tool may be repeated.
    `result` is the JSON that `static` answers with. `arguments` are matchers by JSON pointer, `kinds` the kinds of
    texts in the arguments. Raises ValueError, with the pointer, for a matcher that can't be used.
    """

    effect: DeclaredEffect | None = None
    extra: Permission | None = None
    max_calls: Annotated[int, Meta(ge=0)] | None = None
    never: bool = False
    lost: Permission = "fail"
    on_missing: OnMissing | None = None
    result: Any = None
    arguments: dict[str, Any] = {}
    kinds: dict[str, StringKind] = {}
    idempotent: bool | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "arguments", normalized(self.arguments))
        for pointer in self.kinds:
            _require(parse_pointer, pointer, f"kinds.{pointer}")


class CaseSettings(_CaseDocument, frozen=True, kw_only=True):
    """The settings of a test case.

    With `accept_partial` a replay is played although it can't show all that the recorded model saw.
    `assertion_type` and `assertion_value` are the prompt's where they are None; the judge reads `assertion_value`, so
    the caller of a replay fills it in.
    """

    order: Order = "effects"
    history: History = "replayed"
    on_missing: OnMissing = "error"
    judge: Judging = "auto"
    included_turns: int | None = None
    assertion_type: AssertionType | None = None
    assertion_value: str | None = None
    accept_partial: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        force_setattr(self, "accept_partial", self.accept_partial or UNSET)


class TestCase(CaseSettings, frozen=True, kw_only=True):
    """Turns to replay, and the rules of tools by name. The `basis` is UNSET for a test case without corrections."""

    tools: dict[str, ToolRules] = {}
    turns: tuple[CaseTurn, ...]
    basis: Basis | UnsetType = UNSET
    fidelity: Fidelity | UnsetType = UNSET
    variants: Annotated[tuple[Variant, ...], Meta(max_length=VARIANTS_MAX)] | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        force_setattr(self, "variants", self.variants or UNSET)

    @property
    def played_turns(self) -> tuple[CaseTurn, ...]:
        """The turns that a replay plays: all of them, or the first `included_turns`."""
        return self.turns[: self.included_turns]


def _require(parse: Callable[[str], object], text: str, field: str, problem: str | None = None) -> None:
    try:
        parse(text)
    except ValueError as error:
        raise ValueError(f"{field}: {problem or error}") from None
