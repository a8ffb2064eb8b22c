"""Reads the parts of a replay: its test case, the content that it plays, and the model that judges."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection

from app.errors import Invalid, NotFound, require
from app.models import calibrations, prompt_versions
from app.models import cases as test_cases
from app.models.language_models import LanguageModel
from app.models.replays import ReplayRow
from app.replay.cases import load_case
from app.replay.types import TestCase
from app.services.language_models.service import ModelService
from app.services.prompts.content import PromptContent, parse_placeholders
from app.services.prompts.service import PromptReader
from app.services.replays.ports import SnapshotDraft


@dataclass(frozen=True, slots=True)
class Prepared:
    """The parts of a replay, read in one transaction."""

    row: ReplayRow
    case: TestCase
    draft: SnapshotDraft
    judge: LanguageModel | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    models: ModelService
    reader: PromptReader

    def prepare(self, connection: Connection, row: ReplayRow) -> Prepared:
        """Return the parts of a replay; a calibration's has the test case as it was when that was started.

        Raises `NotFound` or `Invalid` if one of them is gone.
        """
        found = test_cases.find_test_case(connection, project_id=row.project_id, test_case_id=row.test_case_id)
        if found is None:
            raise NotFound("The test case was deleted before it was replayed.")
        head = self.reader.head(connection, project_id=row.project_id, prompt_id=row.prompt_id)
        case = load_case(_document(connection, row) if row.calibration_id is not None else found.document)
        if case.assertion_value is None:
            case = msgspec.structs.replace(case, assertion_value=head.assertion_value)
        kept = prompt_versions.get_snapshot(connection, snapshot_id=row.draft_snapshot_id)
        draft = PromptContent(
            row.prompt_id,
            head.name,
            None,
            kept.value,
            kept.instruction_format,
            self.models.read(connection, organization_id=row.organization_id, model_id=kept.language_model_id),
            kept.config,
            parse_placeholders(kept.placeholders),
        )
        versions = prompt_versions.version_tools(
            connection,
            prompt_id=row.prompt_id,
            commit_hashes={turn.prompt_version for turn in case.turns if turn.prompt_version},
            before=found.created_at,
        )
        defined = prompt_versions.ever_defined_tools(connection, prompt_id=row.prompt_id)
        return Prepared(row, case, SnapshotDraft(draft, versions, defined), self._judge_model(connection, row))

    def _judge_model(self, connection: Connection, row: ReplayRow) -> LanguageModel | None:
        """Return the model that judges, which was chosen when the replay was started."""
        if row.judge_model_id is None:
            return None
        try:
            return self.models.read(connection, organization_id=row.organization_id, model_id=row.judge_model_id)
        except Invalid:
            return None


def _document(connection: Connection, row: ReplayRow) -> object:
    found = calibrations.document_of(connection, calibration_id=row.calibration_id or 0, before=row.created_at)
    return require(found, "The calibration was deleted before it was replayed.")
