"""The watch over a vendor: begins each run with what earlier runs have shown, and stores what it has shown itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import structs
from sqlalchemy import Connection

from app.experiments.behaviour_watch import WatchedBehaviour
from app.experiments.drift import ROUNDS_MAX, Counts, Watched
from app.models import experiment_replays, experiments, schedules
from app.models.experiments import ExperimentRow
from app.models.language_models import LanguageModel
from app.models.queries import update_rows
from app.models.schedules import CaseCounts, ScheduleRow, VendorWatch, WatchedCase, WatchedRun
from app.models.webhook_deliveries import add_event
from app.models.webhooks import WebhookEvent
from app.services.experiments.plan import CANDIDATE
from app.services.experiments.replayed_experiment import ReplayedExperiment
from app.services.experiments.request import NewExperiment
from app.services.replays.candidates import Candidate, CandidateContent
from app.services.replays.frozen import FrozenCase
from app.values.structs import convert

REPEATS_DEFAULT = 10
"""Replays of each test case in a run, unless the schedule has another number."""
REPORTED_MAX = 5
"""Models that the vendor reported in one run and that are stored."""
NAMED_MAX = 20
"""Test cases that an event names."""
COMPARED_MAX = 100
"""Test cases of a run with answers that are compared. The state of a thousand could have too many bytes for a row."""


def run_of(schedule: ScheduleRow, version: Candidate) -> NewExperiment:
    """Return the experiment of a run: only the version, with fresh replays."""
    least = schedule.repeats or REPEATS_DEFAULT
    return NewExperiment(
        candidate=version,
        baseline=None,
        suite=schedule.suite,
        repeats_min=least,
        repeats_max=ROUNDS_MAX * least,
        max_cost=schedule.max_cost,
        reuse=False,
        watched_by=schedule.id,
    )


def with_watched(
    connection: Connection,
    new: NewExperiment,
    cases: list[FrozenCase],
    candidate: CandidateContent,
    judge: LanguageModel | None,
) -> list[FrozenCase]:
    """Return the test cases of a run, each with what was shown of the same test case with the same content."""
    if new.watched_by is None:
        return cases
    watch = schedules.watch_of(connection, project_id=candidate.head.project_id, schedule_id=new.watched_by)
    content = _content(candidate.fingerprint, judge.id if judge else None)
    known = watch.cases if watch and watch.content == content else ()
    by_snapshot = {(case.snapshot_id, case.variant): case.watched for case in known}
    return [
        structs.replace(case, watched=by_snapshot.get((case.snapshot_id, case.variant), Watched())) for case in cases
    ]


def _content(fingerprint: str, judge_model_id: int | None) -> str:
    """Return what the results of a run depend on, besides the vendor and the test cases."""
    return f"{fingerprint} {judge_model_id or ''}"


def note_begun(connection: Connection, schedule: ScheduleRow, experiment_id: int, now: datetime) -> None:
    """Store the run that was started, in the transaction that locks the schedule."""
    before = schedules.watch_of(connection, project_id=schedule.project_id, schedule_id=schedule.id)
    row = experiments.find_experiment(connection, project_id=schedule.project_id, experiment_id=experiment_id)
    if row is None:
        return
    content = _content(row.candidate_fingerprint, row.judge_model_id)
    if before is None or before.content != content:
        before = VendorWatch(now, content, row.candidate_commit or "", experiment_id)
    frozen = convert(experiments.contents_of(connection, experiment_id=experiment_id).cases, tuple[FrozenCase, ...])
    known = {(case.snapshot_id, case.variant): case.behaviour for case in before.cases}
    cases = tuple(
        structs.replace(case, behaviour=known.get((case.snapshot_id, case.variant), WatchedBehaviour()))
        for case in _watched(frozen)
    )
    _put(connection, row, schedule.id, structs.replace(before, experiment_id=experiment_id, cases=cases))


def note_ended(connection: Connection, experiment: ReplayedExperiment, now: datetime) -> None:
    """Store what a run has shown and report new drops, in the transaction that ends its experiment.

    A run that ends after a person began a new reference is only stored in the history.
    """
    plan, row = experiment.plan, experiment.plan.row
    if plan.parameters.watched_by is None:
        return
    of_schedule = {"project_id": row.project_id, "schedule_id": plan.parameters.watched_by}
    watch = schedules.watch_of(connection, **of_schedule, lock=True)
    begun, run = _watched(plan.cases), _run(connection, experiment)
    schedules.note_watched(connection, **of_schedule, experiment_id=row.id, run=run)
    if watch is None or watch.experiment_id != row.id:
        return
    dropped = [
        case.test_case_id
        for case, before in zip(run.cases, begun, strict=True)
        if case.state == "dropped" != before.state
    ]
    if dropped:
        data: dict[str, Any] = {
            "projectId": row.project_id,
            "scheduleId": plan.parameters.watched_by,
            "experimentId": row.id,
        }
        data |= {"dropped": len(dropped), "testCaseIds": dropped[:NAMED_MAX]}
        data |= {"modelsBefore": watch.snapshots, "models": run.snapshots}
        key = {"project_id": row.project_id, "prompt_id": row.prompt_id}
        add_event(connection, now, WebhookEvent.MODEL_DRIFTED, data, **key)
    cases = tuple(
        structs.replace(
            before, watched=before.watched.plus(case.counts).begun_again(), state=case.state, behaviour=behaviour
        )
        for case, before, behaviour in zip(run.cases, begun, _behaviours(connection, experiment, watch), strict=True)
    )
    is_steady = all(case.state in ("collecting", "steady") for case in cases)
    snapshots = run.snapshots if is_steady and run.snapshots else watch.snapshots
    _put(connection, row, plan.parameters.watched_by, structs.replace(watch, cases=cases, snapshots=snapshots))


def _run(connection: Connection, experiment: ReplayedExperiment) -> WatchedRun:
    counted: list[CaseCounts] = []
    for case in experiment.plan.cases:
        counts = Counts.of([row.status == "passed" for row in experiment.trials_of(CANDIDATE, case)])
        state = (case.watched or Watched()).plus(counts).state(cases=len(experiment.plan.cases))
        counted.append(CaseCounts(case.test_case_id, case.variant, counts, state))
    reported = experiment_replays.model_snapshots(connection, experiment_id=experiment.plan.row.id, limit=REPORTED_MAX)
    return WatchedRun(tuple(counted), tuple(reported))


def _behaviours(connection: Connection, experiment: ReplayedExperiment, watch: VendorWatch) -> list[WatchedBehaviour]:
    """Return the behaviour of each test case after the run, of those after `COMPARED_MAX` as it was."""
    least, cases = experiment.plan.design.repeats_min, experiment.plan.cases[:COMPARED_MAX]
    rounds = [[row.replay_id for row in experiment.trials_of(CANDIDATE, case)[:least]] for case in cases]
    known = experiment_replays.behaviours_of(connection, replay_ids={id_ for ids in rounds for id_ in ids})
    before = [case.behaviour for case in watch.cases]
    for at, ids in enumerate(rounds):
        # A round that was cut short may lack the replays that cost most.
        played = [known[id_] for id_ in ids if id_ in known] if len(ids) == least else []
        before[at] = before[at].after_run(played, cases=len(cases), run=experiment.plan.row.id)
    return before


def _watched(cases: Sequence[FrozenCase]) -> tuple[WatchedCase, ...]:
    """Return the test cases as they were before the run."""
    pairs = [(case, case.watched or Watched()) for case in cases]
    return tuple(
        WatchedCase(case.test_case_id, case.variant, case.snapshot_id, watched, watched.state(cases=len(cases)))
        for case, watched in pairs
    )


def _put(connection: Connection, row: ExperimentRow, schedule_id: int, watch: VendorWatch) -> None:
    which = {"id": schedule_id, "project_id": row.project_id}
    update_rows(connection, schedules.schedules, which, watch=watch)
