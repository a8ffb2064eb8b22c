"""Runs audits in a worker: draws the probes, plays each through the gate, and stores what the gate decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any
from uuid import uuid4

import orjson
import structlog
from msgspec import to_builtins
from sqlalchemy import Connection

from app.audit.figures import ProbeOutcome, figures_of
from app.audit.playing import play_probe
from app.audit.probes import DRAWING_STEPS_MAX, Labelled, Probe, ProbedCase, draw_probes
from app.database.transactions import Database
from app.errors import Invalid, NotFound, Unavailable, require
from app.models import case_snapshots, judge_audits
from app.models.case_snapshots import PlayedCase
from app.models.judge_audits import AuditWork, JudgeAuditRow
from app.models.language_models import LanguageModel
from app.providers.types import ProviderPort
from app.replay.case_types import TestCase
from app.replay.cases import load_case
from app.replay.open_steps import JUDGE_FAILED
from app.replay.ports import JudgePort, Ports
from app.services.audits.claims import ATTEMPTS_MAX, AUDIT_WORK, INTERRUPTED
from app.services.audits.labels import labels_of
from app.services.audits.progress import AuditProgress, CostLimit
from app.services.language_models.credentials import CredentialService
from app.services.masking.rules import MaskingRules, MessageMasking
from app.services.prompts.reader import PromptReader
from app.services.replays.ports import MeteredModel, SnapshotDraft
from app.services.replays.preparation import Preparation
from app.timestamps import Now
from app.values.budget import WorkBudget
from app.values.json import count_marks
from app.values.structs import convert
from app.work.heartbeat import Heartbeat, Patience
from app.work.table import Claim

log = structlog.get_logger(__name__)

HEARTBEAT_S = 2.0
SIDE_BY_SIDE = 4
FAILURES_MAX = 5  # of the judge, without a single verdict
CASES_BYTES = 32 * 1024 * 1024
"""Memory for an audit's test cases: the bytes of their JSON, and `ELEMENT_BYTES` for each list, object and value."""
ELEMENT_BYTES = 32


@dataclass(frozen=True, slots=True)
class PreparedAudit:
    """The parts of an audit: the test cases with their drafts, and the judge's model."""

    row: JudgeAuditRow
    cases: dict[int, tuple[ProbedCase, SnapshotDraft]]
    judge: LanguageModel | None
    probes: list[Probe] | None
    verdicts: dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAuditRunner:
    """Runs audits in a worker.

    `call_timeout_s` limits one answer of the judge. `stopping` returns True once this process ends: then the audit is
    given up, and another worker continues it.
    """

    database: Database
    now: Now
    reader: PromptReader
    preparation: Preparation
    credentials: CredentialService
    providers: ProviderPort
    rules: MaskingRules
    call_timeout_s: float
    stopping: Callable[[], bool]
    heartbeat_s: float = HEARTBEAT_S
    patience: Patience = field(default_factory=Patience)

    def run(self, audit_id: int) -> int | None:
        """Run the audit and return the id of its prompt, None for one that another worker has or that has ended.

        A message may be delivered twice.

        Raises `Unavailable` if this process ends before the audit does; another worker then continues it.
        """
        claim = Claim(audit_id, str(uuid4()), self.now())
        row = self.database.retrying(lambda connection: _claimed(connection, claim))
        if row is None:
            return None
        ended = False
        try:
            self._run(row, claim)
            ended = True
        finally:
            if not ended:
                self.database.retrying(lambda connection: AUDIT_WORK.release(connection, claim))
        return row.prompt_id

    def _run(self, row: JudgeAuditRow, claim: Claim) -> None:
        if row.attempts > ATTEMPTS_MAX:
            self._end(claim, {"status": "error", "error": INTERRUPTED})
            return
        try:
            with self.database.read() as connection:
                prepared = self._prepared(connection, row)
        except (NotFound, Invalid) as gone:
            self._end(claim, {"status": "error", "error": str(gone)})
            return
        progress = AuditProgress(row, dict(prepared.verdicts))
        heartbeat = Heartbeat(
            database=self.database, now=self.now, table=AUDIT_WORK, every_s=self.heartbeat_s, progress=progress.columns
        )
        with heartbeat.of(row.id, claim.token):
            probes = self._probes(prepared, claim)
            limit = self._play(prepared, probes, progress, heartbeat)
            if heartbeat.lost():
                return
            if self.stopping() and not limit.stopped and len(progress.verdicts) + len(progress.failures) < len(probes):
                self.database.retrying(
                    lambda connection: AUDIT_WORK.touch(
                        connection, {row.id: claim.token}, now=self.now(), values=progress.columns()
                    )
                )
                raise Unavailable("This process is ending; another one will continue the audit.")
            self._end(claim, _ended(probes, progress, limit.reason))

    def _prepared(self, connection: Connection, row: JudgeAuditRow) -> PreparedAudit:
        """Return the parts of an audit; raises `NotFound` or `Invalid` if one of them no longer exists."""
        head = self.reader.head(connection, project_id=row.project_id, prompt_id=row.prompt_id)
        work = judge_audits.work_of(connection, audit_id=row.id)
        drafts = self.preparation.drafts(connection, head, row)
        loaded: dict[int, tuple[TestCase, SnapshotDraft]] = {}
        for number, played in _played(connection, work):
            case = load_case(played.document)
            # Beyond the instructions that one process renders there are fewer probes.
            with suppress(Invalid):
                loaded[number] = case, drafts.of(case, played.created_at)
        labels = labels_of(connection, row.prompt_id, {number: case for number, (case, _) in loaded.items()})
        cases = {
            number: (_probed(number, *parts, labels.get(number, ())), parts[1]) for number, parts in loaded.items()
        }
        drawn = None if work.drawn is None else [convert(probe, Probe) for probe in work.drawn]
        judge = self.preparation.judge_model(connection, row)
        return PreparedAudit(row, cases, judge, drawn, work.verdicts or {})

    def _probes(self, prepared: PreparedAudit, claim: Claim) -> list[Probe]:
        """Return the probes; the first attempt draws and stores them, so that all attempts have the same."""
        if prepared.probes is not None:
            return prepared.probes
        row = prepared.row
        cases = [probed for probed, _ in prepared.cases.values()]
        probes = _interleaved(draw_probes(cases, row.seed, row.probes, WorkBudget(DRAWING_STEPS_MAX)))
        columns = {"drawn": to_builtins(probes), "total": len(probes)}
        tokens = {claim.row_id: claim.token}
        self.database.retrying(lambda connection: AUDIT_WORK.touch(connection, tokens, now=self.now(), values=columns))
        return probes

    def _play(
        self, prepared: PreparedAudit, probes: Sequence[Probe], progress: AuditProgress, heartbeat: Heartbeat
    ) -> CostLimit:
        limit = CostLimit(progress)
        judge = self._judge(prepared, progress, limit)
        masking = self.rules.of(prepared.row.project_id)

        def play(index: int) -> None:
            hopeless = len(progress.failures) >= FAILURES_MAX and not progress.verdicts
            if limit.stopped or hopeless or heartbeat.lost() or self.stopping():
                return
            probe = probes[index]
            probed, draft = prepared.cases[probe.test_case_id]
            asked = judge if probed.case.judge != "never" else None
            outcome = play_probe(probed.case, probe, lambda model: Ports(model, draft, asked))
            if outcome.reason and outcome.reason.startswith(JUDGE_FAILED):
                progress.failures.append(outcome.reason)
                return
            reason = MessageMasking(masking).other(outcome.reason) if masking else outcome.reason
            progress.put(index, ProbeOutcome(probe, outcome.verdict, reason, outcome.decided_by))

        waiting = [index for index in range(len(probes)) if str(index) not in progress.verdicts]
        with ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix=f"audit-{prepared.row.id}") as pool:
            list(pool.map(play, waiting))
        return limit

    def _judge(self, prepared: PreparedAudit, progress: AuditProgress, limit: CostLimit) -> JudgePort | None:
        if prepared.judge is None:
            return None
        metered = MeteredModel(
            prepared.judge,
            {"temperature": 0},
            self.providers,
            self.credentials,
            progress,
            limit,
            self.call_timeout_s,
            prepared.row.organization_id,
            progress.note_judge_model,
        )
        return metered.as_judge()

    def _end(self, claim: Claim, values: dict[str, Any]) -> None:
        def work(connection: Connection) -> bool:
            return AUDIT_WORK.finish(connection, claim, {**values, "claim": None}, now=self.now())

        stored = self.patience(self.database.retrying, work)
        log.info("audit", audit_id=claim.row_id, status=values["status"], stored=stored)


def _played(connection: Connection, work: AuditWork) -> Iterator[tuple[int, PlayedCase]]:
    """Yield the first test cases by their id, until they have `CASES_BYTES`; raises `NotFound` for a deleted one."""
    left = CASES_BYTES
    for name, snapshot_id in work.snapshots.items():
        if left < 0:
            return
        stored = case_snapshots.played_case(connection, snapshot_id=snapshot_id)
        played = require(stored, "A test case was deleted before the audit.")
        yield int(name), played
        text = orjson.dumps(played.document)
        left -= len(text) + ELEMENT_BYTES * count_marks(text)


def _probed(number: int, case: TestCase, draft: SnapshotDraft, labels: tuple[Labelled, ...]) -> ProbedCase:
    instruction = draft.render(case.turns[0].placeholders or {}).instruction
    return ProbedCase(number, case, instruction, labels, draft.tools)


def _ended(probes: Sequence[Probe], progress: AuditProgress, stopped: str) -> dict[str, Any]:
    """Return the columns of an audit that has ended, with the probes that could not be judged left out.

    `stopped` is the reason why it ended early, empty if it did not. A probe with a refused call may have a verdict
    that needs no judge.
    """
    columns = progress.columns()
    left = len(probes) - len(progress.verdicts)
    reason = progress.failures[0] if progress.failures else stopped
    error = f"{left} of {len(probes)} probes were not judged: {reason}" if left and reason else None
    if progress.failures and not progress.verdicts:
        return {**columns, "status": "error", "error": error}
    outcomes = [
        ProbeOutcome(probe, progress.verdicts[str(index)]["verdict"])
        for index, probe in enumerate(probes)
        if str(index) in progress.verdicts
    ]
    return {**columns, "status": "finished", "error": error, "figures": to_builtins(figures_of(outcomes))}


def _interleaved(probes: Sequence[Probe]) -> list[Probe]:
    """Return planted errors and harmless probes in turn, so that an audit that is cut short has both."""
    planted, harmless = ([probe for probe in probes if probe.planted is side] for side in (True, False))
    return [probe for pair in zip_longest(planted, harmless) for probe in pair if probe is not None]


def _claimed(connection: Connection, claim: Claim) -> JudgeAuditRow | None:
    """Claim the audit and return it; None if it can't be claimed."""
    if not AUDIT_WORK.claim(connection, [claim.row_id], token=claim.token, now=claim.alive_at):
        return None
    return judge_audits.find_audit_by_id(connection, audit_id=claim.row_id)
