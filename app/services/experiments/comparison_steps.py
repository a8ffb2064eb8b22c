"""The steps of an experiment that compares candidates with a baseline."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

from msgspec import structs, to_builtins
from sqlalchemy import Connection

from app.metrics.registry import EXPERIMENTS, Metric
from app.models import experiment_replays, experiments
from app.models.experiments import ExperimentRow
from app.models.judge_audits import JudgeAuditRow
from app.models.replays import ReplaySetup
from app.models.webhooks import WebhookEvent
from app.services.audits.service import sentence_of
from app.services.experiments.audits import Decisions, audit_of, audited, waits_for
from app.services.experiments.findings import SummaryAudit, findings_of, ranked_arms, summary_of
from app.services.experiments.plan import BASELINE, CANDIDATE, Plan
from app.services.experiments.replayed_experiment import ReplayedExperiment
from app.services.experiments.steps import NextStep, reusable

# The reason of a decision without replays of the baseline; see `Plan.has_only_earlier`.
NO_EARLIER = "earlier results of the baseline had been removed, and its program was not there to be played"
NO_RESULT = "No replay of one side has a result: see the experiment's page for the reason."


def replayed_experiment(connection: Connection, row: ExperimentRow) -> ReplayedExperiment:
    """Read the plan of an experiment and its replays so far."""
    contents = experiments.contents_of(connection, experiment_id=row.id)
    return ReplayedExperiment(Plan.of(row, contents), experiment_replays.played_of(connection, experiment_id=row.id))


def current_summary(
    connection: Connection, experiment: ReplayedExperiment, decisions: Decisions, audit: JudgeAuditRow | None = None
) -> dict[str, Any]:
    """Return the summary of the results so far, as JSON; `audit` is that of the judge, by default read now."""
    audit = audit or audit_of(connection, experiment.plan)

    def violations(replay_id: int) -> list[dict[str, Any]]:
        return experiment_replays.violations_of(connection, replay_id=replay_id)

    summary = summary_of(experiment, decisions, violations)
    if audit:
        summary = structs.replace(summary, judge_audit=SummaryAudit(audit.id, sentence_of(audit)))
    document: dict[str, Any] = to_builtins(summary)
    return document


@dataclass(frozen=True)
class ComparisonSteps:
    """The `Steps` of a comparison."""

    metric: ClassVar[Metric] = EXPERIMENTS
    event: ClassVar[WebhookEvent] = WebhookEvent.EXPERIMENT_FINISHED
    id_name: ClassVar[str] = "experimentId"

    experiment: ReplayedExperiment

    def next(self, connection: Connection, most: int, now: datetime) -> NextStep:
        experiment, assessment = self.experiment, self.experiment.assessment
        audit, wanted = audit_of(connection, experiment.plan), assessment.wanted
        decisions = audited(assessment.decisions, experiment.plan, audit)
        summary = current_summary(connection, experiment, decisions, audit)
        step = NextStep(total=len(experiment.replays) + len(wanted), summary=summary, stopped=experiment.violated_arms)
        if assessment.arm_without_result is not None:
            reason = self._no_result(connection, assessment.arm_without_result)
            return replace(step, end=self._end(decisions, status="error", reason=reason))
        if assessment.is_decided:
            if waits_for(audit, decisions):
                return step  # the end of the audit advances the experiment
            best = next(iter(ranked_arms(experiment.plan, decisions)))
            return replace(step, end=self._finished(decisions, best))
        if reused := reusable(connection, experiment, wanted, self._earlier, now):
            return replace(step, reused=reused)
        playable = [replay for replay in wanted if not experiment.plan.has_only_earlier(replay.series.arm)]
        if not playable and not experiment.in_work:
            return replace(step, end=self._finished(experiment.decisions(NO_EARLIER), CANDIDATE))
        return replace(step, added=playable)

    def cancelled(self, connection: Connection, reason: str | None) -> NextStep:
        decisions = self.experiment.decisions()
        summary = current_summary(connection, self.experiment, decisions)
        end = self._end(decisions, status="cancelled", reason=reason)
        return NextStep(total=len(self.experiment.replays), summary=summary, end=end)

    def setups(self, connection: Connection, arms: Collection[int]) -> Mapping[int, ReplaySetup]:
        return {arm: self.experiment.plan.setup(arm) for arm in arms}

    def public_reason(self, reason: str | None) -> str | None:
        return NO_RESULT

    @property
    def _earlier(self) -> Mapping[int, int]:
        """The ids of the frozen contents of the arms that may reuse results of earlier experiments, by arm."""
        plan = self.experiment.plan
        if plan.parameters.reuse:
            return plan.snapshots
        return {arm: snapshot for arm, snapshot in plan.snapshots.items() if plan.has_only_earlier(arm)}

    def _no_result(self, connection: Connection, arm: int) -> str:
        experiment = self.experiment
        replay_ids = [row.replay_id for row in experiment.replays if row.arm == experiment.plan.played_arms[arm]]
        error = experiment_replays.first_error(connection, replay_ids=replay_ids)
        side = "baseline" if arm == BASELINE else "candidate"
        return f"No replay of the {side} has a result: {error or 'they were cancelled or removed.'}"

    def _finished(self, decisions: Decisions, arm: int) -> dict[str, Any]:
        """Return the columns of an experiment that ends with the verdict on this arm."""
        decision = decisions[arm]
        return self._end(decisions, status="finished", verdict=decision.verdict, reason=decision.reason)

    def _end(self, decisions: Decisions, **values: Any) -> dict[str, Any]:
        """Return the columns of an experiment that ends."""
        return {**values, "result": to_builtins(findings_of(self.experiment, decisions))}
