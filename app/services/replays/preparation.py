"""Reads the parts of a replay: its test case, the played content, and the judge model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

from sqlalchemy import Connection

from app.errors import Invalid, require
from app.models import budgets, calibrations, case_snapshots, prompt_versions
from app.models import cases as test_cases
from app.models.case_snapshots import PlayedCase
from app.models.language_models import LanguageModel
from app.models.prompts import PromptHead
from app.models.replays import ReplayRow
from app.replay.case_types import DeclaredEffect, TestCase
from app.replay.cases import load_case
from app.replay.effect_proposals import EffectProposal, proposed_effects
from app.replay.fault_types import Fault
from app.replay.program_transcript import Transcript, program_case
from app.services.language_models.service import ModelService
from app.services.prompts.content import content_of_snapshot
from app.services.prompts.reader import PromptReader
from app.services.replays.frozen import FrozenFaults, resolved
from app.services.replays.ports import PlayedContent, SnapshotDraft
from app.services.replays.program_store import ProgramStore
from app.values.structs import convert


class FrozenDraft(Protocol):
    """A replay or an audit: a row that refers to a frozen draft (a snapshot) and to the model of the judge."""

    @property
    def organization_id(self) -> int: ...
    @property
    def prompt_id(self) -> int: ...
    @property
    def draft_snapshot_id(self) -> int: ...
    @property
    def judge_model_id(self) -> int | None: ...


class PreparedCase(NamedTuple):
    """A test case as a replay plays it, and when the test case was made."""

    case: TestCase
    made_at: datetime


@dataclass(frozen=True, slots=True)
class Prepared:
    """The parts of a replay, read in one transaction.

    `judge` is the model of the judge, None without one. `max_cost` is the limit of the experiment in USD, None without
    one. `program` is what a program did, None for a replay of a prompt. `proposed` has the effects that a model
    proposed for the tools as they are defined now, by tool.
    """

    row: ReplayRow
    case: TestCase
    draft: SnapshotDraft
    judge: LanguageModel | None
    max_cost: float | None
    program: Transcript | None = None
    proposed: Mapping[str, DeclaredEffect] = field(default_factory=dict)

    @property
    def faults(self) -> tuple[Fault, ...]:
        return convert(self.row.faults, FrozenFaults).faults if self.row.faults else ()


@dataclass(frozen=True, slots=True)
class Drafts:
    """A frozen content, for the replays of several test cases: what these share is read and rendered once.

    `defined` is True if any version of the prompt defines tools. `tools` caches the names of the tools of versions by
    commit hash, None for versions that do not exist.
    """

    connection: Connection
    content: PlayedContent
    defined: bool
    tools: dict[str, frozenset[str] | None] = field(default_factory=dict)

    def of(self, case: TestCase, made_at: datetime) -> SnapshotDraft:
        """Return the draft for a test case that was made at `made_at`.

        The draft knows the tools of the versions that the turns name. Turns without a version have the tools of the
        version that was the newest at `made_at`. Raises `Invalid` if a rendered text would be too long.
        """
        self.content.add(case)
        prompt_id = self.content.content.prompt_id
        newest = prompt_versions.newest_version(self.connection, prompt_id=prompt_id, before=made_at)
        named = {turn.prompt_version for turn in case.turns if turn.prompt_version} | ({newest} if newest else set())
        unread = named - self.tools.keys()
        read = prompt_versions.tools_of_versions(self.connection, prompt_id=prompt_id, commit_hashes=unread)
        self.tools.update({commit_hash: read.get(commit_hash) for commit_hash in unread})
        versions: dict[str | None, frozenset[str]] = {
            commit_hash: tools for commit_hash in named if (tools := self.tools[commit_hash]) is not None
        }
        if newest and newest in versions:
            versions[None] = versions[newest]
        return SnapshotDraft(self.content, versions, self.defined)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    models: ModelService
    reader: PromptReader
    programs: ProgramStore

    def prepare(
        self,
        connection: Connection,
        row: ReplayRow,
        program: Transcript | None = None,
        played: PreparedCase | None = None,
    ) -> Prepared:
        """Return the parts of a replay; raises `NotFound` or `Invalid` if one of them no longer exists.

        `program` is what the replay's program did, and `played` its test case, if these are read already.
        """
        head = self.reader.head(connection, project_id=row.project_id, prompt_id=row.prompt_id)
        case, made_at = played or _case(connection, row, head)
        if row.external and program is None:
            stored = self.programs.find(connection, project_id=row.project_id, replay_id=row.id)
            program = require(stored, "What the program did was removed.").transcript
        snapshot = self.drafts(connection, head, row).of(case, made_at)
        max_cost = row.budget_id and budgets.find_max_cost(connection, experiment_id=row.budget_id)
        tools = program.tools if program else snapshot.tools
        proposals = test_cases.proposals_of(connection, project_id=row.project_id, test_case_id=row.test_case_id)
        proposed = proposed_effects(convert(proposals, dict[str, EffectProposal]), case, tools)
        return Prepared(row, case, snapshot, self.judge_model(connection, row), max_cost, program, proposed)

    def case_of(self, connection: Connection, row: ReplayRow) -> PreparedCase:
        """Return the test case of a replay. Raises `NotFound` if it or its prompt was removed."""
        head = self.reader.head(connection, project_id=row.project_id, prompt_id=row.prompt_id)
        return _case(connection, row, head)

    def drafts(self, connection: Connection, head: PromptHead, row: FrozenDraft) -> Drafts:
        """Return the content that was frozen for a row, from which `Drafts.of` makes the draft of each test case."""
        kept = prompt_versions.get_snapshot(connection, snapshot_id=row.draft_snapshot_id)
        model = self.models.read(connection, organization_id=row.organization_id, model_id=kept.language_model_id)
        content = content_of_snapshot(head, kept, model)
        defined = prompt_versions.ever_defined_tools(connection, prompt_id=row.prompt_id)
        return Drafts(connection, PlayedContent(content), defined)

    def judge_model(self, connection: Connection, row: FrozenDraft) -> LanguageModel | None:
        """Return the model of the judge that was chosen at the start; None without one, or if it can't be used."""
        if row.judge_model_id is None:
            return None
        try:
            return self.models.read(connection, organization_id=row.organization_id, model_id=row.judge_model_id)
        except Invalid:
            return None


def _case(connection: Connection, row: ReplayRow, head: PromptHead) -> PreparedCase:
    played = _played(connection, row)
    case = load_case(resolved(played.document, head))
    return PreparedCase(program_case(case) if row.external else case, played.created_at)


def _played(connection: Connection, row: ReplayRow) -> PlayedCase:
    """Return the test case as it was when the replay was requested."""
    deleted = "The test case was deleted before it was replayed."
    if row.case_snapshot_id is not None:
        return require(case_snapshots.played_case(connection, snapshot_id=row.case_snapshot_id), deleted)
    # Replays of earlier releases have no snapshot: they play the present test case, or their calibration's copy of it.
    stored = test_cases.find_test_case(connection, project_id=row.project_id, test_case_id=row.test_case_id)
    case = require(stored, deleted)
    if row.calibration_id is None:
        return PlayedCase(case.document, case.created_at)
    copied = calibrations.document_of(connection, calibration_id=row.calibration_id, before=row.created_at)
    return PlayedCase(require(copied, "The calibration was deleted before it was replayed."), case.created_at)
