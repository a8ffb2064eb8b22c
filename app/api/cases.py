"""Test cases: /api/v1/sessions/{id}/test-cases, /api/v1/prompts/{id}/test-cases and /api/v1/test-cases/{id}."""

from __future__ import annotations

import falcon

from app.access import ByKey
from app.api.operation import operation
from app.http.bodies import read_json
from app.models.cases import TestCaseRow
from app.schemas.answers import cases as answers
from app.schemas.base import load
from app.schemas.cases import (
    CaseChange,
    CaseChangeSchema,
    CopySchema,
    ImportSchema,
    PageQuery,
    PageQuerySchema,
    WrittenCase,
    WrittenCaseSchema,
    dump_export,
    dump_proposal,
    dump_test_case,
)
from app.services.replays.cases import DOCUMENT_BYTES, TestCaseService

_CHANGE, _WRITTEN, _COPY, _IMPORT, _PAGE = (
    CaseChangeSchema(),
    WrittenCaseSchema(),
    CopySchema(),
    ImportSchema(),
    PageQuerySchema(),
)
# A file has the document and little else, indented.
IMPORT_BYTES = 4 * DOCUMENT_BYTES


class _Resource:
    def __init__(self, *, cases: TestCaseService, body_bytes: int) -> None:
        self._cases = cases
        self._body_bytes = body_bytes


class SessionTestCases(_Resource):
    access = ByKey({"POST": "write"})

    @operation("Make a test case of a session", body=CaseChangeSchema, body_optional=True, answers={201: answers.Case})
    def on_post(self, req: falcon.Request, resp: falcon.Response, session_id: str) -> None:
        asked: CaseChange = load(_CHANGE, read_json(req, self._body_bytes, optional=True))
        key = req.context.key
        row = self._cases.from_session(
            project_id=key.project_id, session_id=session_id, name=asked.name, changes=asked.changes, actor=key.actor
        )
        _created(resp, row)


class TestCaseProposal(_Resource):
    access = ByKey({"GET": "read"})

    @operation("The test case that a session makes without changes; nothing is stored", answers={200: answers.Proposal})
    def on_get(self, req: falcon.Request, resp: falcon.Response, session_id: str) -> None:
        proposal = self._cases.proposed(project_id=req.context.key.project_id, session_id=session_id)
        resp.media = dump_proposal(proposal)


class PromptTestCases(_Resource):
    access = ByKey({"GET": "read", "POST": "write"})

    @operation("The prompt's test cases, newest first", query=PageQuerySchema, answers={200: answers.Cases})
    def on_get(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        query: PageQuery = load(_PAGE, req.params)
        page = self._cases.list(
            project_id=req.context.key.project_id, prompt_id=prompt_id, limit=query.limit, cursor=query.cursor
        )
        resp.media = {"testCases": [dump_test_case(row) for row in page.entries], "nextCursor": page.next_cursor}

    @operation("Write a test case by hand", body=WrittenCaseSchema, answers={201: answers.Case})
    def on_post(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        written: WrittenCase = load(_WRITTEN, read_json(req, self._body_bytes))
        row = self._cases.by_hand(
            project_id=req.context.key.project_id,
            prompt_id=prompt_id,
            name=written.name,
            question=written.question,
            expected_answer=written.expected_answer,
            placeholders=written.placeholders,
            actor=req.context.key.actor,
        )
        _created(resp, row)


class ImportedTestCases(_Resource):
    """Takes what `…/export` gives. A test case of the same name becomes what is sent (200), else a new one (201)."""

    access = ByKey({"POST": "write"})

    @operation(
        "Import a test case",
        body=ImportSchema,
        answers={200: answers.Case, 201: answers.Case},
        answer_headers=("Location",),
    )
    def on_post(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        sent = load(_IMPORT, read_json(req, IMPORT_BYTES))
        imported = self._cases.bring_in(
            project_id=req.context.key.project_id,
            prompt_id=prompt_id,
            name=sent["name"],
            document=sent["test_case"],
            actor=req.context.key.actor,
        )
        _created(resp, imported.row)
        if not imported.created:
            resp.status = falcon.HTTP_200


class TestCaseResource(_Resource):
    access = ByKey({"GET": "read", "PATCH": "write", "DELETE": "write"})

    @operation("One test case", answers={200: answers.Case})
    def on_get(self, req: falcon.Request, resp: falcon.Response, test_case_id: int) -> None:
        resp.media = dump_test_case(self._cases.get(project_id=req.context.key.project_id, test_case_id=test_case_id))

    @operation("Change what a test case checks", body=CaseChangeSchema, answers={200: answers.Case})
    def on_patch(self, req: falcon.Request, resp: falcon.Response, test_case_id: int) -> None:
        asked: CaseChange = load(_CHANGE, read_json(req, self._body_bytes))
        row = self._cases.change(
            project_id=req.context.key.project_id,
            test_case_id=test_case_id,
            name=asked.name,
            changes=asked.changes,
            actor=req.context.key.actor,
        )
        resp.media = dump_test_case(row)

    @operation("Delete a test case; what its replays found stays", answers={204: None})
    def on_delete(self, req: falcon.Request, resp: falcon.Response, test_case_id: int) -> None:
        key = req.context.key
        self._cases.delete(project_id=key.project_id, test_case_id=test_case_id, actor=key.actor)
        resp.status = falcon.HTTP_204


class TestCaseCopy(_Resource):
    access = ByKey({"POST": "write"})

    @operation("Copy a test case", body=CopySchema, body_optional=True, answers={201: answers.Case})
    def on_post(self, req: falcon.Request, resp: falcon.Response, test_case_id: int) -> None:
        name: str | None = load(_COPY, read_json(req, self._body_bytes, optional=True))["name"]
        key = req.context.key
        row = self._cases.copy(project_id=key.project_id, test_case_id=test_case_id, name=name, actor=key.actor)
        _created(resp, row)


class TestCaseExport(_Resource):
    access = ByKey({"GET": "read"})

    @operation("A test case as a file for a repository", answers={200: answers.Export})
    def on_get(self, req: falcon.Request, resp: falcon.Response, test_case_id: int) -> None:
        row = self._cases.get(project_id=req.context.key.project_id, test_case_id=test_case_id)
        resp.media = dump_export(row)


def _created(resp: falcon.Response, row: TestCaseRow) -> None:
    resp.status = falcon.HTTP_201
    resp.location = f"/api/v1/test-cases/{row.id}"
    resp.media = dump_test_case(row)
