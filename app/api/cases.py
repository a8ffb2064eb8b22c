"""Test cases: /api/v1/sessions/{id}/test-cases, /api/v1/prompts/{id}/test-cases and /api/v1/test-cases/{id}."""

from __future__ import annotations

from dataclasses import replace

from app.api.operation import ApiReply, Command, Resource, operation
from app.models.api_keys import ApiKey
from app.models.cases import TestCaseRow
from app.pagination import ListPage
from app.schemas import cases as schemas
from app.schemas.base import PageQuerySchema
from app.services.replays.case_commands import CaseChange, WrittenCase
from app.services.replays.cases import CaseView
from app.services.replays.proposals import CaseProposal
from app.services.replays.stored_cases import DOCUMENT_BYTES
from app.wiring.container import Container

# An exported file is the document with indentation, which makes it up to four times as long.
IMPORT_BYTES = 4 * DOCUMENT_BYTES
LOCATION = "/api/v1/test-cases/{id}"


def _ask_for_effects(container: Container, key: ApiKey, row: TestCaseRow) -> None:
    """Let a model propose effects of the test case's unknown tools; that costs money, and so needs the scope `run`."""
    if "run" in key.scopes:
        container.effects_delivery.send(row)


class SessionTestCases(Resource, POST="write"):
    @operation(
        "Make a test case of a session",
        body=schemas.CaseChangeSchema,
        body_optional=True,
        answers={201: schemas.TestCaseSchema},
        location=LOCATION,
    )
    def on_post(self, key: ApiKey, session_id: str, command: CaseChange) -> CaseView:
        row = self.services.test_cases.from_session(
            project_id=key.project_id, session_id=session_id, change=command, actor=key.actor
        )
        _ask_for_effects(self.container, key, row)
        return self.services.test_cases.view(row)


class TestCaseProposalResource(Resource, GET="read"):
    @operation(
        "Preview the test case of a session without changes; nothing is stored",
        answers={200: schemas.TestCaseProposalSchema},
    )
    def on_get(self, key: ApiKey, session_id: str) -> CaseProposal:
        proposal = self.services.test_cases.proposed(project_id=key.project_id, session_id=session_id)
        part_of = self.services.test_cases.part_of(project_id=key.project_id, session_id=session_id)
        return replace(proposal, part_of=part_of)


class PromptTestCases(Resource, GET="read", POST="write"):
    @operation("The prompt's test cases, newest first", query=PageQuerySchema, answers={200: schemas.TestCases})
    def on_get(self, key: ApiKey, prompt_id: int, command: Command) -> ListPage[CaseView]:
        page = self.services.test_cases.list(project_id=key.project_id, prompt_id=prompt_id, **command)
        return ListPage([*self.services.test_cases.views(page.entries)], page.next_cursor)

    @operation(
        "Write a test case by hand",
        body=schemas.WrittenCaseSchema,
        answers={201: schemas.TestCaseSchema},
        location=LOCATION,
    )
    def on_post(self, key: ApiKey, prompt_id: int, command: WrittenCase) -> CaseView:
        row = self.services.test_cases.by_hand(
            project_id=key.project_id, prompt_id=prompt_id, written=command, actor=key.actor
        )
        return self.services.test_cases.view(row)


class ImportedTestCases(Resource, POST="write"):
    """Imports an exported file. It replaces the test case of the same name (200), or makes a new one (201)."""

    @operation(
        "Import a test case",
        body=schemas.ImportSchema,
        limit="import",
        answers={200: schemas.TestCaseSchema, 201: schemas.TestCaseSchema},
        answer_headers=("Location",),
        location=LOCATION,
    )
    def on_post(self, key: ApiKey, prompt_id: int, command: Command) -> ApiReply:
        imported = self.services.test_cases.import_case(
            project_id=key.project_id,
            prompt_id=prompt_id,
            name=command["name"],
            document=command["test_case"],
            actor=key.actor,
        )
        if imported.created:
            _ask_for_effects(self.container, key, imported.row)
        return ApiReply(201 if imported.created else 200, self.services.test_cases.view(imported.row))


class TestCaseResource(Resource, GET="read", PATCH="write", DELETE="write"):
    @operation("One test case", answers={200: schemas.TestCaseSchema})
    def on_get(self, key: ApiKey, test_case_id: int) -> CaseView:
        row = self.services.test_cases.get(project_id=key.project_id, test_case_id=test_case_id)
        return self.services.test_cases.view(row)

    @operation("Change what a test case checks", body=schemas.CaseChangeSchema, answers={200: schemas.TestCaseSchema})
    def on_patch(self, key: ApiKey, test_case_id: int, command: CaseChange) -> CaseView:
        row = self.services.test_cases.change(
            project_id=key.project_id, test_case_id=test_case_id, change=command, actor=key.actor
        )
        return self.services.test_cases.view(row)

    @operation("Delete a test case; the results of its replays stay", answers={204: None})
    def on_delete(self, key: ApiKey, test_case_id: int) -> None:
        self.services.test_cases.delete(project_id=key.project_id, test_case_id=test_case_id, actor=key.actor)


class TestCaseCopy(Resource, POST="write"):
    @operation(
        "Copy a test case",
        body=schemas.CopySchema,
        body_optional=True,
        answers={201: schemas.TestCaseSchema},
        location=LOCATION,
    )
    def on_post(self, key: ApiKey, test_case_id: int, command: Command) -> CaseView:
        row = self.services.test_cases.copy(
            project_id=key.project_id, test_case_id=test_case_id, **command, actor=key.actor
        )
        _ask_for_effects(self.container, key, row)
        return self.services.test_cases.view(row)


class TestCaseExportResource(Resource, GET="read"):
    @operation("A test case as a file for a repository", answers={200: schemas.TestCaseExportSchema})
    def on_get(self, key: ApiKey, test_case_id: int) -> CaseView:
        return self.services.test_cases.exported(project_id=key.project_id, test_case_id=test_case_id)
