"""The steps of a guard map."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

from msgspec import to_builtins
from sqlalchemy import Connection

from app.errors import Invalid, NotFound
from app.metrics.registry import GUARD_MAPS, Metric
from app.models import experiment_replays, experiments
from app.models.experiments import ExperimentRow, Status
from app.models.replays import ReplaySetup
from app.models.webhooks import WebhookEvent
from app.services.experiments.comparison_steps import NO_RESULT
from app.services.experiments.guard_plan import NOTHING_PASSES, MapPlan, ReplayedMap
from app.services.experiments.mutant_contents import MutantContents
from app.services.experiments.plan import BASELINE
from app.services.experiments.replayed_experiment import FAILED_REPLAYS_MAX, WantedReplay, is_error
from app.services.experiments.steps import NextStep, reusable


def replayed_map(connection: Connection, row: ExperimentRow) -> ReplayedMap:
    """Read the plan of a guard map and its replays so far."""
    contents = experiments.contents_of(connection, experiment_id=row.id)
    return ReplayedMap(MapPlan.of(row, contents), experiment_replays.played_of(connection, experiment_id=row.id))


@dataclass(frozen=True)
class MapSteps:
    """The `Steps` of a guard map."""

    metric: ClassVar[Metric] = GUARD_MAPS
    event: ClassVar[WebhookEvent] = WebhookEvent.GUARD_MAP_FINISHED
    id_name: ClassVar[str] = "guardMapId"

    experiment: ReplayedMap
    mutants: MutantContents

    def next(self, connection: Connection, most: int, now: datetime) -> NextStep:
        experiment, assessment = self.experiment, self.experiment.assess_map(most)
        step = NextStep(
            total=len(experiment.replays) + len(assessment.wanted),
            summary=to_builtins(assessment.decided),
            stopped=assessment.stopped,
        )
        is_over = len(assessment.decided.sentences) == len(experiment.plan.sentences)
        if (error := self._no_result(connection, is_over=is_over)) is not None:
            return replace(step, end=_end("error", error))
        if experiment.never_passed == NOTHING_PASSES:
            return replace(step, end=_end("error", NOTHING_PASSES))
        if is_over:
            return replace(step, end=_end("finished", experiment.map_exhausted or experiment.never_passed))
        try:
            earlier = self._earlier(connection, assessment.wanted)
        except (NotFound, Invalid) as gone:
            # The prompt was archived, or its model was removed.
            return replace(step, end=_end("error", str(gone)))
        if reused := reusable(connection, experiment, assessment.wanted, earlier, now):
            return replace(step, reused=reused)
        return replace(step, added=assessment.wanted)

    def cancelled(self, connection: Connection, reason: str | None) -> NextStep:
        experiment = self.experiment
        return NextStep(
            total=len(experiment.replays), summary=experiment.plan.row.summary, end=_end("cancelled", reason)
        )

    def setups(self, connection: Connection, arms: Collection[int]) -> Mapping[int, ReplaySetup]:
        plan = self.experiment.plan
        snapshots = self.mutants.put(connection, plan, arms)
        return {arm: plan.setup_of(arm, snapshots[arm]) for arm in arms}

    def public_reason(self, reason: str | None) -> str | None:
        return reason if reason == NOTHING_PASSES else NO_RESULT

    def _earlier(self, connection: Connection, wanted: Collection[WantedReplay]) -> Mapping[int, int]:
        """Return the ids of the frozen contents of the arms that may reuse earlier results, by arm."""
        plan = self.experiment.plan
        known = self.mutants.known(connection, plan, {replay.series.arm for replay in wanted})
        return known if plan.parameters.reuse else {}

    def _no_result(self, connection: Connection, *, is_over: bool) -> str | None:
        """Return the error of a map if its text never has a result: nothing can be compared with it."""
        rows = [row for row in self.experiment.replays if row.arm == BASELINE]
        failed = [row.replay_id for row in rows if is_error(row)]
        if not failed or len(failed) < len(rows) or not (is_over or len(failed) >= FAILED_REPLAYS_MAX):
            return None
        error = experiment_replays.first_error(connection, replay_ids=failed)
        return f"No replay of the text has a result: {error or 'they were cancelled or removed.'}"


def _end(status: Status, reason: str | None) -> dict[str, Any]:
    """Return the columns of a guard map that ends."""
    return {"status": status, "reason": reason}
