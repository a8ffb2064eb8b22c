"""Test cases: what requests say of them, and how answers show them."""

from __future__ import annotations

from typing import ClassVar

from marshmallow import fields, validate

from app.replay import types
from app.replay.documents import dump
from app.schemas.answer import Answer, answer_of, choice, integer, many, one, part, text, time
from app.schemas.base import StrictSchema, Text
from app.schemas.json_schemas import check_values
from app.schemas.placeholders import Selections
from app.services.replays.cases import NAME_MAX, CaseChange, WrittenCase

TEXT_MAX = 500_000
FORMAT = "reprise.test-case/1"


class CaseChangeSchema(StrictSchema):
    """A new test case of a session, or a change of one; `app.replay.cases.change_case` checks all but the name."""

    command: ClassVar = CaseChange.of

    name = Text(minimum=1, maximum=NAME_MAX, trim=True)
    steps = fields.Raw(allow_none=True, validate=check_values)
    order = fields.Raw(allow_none=True)
    history = fields.Raw(allow_none=True)
    on_missing = fields.Raw(attribute="onMissing", allow_none=True)
    included_turns = fields.Raw(attribute="includedTurns", allow_none=True)
    assertion_type = fields.Raw(attribute="assertionType", allow_none=True)
    assertion_value = Text(attribute="assertionValue", allow_none=True)


class WrittenCaseSchema(StrictSchema):
    """A test case written by hand."""

    command: ClassVar = WrittenCase

    name = Text(minimum=1, maximum=NAME_MAX, trim=True)
    question = Text(required=True, minimum=1, maximum=TEXT_MAX)
    expected_answer = Text(required=True, maximum=TEXT_MAX)
    placeholders = Selections(allow_none=True)


class CopySchema(StrictSchema):
    name = Text(minimum=1, maximum=NAME_MAX, trim=True, load_default=None)


class ImportSchema(StrictSchema):
    """A file that an export wrote."""

    format = fields.String(required=True, validate=validate.Equal(FORMAT))
    name = Text(required=True, minimum=1, maximum=NAME_MAX, trim=True)
    test_case = fields.Raw(required=True)


CaseTurn = answer_of(types.CaseTurn, "TestCaseTurn")
CaseDocument = answer_of(types.TestCase, "TestCaseDocument")


class TestCase(Answer):
    id = integer()
    prompt_id = integer()
    name = text()
    session_id = text(allow_none=True)
    document = part(CaseDocument, "document", stored=True)
    created_at = time()
    updated_at = time()


class TestCases(Answer):
    test_cases = many(TestCase, attribute="entries")
    next_cursor = text(allow_none=True)


class TestCaseProposal(Answer):
    prompt_id = integer(attribute="head.id")
    name = text()
    test_case = one(CaseDocument, get=lambda proposal: dump(proposal.case))


class TestCaseExport(Answer):
    """A file for a repository: nothing in it depends on when, or from which instance, it was written."""

    format = choice(FORMAT, get=lambda _: FORMAT)
    name = text()
    test_case = one(CaseDocument, attribute="document")
