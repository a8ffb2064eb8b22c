"""Audits as callers see them: starts, reads and lists them, and finds the one that an experiment needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec import structs, to_builtins
from sqlalchemy import Connection

from app.audit.figures import AuditFigures, ProbeOutcome, noticed_sentence
from app.audit.probes import PROBES, Probe
from app.audit.staleness import AuditBasis, stale_reason
from app.database.transactions import Database
from app.errors import Invalid, require
from app.models import cases as test_cases
from app.models import judge_audits, replays
from app.models.case_snapshots import snapshot_fingerprint
from app.models.judge_audits import JudgeAuditRow
from app.models.language_models import LanguageModel
from app.models.prompts import PromptHead
from app.models.queries import insert_row
from app.pagination import ListPage, page_by_id
from app.replay.case_types import Judging
from app.replay.rubric import RUBRIC_ID
from app.services.audits.claims import AUDIT_WORK, CANCELLED
from app.services.prompts.reader import PromptReader
from app.services.replays.candidates import CandidateContent, CandidateReader
from app.services.replays.frozen import FrozenCase, freeze_cases, freeze_content
from app.services.replays.judge_choice import JudgeChoice
from app.services.replays.preparation import Preparation
from app.services.replays.service import ReplayService
from app.timestamps import Now
from app.values.structs import convert
from app.work.cancelling import cancelled

COST_MAX = 5.0
"""The most that an audit costs, in USD, which an experiment starts by itself."""


@dataclass(frozen=True, slots=True)
class JudgeAuditView:
    """An audit; `stale` is the reason why it no longer describes the gate, and `outcomes` are those of its probes.

    `sentence` is the one that verdicts have, None until the audit has ended.
    """

    row: JudgeAuditRow
    judge: str | None
    stale: str | None
    outcomes: tuple[ProbeOutcome, ...] = ()

    @property
    def figures(self) -> AuditFigures | None:
        return convert(self.row.figures, AuditFigures) if self.row.figures else None

    @property
    def reported_model(self) -> str | None:
        """The model that the vendor of the judge reported."""
        return convert(self.row.basis, AuditBasis).reported_model or None

    @property
    def sentence(self) -> str | None:
        return sentence_of(self.row)


def sentence_of(row: JudgeAuditRow) -> str | None:
    """Return the sentence that verdicts have; None until the audit has ended."""
    if not row.finished:
        return None
    subject = "The checks without a judge" if row.judge_model_id is None else "The judge"
    if row.figures is None:
        return f"{subject} could not be audited: {row.error}"
    return noticed_sentence(convert(row.figures, AuditFigures), subject)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAuditService:
    database: Database
    now: Now
    preparation: Preparation
    reader: PromptReader
    candidates: CandidateReader
    replays: ReplayService

    def start(
        self,
        *,
        project_id: int,
        prompt_id: int,
        judge_model: str | None = None,
        judging: Judging = "auto",
        probes: int = PROBES,
        max_cost: float | None = None,
        seed: str | None = None,
    ) -> JudgeAuditRow:
        """Write the row of an audit of all test cases with the draft; the caller then sends its message.

        Raises `NotFound` for an unknown prompt, and `Invalid` without test cases or for a model that can't judge.
        """

        def add(connection: Connection) -> int:
            candidate = self.candidates.read(connection, project_id=project_id, prompt_id=prompt_id)
            cases = freeze_cases(connection, candidate.head, None, now=self.now())
            if not cases:
                raise Invalid("The prompt has no test cases, so there is nothing to audit.")
            judge = self.replays.choose_judge(connection, candidate, cases, JudgeChoice(judge_model, judging))
            columns = {"probes": probes, "max_cost": max_cost, "seed": seed or _seed(candidate.head)}
            return self._add(connection, candidate, cases, judge, columns)

        audit_id = self.database.retrying(add)
        with self.database.read() as connection:
            return require(judge_audits.find_audit_by_id(connection, audit_id=audit_id), "The audit was removed.")

    def ensure(
        self,
        connection: Connection,
        candidate: CandidateContent,
        cases: Sequence[FrozenCase],
        judge: LanguageModel | None,
        *,
        max_cost: float | None,
    ) -> int:
        """Return the audit that describes the gate now: an earlier one that is not stale, else a new one.

        An earlier one with fewer probes does not count: anybody who may run models could start it.
        """
        head = candidate.head
        most = COST_MAX if max_cost is None else min(max_cost, COST_MAX)
        known = judge_audits.latest_audit(
            connection, prompt_id=head.id, judge_model_id=judge.id if judge else None, probes=PROBES, max_cost=most
        )
        if known and _stale(connection, known, judge, _fingerprints(connection, head)) is None:
            return known.id
        return self._add(connection, candidate, cases, judge, {"probes": PROBES, "max_cost": most, "seed": _seed(head)})

    def get(self, *, project_id: int, audit_id: int) -> JudgeAuditView:
        """Return an audit with its probes."""
        with self.database.read() as connection:
            stored = judge_audits.find_audit(connection, project_id=project_id, audit_id=audit_id)
            row = require(stored, "There is no such audit.")
            head = self.reader.head(connection, project_id=row.project_id, prompt_id=row.prompt_id)
            work = judge_audits.work_of(connection, audit_id=row.id)
            return self._view(connection, row, _fingerprints(connection, head), _outcomes(work))

    def cancel(self, *, project_id: int, audit_id: int) -> JudgeAuditView:
        """Cancel the audit. Raises `Conflict` if it has ended."""
        values = {"error": CANCELLED, "claim": None}
        cancel = partial(AUDIT_WORK.cancel, row_id=audit_id, project_id=project_id, now=self.now(), values=values)
        view = partial(self.get, project_id=project_id, audit_id=audit_id)
        return cancelled(self.database, cancel, view, "audit")

    def list(
        self, *, project_id: int, prompt_id: int, limit: int = 50, cursor: str | None = None
    ) -> ListPage[JudgeAuditView]:
        """List the audits of a prompt, newest first, without their probes."""
        with self.database.read() as connection:
            head = self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            present = _fingerprints(connection, head)
            read = partial(judge_audits.list_audits, connection, prompt_id=prompt_id)
            page = page_by_id(read, limit=limit, cursor=cursor)
            return ListPage([self._view(connection, row, present) for row in page.entries], page.next_cursor)

    def _view(
        self,
        connection: Connection,
        row: JudgeAuditRow,
        fingerprints: dict[str, str],
        outcomes: tuple[ProbeOutcome, ...] = (),
    ) -> JudgeAuditView:
        """Return an audit as callers see it; `fingerprints` are those of the prompt's present test cases."""
        judge = self.preparation.judge_model(connection, row)
        stale = _stale(connection, row, judge, fingerprints)
        return JudgeAuditView(row, judge.name if judge else None, stale, outcomes)

    def _add(
        self,
        connection: Connection,
        candidate: CandidateContent,
        cases: Sequence[FrozenCase],
        judge: LanguageModel | None,
        columns: dict[str, Any],
    ) -> int:
        return insert_row(
            connection,
            judge_audits.judge_audits,
            project_id=candidate.head.project_id,
            prompt_id=candidate.head.id,
            status="queued",
            judge_model_id=judge and judge.id,
            draft_snapshot_id=freeze_content(connection, candidate),
            basis=to_builtins(_basis(judge, _fingerprints(connection, candidate.head))),
            snapshots={str(case.test_case_id): case.snapshot_id for case in cases},
            created_at=self.now(),
            **columns,
        )


def _stale(
    connection: Connection, row: JudgeAuditRow, judge: LanguageModel | None, fingerprints: dict[str, str]
) -> str | None:
    """Return why an audit is stale; `fingerprints` are those of the prompt's present test cases."""
    present, reported = _basis(judge, fingerprints), None
    if judge and row.finished_at:
        reported = replays.reported_judge(connection, prompt_id=row.prompt_id, judge_model_id=judge.id)
    if reported and row.finished_at and reported.finished_at > row.finished_at:
        present = structs.replace(present, reported_model=reported.model)
    return stale_reason(convert(row.basis, AuditBasis), present)


def _fingerprints(connection: Connection, head: PromptHead) -> dict[str, str]:
    """Return the fingerprints of a prompt's test cases as they are now, by id."""
    present = test_cases.fingerprints_of(connection, prompt_id=head.id)
    return {str(id_): snapshot_fingerprint(fingerprint, head.assertion_value) for id_, fingerprint in present.items()}


def _basis(judge: LanguageModel | None, fingerprints: dict[str, str]) -> AuditBasis:
    return AuditBasis(judge.name if judge else "", RUBRIC_ID, fingerprints)


def _seed(head: PromptHead) -> str:
    """Return the seed of a prompt's audits: the same test cases give the same probes."""
    return f"prompt {head.id}"


def _outcomes(work: judge_audits.AuditWork) -> tuple[ProbeOutcome, ...]:
    verdicts = work.verdicts or {}
    return tuple(
        ProbeOutcome(convert(probe, Probe), **_fields(verdicts[str(index)]))
        for index, probe in enumerate(work.drawn or ())
        if str(index) in verdicts
    )


def _fields(verdict: dict[str, Any]) -> dict[str, Any]:
    return {"verdict": verdict["verdict"], "reason": verdict.get("reason"), "decided_by": verdict.get("decidedBy")}
