"""Replays as callers see them: starts, lists and cancels them, and stores people's verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from msgspec import structs
from sqlalchemy import Connection

from app.concurrency import computing
from app.database.transactions import Database, retried
from app.errors import Invalid, require
from app.models import audit_log, prompt_versions, replays
from app.models import cases as test_cases
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.known_verdicts import KnownVerdict
from app.models.language_models import LanguageModel
from app.models.replays import ReplayFilter, ReplayRow, ReplaySetup
from app.pagination import ListPage, json_size, page_by_size
from app.replay import documents, results
from app.replay.accepting import StepOutcome, is_acceptable
from app.replay.case_types import Judging
from app.replay.cases import load_case
from app.replay.fault_types import Fault
from app.replay.faults import require_faults
from app.replay.result_types import ReplayResult, StepVerdict
from app.services.language_models.credentials import CredentialService
from app.services.language_models.service import ModelService
from app.services.prompts.reader import PromptReader
from app.services.replays.candidates import DRAFT, Candidate, CandidateContent, CandidateReader
from app.services.replays.claims import REPLAY_WORK
from app.services.replays.earlier_verdicts import put_known, scope_of
from app.services.replays.frozen import FrozenCase, FrozenFaults, freeze_cases, freeze_content
from app.services.replays.judge_choice import JudgeChoice, choose_judge
from app.services.replays.views import ReplayView, views_of
from app.timestamps import Now
from app.work.cancelling import cancelled

# `ReplayService.list` hides the builtin `list` from the annotations below it.
RESULTS_PER_READ = 6
"""Results that one statement reads."""
Ids = list[int]
Rows = list[ReplayRow]


@dataclass(frozen=True, slots=True)
class ProducedStep:
    """The draft's outcome at the position of a test case's step."""

    test_case_id: int
    outcome: StepOutcome


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """The number of steps with verdicts of both a judge and a person, and on how many of them they agree."""

    judged: int
    agreed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayService:
    database: Database
    now: Now
    models: ModelService
    credentials: CredentialService
    reader: PromptReader
    candidates: CandidateReader

    def start(
        self,
        *,
        project_id: int,
        test_case_id: int,
        candidate: Candidate = DRAFT,
        judge_model: str | None = None,
        judging: Judging = "auto",
        variant: str | None = None,
        faults: Sequence[Fault] = (),
    ) -> ReplayRow:
        """Freeze the candidate's content and write the replay's row; the caller sends its message afterwards.

        The recording is played, or the named `variant`, or the recording with `faults`. Raises `Invalid` for a fault
        that fits no call, and `NotFound` for an unknown variant.
        """
        choice = JudgeChoice(judge_model, judging)

        def work(connection: Connection) -> Ids:
            played, case = self.frozen(connection, project_id, test_case_id, candidate, variant, faults)
            return self.add(connection, played, [case], choice)

        return self._started(work)[0]

    def frozen(
        self,
        connection: Connection,
        project_id: int,
        test_case_id: int,
        candidate: Candidate,
        variant: str | None,
        faults: Sequence[Fault],
    ) -> tuple[CandidateContent, FrozenCase]:
        """Return the candidate's content and the test case as a replay plays them; raises as `start`."""
        prompt_id = test_cases.find_prompt_of(connection, project_id=project_id, test_case_id=test_case_id)
        known_id = require(prompt_id, "There is no such test case.")
        played = self.candidates.read(connection, project_id=project_id, prompt_id=known_id, candidate=candidate)
        cases = freeze_cases(connection, played.head, [test_case_id], now=self.now())
        chosen = next((case for case in cases if case.variant_name == variant), None)
        case = require(chosen, f"variant: The test case has no variant {variant!r}.")
        if faults:
            stored = test_cases.find_test_case(connection, project_id=project_id, test_case_id=test_case_id)
            require_faults(load_case(require(stored, "There is no such test case.").document), faults, "faults")
            case = structs.replace(case, faults=FrozenFaults(None, tuple(faults)))
        return played, case

    def start_all(
        self,
        *,
        project_id: int,
        prompt_id: int,
        test_case_ids: Sequence[int] | None = None,
        candidate: Candidate = DRAFT,
        judge_model: str | None = None,
        judging: Judging = "auto",
    ) -> Rows:
        """Start a replay of each test case and of its variants, by default of all of the prompt's: all or none."""

        def work(connection: Connection) -> Ids:
            choice = JudgeChoice(judge_model, judging)
            return self._add(connection, project_id, prompt_id, test_case_ids, candidate, choice)

        return self._started(work)

    def get(self, *, project_id: int, replay_id: int) -> ReplayView:
        """Return the replay with its result; a large one is read when the thread's request has its place to compute."""
        with self.database.read() as connection:
            row = self._require(connection, project_id, replay_id)
            length = replays.result_length(connection, replay_id=replay_id)
            if length <= computing.LARGE_TEXT:
                return self._view(connection, row)
        computing.await_place(length)
        with self.database.read() as connection:
            return self._view(connection, self._require(connection, project_id, replay_id))

    @staticmethod
    def _require(connection: Connection, project_id: int, replay_id: int) -> ReplayRow:
        row = replays.find_replay(connection, project_id=project_id, replay_id=replay_id)
        return require(row, "There is no such replay.")

    @staticmethod
    def _view(connection: Connection, row: ReplayRow) -> ReplayView:
        result = replays.result_of(connection, replay_id=row.id)
        return views_of(connection, row.prompt_id, [row], result)[0]

    def results(self, *, project_id: int, replay_ids: Sequence[int], bytes_max: int) -> dict[int, dict[str, Any]]:
        """Return the results of the project's replays by id, until they have `bytes_max` bytes."""
        results: dict[int, dict[str, Any]] = {}
        with self.database.read() as connection:
            for start in range(0, len(replay_ids), RESULTS_PER_READ):
                ids = replay_ids[start : start + RESULTS_PER_READ]
                results |= replays.results_of(connection, project_id=project_id, ids=ids)
                if sum(map(json_size, results.values())) >= bytes_max:
                    break
        return results

    def list(
        self,
        *,
        project_id: int,
        prompt_id: int,
        filters: ReplayFilter,
        commit_hash: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> ListPage[ReplayView]:
        """List replays, newest first; with `commit_hash` only replays of that version's content."""
        with self.database.read() as connection:
            self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            if commit_hash is not None:
                filters = _of_version(connection, prompt_id, filters, commit_hash)
            read = partial(replays.list_replays, connection, prompt_id=prompt_id, filters=filters)
            page = page_by_size(read, size=lambda row: json_size(row.violations), limit=limit, cursor=cursor)
            return ListPage(views_of(connection, prompt_id, page.entries), page.next_cursor)

    def produced(self, *, project_id: int, replay_id: int, step: int) -> ProducedStep:
        """Return the draft's output for a step, counted over all turns from 0; raises `Invalid` if there is none."""
        view = self.get(project_id=project_id, replay_id=replay_id)
        verdicts = [
            (turn, index, verdict)
            for turn, played in enumerate((view.result or {}).get("turns", ()))
            for index, verdict in enumerate(played["steps"])
        ]
        if view.row.faults:
            raise Invalid("n: what a draft does after a fault can't become the expectation of the recording")
        if not 0 <= step < len(verdicts) or not is_acceptable(verdicts[step][2]):
            raise Invalid("n: the draft produced nothing for this step")
        turn, index, verdict = verdicts[step]
        return ProducedStep(view.row.test_case_id, StepOutcome(turn, index, verdict["actual"]))

    def cancel(self, *, project_id: int, replay_id: int) -> ReplayView:
        """Cancel the replay; its worker notices before its next call of a model. `Conflict` if it has ended."""
        cancel = partial(REPLAY_WORK.cancel, row_id=replay_id, project_id=project_id, now=self.now())
        view = partial(self.get, project_id=project_id, replay_id=replay_id)
        return cancelled(self.database, cancel, view, "replay")

    def decide(
        self, *, project_id: int, replay_id: int, step: int, verdict: Literal["passed", "failed"], actor: Actor = SYSTEM
    ) -> ReplayView:
        """Store a person's verdict on a step that needs review, or that a judge decided; else raises `Invalid`."""
        self._decide(project_id, replay_id, step, verdict, actor)
        return self.get(project_id=project_id, replay_id=replay_id)

    @retried
    def _decide(
        self, project_id: int, replay_id: int, step: int, verdict: Literal["passed", "failed"], actor: Actor
    ) -> None:
        while True:
            view = self.get(project_id=project_id, replay_id=replay_id)
            if view.result is None or not view.row.finished:
                raise Invalid("n: the replay has not ended")
            decided = results.with_verdict(documents.load(view.result, ReplayResult), step, verdict)
            values = {
                "status": decided.status,
                "counts": results.counts(decided.turns),
                **results.agreement(decided.turns),
                "result": documents.dump(decided),
            }
            with self.database.write() as connection:
                if replays.put_verdict(connection, before=view.row, values=values):
                    self._remember(connection, view.row, results.step_at(decided, step), verdict)
                    now, action, details = self.now(), Action.REPLAY_JUDGED, {"step": str(step + 1), "verdict": verdict}
                    audit_log.note(connection, now, actor, action, str(replay_id), details, project_id=project_id)
                    return

    def _remember(
        self, connection: Connection, row: ReplayRow, step: StepVerdict, verdict: Literal["passed", "failed"]
    ) -> None:
        """Let a person's verdict apply to the same texts in later replays of the test case."""
        if step.digest is not None:
            known = KnownVerdict(step.digest, "person", verdict, [], self.now())
            put_known(connection, scope_of(row), [known], self.now())

    def judge_agreement(self, *, project_id: int, prompt_id: int) -> JudgeAgreement:
        """Count the steps of the prompt's replays that have verdicts of both a judge and a person."""
        with self.database.read() as connection:
            self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            return JudgeAgreement(*replays.judge_agreement(connection, prompt_id=prompt_id))

    def _started(self, work: Callable[[Connection], Ids]) -> Rows:
        ids = self.database.retrying(work)
        with self.database.read() as connection:
            return replays.get_replays(connection, ids=ids)

    def _add(
        self,
        connection: Connection,
        project_id: int,
        prompt_id: int,
        test_case_ids: Sequence[int] | None,
        candidate: Candidate,
        choice: JudgeChoice,
    ) -> Ids:
        played = self.candidates.read(connection, project_id=project_id, prompt_id=prompt_id, candidate=candidate)
        cases = freeze_cases(connection, played.head, test_case_ids, now=self.now())
        return self.add(connection, played, cases, choice)

    def add(
        self,
        connection: Connection,
        candidate: CandidateContent,
        cases: Sequence[FrozenCase],
        choice: JudgeChoice,
        calibration_id: int | None = None,
    ) -> Ids:
        """Add a replay of the candidate for each of the test cases, which may repeat.

        Raises `Invalid` if a model has to judge and none can.
        """
        setup = replace(self.setup(connection, candidate, cases, choice), calibration_id=calibration_id)
        return replays.add_replays(connection, setup, [case.columns for case in cases], now=self.now())

    def setup(
        self, connection: Connection, candidate: CandidateContent, cases: Sequence[FrozenCase], choice: JudgeChoice
    ) -> ReplaySetup:
        """Return the columns of the candidate's replays; raises as `add`."""
        judge = self.choose_judge(connection, candidate, cases, choice)
        return ReplaySetup(
            project_id=candidate.head.project_id,
            prompt_id=candidate.head.id,
            draft_snapshot_id=freeze_content(connection, candidate),
            candidate_kind=candidate.kind,
            candidate_commit=candidate.commit_hash,
            judge_model_id=judge.id if judge else None,
        )

    def choose_judge(
        self, connection: Connection, candidate: CandidateContent, cases: Sequence[FrozenCase], choice: JudgeChoice
    ) -> LanguageModel | None:
        """Return the model that judges, as `judge_choice.choose_judge`."""
        return choose_judge(connection, self.models, self.credentials, candidate, cases, choice)


def _of_version(connection: Connection, prompt_id: int, filters: ReplayFilter, commit_hash: str) -> ReplayFilter:
    fingerprint = prompt_versions.content_hash_of(connection, prompt_id=prompt_id, commit_hash=commit_hash)
    if fingerprint is None:
        raise Invalid("commitHash: The prompt has no such version.")
    requested = filters.fingerprints
    return replace(filters, fingerprints=[fingerprint] if requested is None or fingerprint in requested else [])
