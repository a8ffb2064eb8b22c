"""Test cases: schemas of requests and answers."""

from __future__ import annotations

from typing import Any, ClassVar, get_args

from marshmallow import ValidationError, fields, post_load, validate

from app.replay import case_types
from app.replay.case_limits import CASE_MATCHERS_MAX, MATCHERS_MAX, STEPS_MAX, TOOLS_MAX, TURNS_MAX
from app.replay.cases import WrittenTurn
from app.replay.corrections import CORRECTIONS_MAX
from app.replay.effects import EffectFrom
from app.replay.fault_types import VARIANTS_MAX, Variant
from app.schemas.answer import (
    AnswerSchema,
    answer_of,
    anything,
    boolean,
    choice,
    fields_of,
    integer,
    many,
    mapping,
    one,
    part,
    text,
    time,
)
from app.schemas.base import BoundedList, StrictBoolean, StrictSchema, Text
from app.schemas.faults import VARIANT
from app.schemas.json_schemas import check_values
from app.schemas.placeholders import Selections
from app.services.replays.case_commands import CaseChange, WrittenCase
from app.services.replays.mistake_signs import MistakeSign
from app.services.replays.stored_cases import NAME_MAX
from app.values.regex import CLASSES_MAX, NEW_PATTERNS_STEPS

TEXT_MAX = 500_000
FORMAT_1, FORMAT_2, FORMAT_3 = "reprise.test-case/1", "reprise.test-case/2", "reprise.test-case/3"
FORMATS = (FORMAT_1, FORMAT_2, FORMAT_3)
DEFAULTS_1 = {"order": "any", "onMissing": "stop"}


class CaseField(fields.Raw):
    """A field of a test case with its description for the OpenAPI document. `app.replay` checks its value.

    A list or an object has at most `maximum` entries.
    """

    def __init__(
        self, shape: dict[str, Any], *, maximum: int | None = None, allow_none: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(allow_none=allow_none, **kwargs)
        bound = "maxItems" if shape.get("type") == "array" else "maxProperties"
        self.documented = shape if maximum is None else shape | {bound: maximum}
        self._maximum = maximum

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if self._maximum is not None and isinstance(value, list | dict) and len(value) > self._maximum:
            raise ValidationError(f"Must have at most {self._maximum} entries.")
        return super()._deserialize(value, attr, data, **kwargs)


def _one_of(texts: Any, **options: Any) -> CaseField:
    return CaseField({"enum": [*get_args(texts)]}, **options)


PATTERNS = (
    f"A pattern has at most {CLASSES_MAX} classes such as \\pL. New patterns need at most {NEW_PATTERNS_STEPS:,} "
    "steps together to compile: an instruction is one, a class is 250."
)
MATCHERS = {"type": "object", "maxProperties": MATCHERS_MAX, "description": PATTERNS}
# `app.replay.case_types` has the other rules for these fields.
CHECK = {"type": "object", "properties": {"arguments": {"anyOf": [{"type": "string"}, MATCHERS]}}, "maxProperties": 5}
STEP_CHANGE = {
    "type": "object",
    "properties": {"turn": {"type": "integer"}, "step": {"type": "integer"}, "check": CHECK},
    "required": ["turn", "step", "check"],
    "additionalProperties": False,
}
CORRECTION = {
    "type": "object",
    "properties": {
        "turn": {"type": "integer"},
        "step": {"type": "integer"},
        "remove": {"type": "boolean"},
        "arguments": {},
        "result": {},
        "text": {"type": "string"},
        "after": {"type": "integer", "minimum": -1},
        "add": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "arguments": {}, "result": {}, "text": {"type": "string"}},
            "additionalProperties": False,
        },
        "user": {"type": "string"},
    },
    "required": ["turn"],
    "additionalProperties": False,
}
RULES = {
    "type": ["object", "null"],
    "properties": {
        "arguments": {**MATCHERS, "type": ["object", "null"]},
        "kinds": {
            "type": ["object", "null"],
            "maxProperties": MATCHERS_MAX,
            "additionalProperties": {"enum": [*get_args(case_types.StringKind)]},
        },
    },
    "maxProperties": 12,
}
# A file with one step is `{"turns": [{"user": …, "steps": [{"kind": …}]}]}`.
FILE = {
    "type": "object",
    "properties": {
        "turns": {
            "type": "array",
            "maxItems": TURNS_MAX,
            "description": (
                f"At most {STEPS_MAX} steps and {CASE_MATCHERS_MAX} matchers and patterns in total. {PATTERNS}"
            ),
        },
        "tools": {"type": "object", "maxProperties": TOOLS_MAX},
    },
}


class CaseChangeSchema(StrictSchema):
    """A new test case of a session, or a change of one. `app.replay.changes.change_case` checks all but the name."""

    command: ClassVar = CaseChange.of

    name = Text(minimum=1, maximum=NAME_MAX, trim=True)
    steps = CaseField({"type": "array", "items": STEP_CHANGE}, maximum=STEPS_MAX, validate=check_values)
    corrections = CaseField(
        {"type": "array", "items": CORRECTION}, maximum=CORRECTIONS_MAX, validate=check_values, allow_none=False
    )
    order = _one_of(case_types.Order)
    history = _one_of(case_types.History)
    on_missing = _one_of(case_types.OnMissing, attribute="onMissing")
    judge = _one_of(case_types.Judging)
    tools = CaseField({"type": "object", "additionalProperties": RULES}, maximum=TOOLS_MAX, validate=check_values)
    included_turns = CaseField({"type": "integer", "minimum": 1}, attribute="includedTurns")
    assertion_type = CaseField({"enum": [*get_args(case_types.AssertionType), None]}, attribute="assertionType")
    assertion_value = Text(attribute="assertionValue", allow_none=True)
    accept_partial = StrictBoolean(attribute="acceptPartial")
    variants = CaseField(
        {"type": "array", "items": VARIANT}, maximum=VARIANTS_MAX, allow_none=False, validate=check_values
    )


class WrittenTurnSchema(StrictSchema):
    command: ClassVar = WrittenTurn

    question = Text(required=True, minimum=1, maximum=TEXT_MAX)
    expected_answer = Text(required=True, maximum=TEXT_MAX)


class WrittenCaseSchema(StrictSchema):
    """A test case written by hand. `laterTurns` continue the conversation."""

    command: ClassVar = WrittenCase

    name = Text(minimum=1, maximum=NAME_MAX, trim=True)
    question = Text(required=True, minimum=1, maximum=TEXT_MAX)
    expected_answer = Text(required=True, maximum=TEXT_MAX)
    placeholders = Selections(allow_none=True)
    later_turns = BoundedList(fields.Nested(WrittenTurnSchema), maximum=TURNS_MAX - 1, into=tuple)


class CopySchema(StrictSchema):
    """With a `turn`, counted from 0, the copy has only this turn: the turns before it are its recorded history."""

    name = Text(minimum=1, maximum=NAME_MAX, trim=True, load_default=None)
    turn = fields.Integer(strict=True, validate=validate.Range(0, TURNS_MAX), load_default=None)


class ImportSchema(StrictSchema):
    """A file that an export wrote. A file of version 1 keeps the defaults that test cases had in that version."""

    format = fields.String(required=True, validate=validate.OneOf(FORMATS))
    name = Text(required=True, minimum=1, maximum=NAME_MAX, trim=True)
    test_case = CaseField(FILE, required=True, allow_none=False)

    @post_load
    def complete(self, file: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        document = file["test_case"]
        if file["format"] == FORMAT_1 and isinstance(document, dict):
            document = DEFAULTS_1 | document
        return file | {"test_case": document}


# Before the document, which has turns: an answer gets its name where it is made first.
CaseTurn = answer_of(case_types.CaseTurn, "TestCaseTurn")
CaseDocument = answer_of(case_types.TestCase, "TestCaseDocument")


class ProposedEffect(AnswerSchema):
    """What a model proposes for a tool with an unknown effect. It changes nothing until a person sets the effect."""

    effect = choice(*get_args(case_types.DeclaredEffect))
    reason = text()
    model = text()


class ToolSettings(AnswerSchema):
    """The rules of a tool, including defaults."""

    effect = choice(*get_args(case_types.DeclaredEffect))
    effect_from = choice(*get_args(EffectFrom))
    proposed_effect = one(ProposedEffect, allow_none=True)
    extra = choice(*get_args(case_types.Permission), allow_none=True)
    max_calls = integer(allow_none=True)
    never = boolean()
    lost = choice(*get_args(case_types.Permission))
    on_missing = choice(*get_args(case_types.OnMissing), allow_none=True)
    result = anything(allow_none=True)
    arguments = mapping(anything())
    kinds = mapping(choice(*get_args(case_types.StringKind)))
    idempotent = boolean()


class ShownDocument(CaseDocument):  # type: ignore[misc, valid-type]
    accept_partial = boolean()
    basis = choice(*get_args(case_types.Basis))
    fidelity = one(answer_of(case_types.Fidelity))
    tools = mapping(one(ToolSettings))
    variants = many(answer_of(Variant))


class TestCaseSchema(AnswerSchema):
    """A `CaseView`."""

    id = integer(attribute="row.id")
    prompt_id = integer(attribute="row.prompt_id")
    name = text(attribute="row.name")
    session_id = text(attribute="row.session_id", allow_none=True)
    document = part(ShownDocument, "document", stored=True)
    created_at = time(attribute="row.created_at")
    updated_at = time(attribute="row.updated_at")


class TestCases(AnswerSchema):
    test_cases = many(TestCaseSchema, attribute="entries")
    next_cursor = text(allow_none=True)


class DoubtSchema(AnswerSchema):
    """A sign that the session went wrong. `turn` and `step` count from 0; null means the whole session or turn."""

    row = fields_of(MistakeSign, "kind", "turn", "step", "message")


class TestCaseProposalSchema(AnswerSchema):
    prompt_id = integer(attribute="head.id")
    name = text()
    test_case = one(ShownDocument, attribute="document")
    doubts = many(DoubtSchema)
    part_of = text(allow_none=True)


class TestCaseExportSchema(AnswerSchema):
    """A file for a repository. Its content does not depend on the time or the instance of the export.

    Its tools have only the rules that the test case sets, without rules that follow from the prompt. A test case that
    version 2 can express is written as version 2.
    """

    format = choice(FORMAT_2, FORMAT_3, get=lambda view: _format(view.document))
    name = text(attribute="row.name")
    test_case = one(CaseDocument, attribute="document")


_CASE_2 = frozenset(
    "order history onMissing judge includedTurns assertionType assertionValue tools turns".split()  # noqa: SIM905
)
_TURN_2 = frozenset("traceId promptVersion placeholders offeredTools user steps".split())  # noqa: SIM905
_STEP_2 = frozenset("kind spanId name arguments result error batch text check".split())  # noqa: SIM905
_CHECK_2 = frozenset("enabled arguments answer value ignorePaths".split())  # noqa: SIM905
_RULES_2 = frozenset("effect extra maxCalls never lost onMissing result arguments".split())  # noqa: SIM905


def _format(document: dict[str, Any]) -> str:
    """Return the first version of files that has all the fields of a test case."""
    steps = [step for turn in document["turns"] for step in turn["steps"]]
    known = (
        document.keys() <= _CASE_2,
        all(turn.keys() <= _TURN_2 for turn in document["turns"]),
        all(step.keys() <= _STEP_2 and step["check"].keys() <= _CHECK_2 for step in steps),
        all(rules.keys() <= _RULES_2 for rules in document["tools"].values()),
        all(rules.get("effect") != "by_call" for rules in document["tools"].values()),
    )
    return FORMAT_2 if all(known) else FORMAT_3
