"""Requests about test cases, and test cases as JSON; the checks themselves are read by `app/replay/cases.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from marshmallow import fields, post_load, validate

from app.models.cases import TestCaseRow
from app.replay.documents import dump
from app.schemas.base import StrictSchema, Text
from app.schemas.json_schemas import check_values
from app.schemas.placeholders import Selections
from app.services.replays.cases import NAME_MAX, Proposal
from app.timestamps import iso

PAGE = 50
PAGE_MAX = 200
TEXT_MAX = 500_000
FORMAT = "reprise.test-case/1"


@dataclass(frozen=True, slots=True)
class CaseChange:
    """`changes` is read by `app.replay.cases.change_case`: just the keys that were sent."""

    name: str | None = None
    changes: dict[str, Any] = field(default_factory=dict)


class CaseChangeSchema(StrictSchema):
    """A new test case of a session, or a change of one."""

    name = Text(minimum=1, maximum=NAME_MAX, trim=True)
    steps = fields.Raw(allow_none=True, validate=check_values)
    order = fields.Raw(allow_none=True)
    history = fields.Raw(allow_none=True)
    on_missing = fields.Raw(data_key="onMissing", attribute="onMissing", allow_none=True)
    included_turns = fields.Raw(data_key="includedTurns", attribute="includedTurns", allow_none=True)
    assertion_type = fields.Raw(data_key="assertionType", attribute="assertionType", allow_none=True)
    assertion_value = Text(data_key="assertionValue", attribute="assertionValue", allow_none=True)

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> CaseChange:
        name = data.pop("name", None)
        return CaseChange(name, data)


@dataclass(frozen=True, slots=True)
class WrittenCase:
    question: str
    expected_answer: str
    name: str | None = None
    placeholders: dict[str, str] | None = None


class WrittenCaseSchema(StrictSchema):
    """A test case written by hand."""

    name = Text(minimum=1, maximum=NAME_MAX, trim=True)
    question = Text(required=True, minimum=1, maximum=TEXT_MAX)
    expected_answer = Text(data_key="expectedAnswer", required=True, maximum=TEXT_MAX)
    placeholders = Selections(allow_none=True)

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> WrittenCase:
        return WrittenCase(**data)


class CopySchema(StrictSchema):
    name = Text(minimum=1, maximum=NAME_MAX, trim=True, load_default=None)


class ImportSchema(StrictSchema):
    """What `export` writes."""

    format = fields.String(required=True, validate=validate.Equal(FORMAT))
    name = Text(required=True, minimum=1, maximum=NAME_MAX, trim=True)
    test_case = fields.Raw(data_key="testCase", required=True)


@dataclass(frozen=True, slots=True)
class PageQuery:
    limit: int = PAGE
    cursor: str | None = None


class PageQuerySchema(StrictSchema):
    limit = fields.Integer(validate=validate.Range(1, PAGE_MAX))
    cursor = Text(maximum=1000)

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> PageQuery:
        return PageQuery(**data)


def dump_test_case(row: TestCaseRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "promptId": row.prompt_id,
        "name": row.name,
        "sessionId": row.session_id,
        **row.document,
        "createdAt": iso(row.created_at),
        "updatedAt": iso(row.updated_at),
    }


def dump_proposal(proposal: Proposal) -> dict[str, Any]:
    return {"promptId": proposal.head.id, "name": proposal.name, "testCase": dump(proposal.case)}


def dump_export(row: TestCaseRow) -> dict[str, Any]:
    """A file for a repository: nothing in it depends on when, or from which instance, it was written."""
    return {"format": FORMAT, "name": row.name, "testCase": row.document}
