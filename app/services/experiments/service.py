"""Experiments as callers see them: starts, reads, lists and cancels them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from msgspec import structs, to_builtins
from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import Conflict, Invalid, require
from app.experiments.types import Verdict
from app.models import experiment_replays, experiments
from app.models.experiment_replays import SnapshotFaults
from app.models.experiments import ExperimentRow, Status
from app.models.language_models import LanguageModel
from app.models.queries import insert_row
from app.pagination import ListPage, json_size, page_by_size
from app.services.audits.service import JudgeAuditService
from app.services.experiments.advance import ExperimentAdvancer
from app.services.experiments.audits import with_sentences
from app.services.experiments.comparison_steps import current_summary, replayed_experiment
from app.services.experiments.findings import Findings, Summary, findings_of, present
from app.services.experiments.forecast import Forecast, Forecaster
from app.services.experiments.plan import PlannedCandidate, PlannedModel
from app.services.experiments.request import NewExperiment, parameters_of, require_bounded, require_program
from app.services.experiments.revisions import Revisions
from app.services.experiments.watch import with_watched
from app.services.prompts.reader import PromptReader
from app.services.replays.candidates import Candidate, CandidateContent, CandidateReader
from app.services.replays.frozen import freeze_cases, freeze_content, snapshots_played
from app.services.replays.judge_choice import JudgeChoice
from app.services.replays.service import ReplayService
from app.services.suites.service import chosen_cases
from app.timestamps import Now

Contents = tuple[list[CandidateContent], list[CandidateContent]]


@dataclass(frozen=True, slots=True)
class ExperimentProgress:
    """The number of ended replays of an experiment, and of all its replays so far."""

    status: Status
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ExperimentView:
    """The present state of an experiment; `findings` is JSON of `app.services.experiments.findings.Findings`."""

    row: ExperimentRow
    findings: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CaseResults:
    """What an experiment found on test cases, by id: (passed, played) replays of its candidate, and names if blind."""

    experiment_id: int
    passed: dict[int, tuple[int, int]]
    blind: dict[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentService:
    database: Database
    now: Now
    reader: PromptReader
    candidates: CandidateReader
    replays: ReplayService
    audits: JudgeAuditService
    advancer: ExperimentAdvancer

    def start(self, *, project_id: int, prompt_id: int, new: NewExperiment) -> ExperimentRow:
        """Freeze everything that is played and write the experiment's row; the caller then advances it.

        Raises `NotFound` for an unknown prompt, version or test case, and `Invalid` for a candidate that can't be
        played.
        """
        experiment_id = self.database.retrying(partial(self.add, project_id=project_id, prompt_id=prompt_id, new=new))
        return self.row(project_id=project_id, experiment_id=experiment_id)

    def forecasts(
        self, *, project_id: int, prompt_id: int, new: NewExperiment, detects: Sequence[float] = ()
    ) -> Sequence[Forecast]:
        """Return what the experiment would play and cost, with its own `detect` or with each of `detects`.

        Raises like `start`.
        """
        with self.database.read() as connection:
            contents, others = self._contents(connection, project_id, prompt_id, new)
            new = _with_cases_of_suite(connection, project_id, prompt_id, new)
            choice = JudgeChoice(new.judge_model, new.judging)
            judge = self.replays.choose_judge(connection, contents[0], [], choice)
            played = snapshots_played(connection, contents[0].head, new.test_case_ids) if contents[0].external else []
            baseline, earlier = self._baseline(connection, contents[0], new, played, judge)
            forecaster = Forecaster.read(
                connection,
                new,
                contents,
                baseline,
                others,
                judge_model_id=judge.id if judge else None,
                now=self.now(),
                earlier=earlier,
            )
        return [forecaster.forecast(replace(new, detect=detect)) for detect in detects or [new.detect]]

    def row(self, *, project_id: int, experiment_id: int) -> ExperimentRow:
        """Return the experiment's row as of its last step."""
        with self.database.read() as connection:
            return _found(connection, project_id, experiment_id)

    def progress(self, *, project_id: int, experiment_id: int) -> ExperimentProgress:
        """Return the progress of the experiment, which is cheaper than `get`."""
        with self.database.read() as connection:
            row = _find(connection, project_id, experiment_id)
            if row.finished:
                return ExperimentProgress(row.status, row.done, row.total)
            total = experiment_replays.count_replays(connection, experiment_id=experiment_id)
            in_work = experiment_replays.count_in_work(connection, experiment_id=experiment_id)
            return ExperimentProgress(row.status, total - in_work, total)

    def get(self, *, project_id: int, experiment_id: int) -> ExperimentView:
        """Return the experiment with its findings so far."""
        with self.database.read() as connection:
            row = _found(connection, project_id, experiment_id)
            if row.finished:
                result = experiments.result_of(connection, experiment_id=experiment_id)
                return ExperimentView(row, present(result, Findings))
            experiment = replayed_experiment(connection, row)
            assessment = experiment.assessment
            summary = current_summary(connection, experiment, assessment.decisions)
        total = len(experiment.replays) + len(assessment.wanted)
        row = replace(row, done=experiment.ended, total=total, summary=summary)
        return ExperimentView(row, to_builtins(findings_of(experiment, assessment.decisions)))

    def list(
        self,
        *,
        project_id: int,
        prompt_id: int,
        verdict: Verdict | None = None,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = True,
    ) -> ListPage[ExperimentRow]:
        """List the prompt's experiments, optionally only those with a verdict."""
        with self.database.read() as connection:
            self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            read = partial(
                experiments.list_experiments,
                connection,
                prompt_id=prompt_id,
                verdict=verdict,
                newest_first=newest_first,
            )
            page = page_by_size(read, size=lambda row: json_size(row.summary), limit=limit, cursor=cursor)
            return replace(page, entries=with_sentences(connection, project_id, page.entries))

    def newest(self, *, project_id: int, prompt_ids: Collection[int], limit: int) -> Sequence[ExperimentRow]:
        """List the newest experiment with a verdict of each of the project's prompts, newest first."""
        with self.database.read() as connection:
            rows = experiments.newest_of_prompts(connection, project_id=project_id, prompt_ids=prompt_ids, limit=limit)
            return with_sentences(connection, project_id, rows)

    def newest_case_results(self, *, project_id: int, prompt_id: int) -> CaseResults | None:
        """Return the results of the test cases in the newest experiment with a verdict; None without one."""
        with self.database.read() as connection:
            self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            row = experiments.newest_finished(connection, prompt_id=prompt_id)
            stored = None if row is None else experiments.result_of(connection, experiment_id=row.id)
        if row is None or stored is None:  # there is none, or it was removed meanwhile
            return None
        result = present(stored, Findings)
        results = CaseResults(row.id, {}, {})
        for case in result["testCases"]:
            test_case_id, side = case["testCaseId"], case["candidate"]
            # A test case and its variants have the same id.
            passed, played = results.passed.get(test_case_id, (0, 0))
            results.passed[test_case_id] = (passed + side["passed"], played + side["runs"])
            if case["blind"]:
                results.blind[test_case_id] = case["name"]
        return results

    def count(self, *, project_id: int, prompt_id: int, verdict: Verdict | None) -> int:
        """Count the experiments on all pages of `list`."""
        with self.database.read() as connection:
            self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            return experiments.count_experiments(connection, prompt_id=prompt_id, verdict=verdict)

    def cancel(self, *, project_id: int, experiment_id: int) -> ExperimentView:
        """End the experiment without a verdict, and cancel the replays that no other experiment uses.

        Raises `Conflict` if it has already ended.
        """
        self.row(project_id=project_id, experiment_id=experiment_id)
        cancelled = self.advancer.cancel(experiment_id)
        view = self.get(project_id=project_id, experiment_id=experiment_id)
        if not cancelled:
            raise Conflict(f"The experiment has ended: {view.row.status}.")
        return view

    def add(self, connection: Connection, project_id: int, prompt_id: int, new: NewExperiment) -> int:
        """Like `start`, in a transaction of the caller; returns the id of the experiment, which the clock advances."""
        owner: dict[str, Any] = {"project_id": project_id, "prompt_id": prompt_id}
        contents, others = self._contents(connection, project_id, prompt_id, new)
        new = _with_cases_of_suite(connection, project_id, prompt_id, new)
        candidate = contents[0]
        cases = freeze_cases(connection, candidate.head, new.test_case_ids, now=self.now())
        if not cases:
            raise Invalid("testCaseIds: The prompt has no test cases.")
        judge = self.replays.choose_judge(connection, candidate, cases, JudgeChoice(new.judge_model, new.judging))
        baseline, earlier = self._baseline(connection, candidate, new, [case.snapshot_faults for case in cases], judge)
        cases = with_watched(connection, new, cases, candidate, judge)
        parameters = parameters_of(new, has_baseline=baseline is not None, earlier=earlier)
        require_bounded(len(cases) * (len(contents) + (baseline is not None) + len(others)), parameters)
        planned = tuple(
            PlannedCandidate(
                named.name, content.kind, content.commit_hash, freeze_content(connection, content), content.fingerprint
            )
            for named, content in zip(new.candidates, contents, strict=False)
        )
        audit_id = self.audits.ensure(connection, candidate, cases, judge, max_cost=new.max_cost)
        return insert_row(
            connection,
            experiments.experiments,
            **owner,
            status="queued",
            candidate_kind=candidate.kind,
            candidate_commit=candidate.commit_hash,
            candidate_snapshot_id=freeze_content(connection, candidate),
            baseline_commit=baseline and baseline.commit_hash,
            baseline_snapshot_id=baseline and freeze_content(connection, baseline),
            judge_model_id=judge and judge.id,
            design=to_builtins(structs.replace(parameters, candidates=planned, audit_id=audit_id)),
            cases=cases,
            models=[
                PlannedModel(content.content.model.name, freeze_content(connection, content)) for content in others
            ],
            summary=to_builtins(Summary()),
            created_at=self.now(),
        )

    def _contents(self, connection: Connection, project_id: int, prompt_id: int, new: NewExperiment) -> Contents:
        """Return the contents of the candidates, and of the candidate with the other models."""
        owner: dict[str, Any] = {"project_id": project_id, "prompt_id": prompt_id}
        contents = [
            self.candidates.read(connection, **owner, candidate=candidate, field=field)
            for field, candidate in new.compared
        ]
        others = [
            self.candidates.with_model(connection, contents[0], name, field=f"languageModelNames.{index}")
            for index, name in enumerate(new.language_model_names)
        ]
        return contents, others

    def _baseline(
        self,
        connection: Connection,
        candidate: CandidateContent,
        new: NewExperiment,
        played: Sequence[SnapshotFaults],
        judge: LanguageModel | None,
    ) -> tuple[CandidateContent | None, int | None]:
        """Return the baseline, and how many earlier results each of `played` has with it if it is a program's."""
        owner: dict[str, Any] = {"project_id": candidate.head.project_id, "prompt_id": candidate.head.id}
        baseline, earlier = new.baseline, None
        if candidate.external and baseline:
            revisions = Revisions(connection, candidate.head.id, played, judge.id if judge else None, self.now())
            requested = baseline if baseline == "latest" else require_program(baseline)
            results = revisions.baseline(candidate.external, requested, least=new.least)
            baseline, earlier = (Candidate(external=results.revision), results.repeats) if results else (None, None)
        elif baseline == "latest":
            baseline = self.candidates.newest(connection, **owner)
        if baseline is None:
            return None, None
        return self.candidates.read(connection, **owner, candidate=baseline, field="baseline"), earlier


def _with_cases_of_suite(connection: Connection, project_id: int, prompt_id: int, new: NewExperiment) -> NewExperiment:
    """Return the request with the test cases of its suite, if it names one."""
    owner = {"project_id": project_id, "prompt_id": prompt_id}
    chosen = chosen_cases(connection, **owner, suite=new.suite, test_case_ids=new.test_case_ids)
    return replace(new, test_case_ids=chosen)


def _found(connection: Connection, project_id: int, experiment_id: int) -> ExperimentRow:
    """Return the experiment as callers see it; raises `NotFound`."""
    (row,) = with_sentences(connection, project_id, [_find(connection, project_id, experiment_id)])
    return row


def _find(connection: Connection, project_id: int, experiment_id: int) -> ExperimentRow:
    row = experiments.find_experiment(connection, project_id=project_id, experiment_id=experiment_id)
    return require(row, "There is no such experiment.")
