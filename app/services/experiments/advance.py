"""Advances experiments: adds the next replays, or ends them.

No worker owns an experiment. The worker that ends a replay advances its experiments; the clock advances the ones that
were left behind. The next step is computed without a lock. It is applied under the lock of the experiment's row, unless
another worker has added replays meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog
from sqlalchemy import Connection

from app.concurrency.batching import Coalescer
from app.database.transactions import Database
from app.metrics import Metrics
from app.metrics.registry import WATCH_RUNS
from app.models import experiment_replays, experiments
from app.models.experiments import ExperimentRow
from app.models.replays import add_replays
from app.models.webhook_deliveries import add_event
from app.services.experiments.comparison_steps import ComparisonSteps, replayed_experiment
from app.services.experiments.guard_plan import open_question
from app.services.experiments.map_steps import MapSteps, replayed_map
from app.services.experiments.mutant_contents import MutantContents
from app.services.experiments.replayed_experiment import WantedReplay
from app.services.experiments.steps import NextStep, Steps
from app.services.experiments.watch import note_ended
from app.timestamps import Now

log = structlog.get_logger(__name__)

# Replays of one experiment that are queued or played at the same time; other work runs between them.
IN_WORK_MAX = 32
# More replays are added once this many are left.
REFILLED_AT = 16
# More than any experiment needs; after this many steps the clock continues.
STEPS_AT_ONCE = 300
# Replays that are reused at once; then the clock continues. They need about a millisecond each.
REUSED_AT_ONCE = 2_000
REUSED_AT_BEGIN = 250
"""Replays that the request which starts an experiment reuses, about."""
WAIT_S = 60.0


@dataclass(slots=True, kw_only=True)
class ExperimentAdvancer:
    database: Database
    now: Now
    metrics: Metrics
    mutants: MutantContents
    _together: Coalescer[int, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self._together = Coalescer(self._advance_all, wait_s=WAIT_S)

    def advance(self, experiment_id: int) -> list[int]:
        """Apply the next step; returns the ids of the replays for which the caller must send messages.

        Threads that advance the same experiment at the same time read its replays only once.
        """
        return self._together(experiment_id)

    def begin(self, experiment_id: int) -> list[int]:
        """Apply the first steps of a new experiment within a request; returns as `advance`."""
        return self._advance(experiment_id, reused_max=REUSED_AT_BEGIN)

    def replay_ended(self, replay_id: int) -> list[int]:
        """Advance the experiments that wait for a replay; returns the ids of the replays to send.

        An experiment with many other unfinished replays is not advanced, unless the replay has a violation.
        """
        with self.database.read() as connection:
            waiting = [
                experiment_id
                for experiment_id in experiment_replays.unfinished_of_replay(connection, replay_id=replay_id)
                if experiment_replays.count_in_work(connection, experiment_id=experiment_id) <= REFILLED_AT
                or experiment_replays.is_violated(connection, replay_id=replay_id)
            ]
        return [id_ for experiment_id in waiting for id_ in self.advance(experiment_id)]

    def audit_ended(self, prompt_id: int) -> list[int]:
        """Advance the experiments of a prompt, which may wait for its audit; returns the ids of the replays to send."""
        with self.database.read() as connection:
            waiting = experiments.unfinished_of_prompt(connection, prompt_id=prompt_id)
        return [id_ for experiment_id in waiting for id_ in self.advance(experiment_id)]

    def behind(self) -> dict[int, int]:
        """Return {id: organization id} of the unfinished experiments that were left behind."""
        with self.database.read() as connection:
            return experiment_replays.unfinished_behind(connection)

    def _steps(self, connection: Connection, row: ExperimentRow) -> Steps:
        if row.kind == "guard_map":
            return MapSteps(replayed_map(connection, row), self.mutants)
        return ComparisonSteps(replayed_experiment(connection, row))

    def cancel(self, experiment_id: int, *, reason: str | None = None) -> bool:
        """End the experiment with its present results and no verdict; False if it had already ended."""
        for _ in range(STEPS_AT_ONCE):
            with self.database.read() as connection:
                row = experiments.find_unfinished(connection, experiment_id=experiment_id)
                if row is None:
                    return False
                steps = self._steps(connection, row)
                step = steps.cancelled(connection, reason)
            if self._done(steps, step) is not None:
                return True
        return False

    def _advance_all(self, experiment_ids: Sequence[int]) -> list[list[int]]:
        """Advance each of the experiments once; of equal ids, only the first one gets the replays to send."""
        sent = {experiment_id: self._advance(experiment_id) for experiment_id in dict.fromkeys(experiment_ids)}
        return [sent.pop(experiment_id, []) for experiment_id in experiment_ids]

    def _advance(self, experiment_id: int, reused_max: int = REUSED_AT_ONCE) -> list[int]:
        reused = 0
        for _ in range(STEPS_AT_ONCE):
            with self.database.read() as connection:
                row = experiments.find_unfinished(connection, experiment_id=experiment_id)
                # The worker that asks a model for mutants of a map advances it afterwards.
                if row is None or open_question(row) is not None:
                    return []
                steps = self._steps(connection, row)
                # Each step reads the whole experiment, so that it reuses as many as all steps before it.
                step = steps.next(connection, max(IN_WORK_MAX, reused), self.now())
            added = self._done(steps, step)
            if added is not None and not step.reused:
                return added
            reused += len(step.reused) if added is not None else 0
            if reused >= reused_max:
                break
        return []

    def _done(self, steps: Steps, step: NextStep) -> list[int] | None:
        """Apply the step; returns the ids of the added replays, None if another worker was faster."""
        added = self.database.retrying(partial(self._store, steps=steps, step=step))
        if step.end is not None and added is not None:
            outcome = step.end.get("verdict") or step.end["status"]
            log.info("experiment", experiment_id=steps.experiment.plan.row.id, outcome=outcome)
            self.metrics.count(steps.metric, outcome)
            if steps.experiment.plan.parameters.watched_by is not None:
                self.metrics.count(WATCH_RUNS, outcome)
        return added

    def _store(self, connection: Connection, steps: Steps, step: NextStep) -> list[int] | None:
        experiment, now = steps.experiment, self.now()
        row = experiment.plan.row
        experiment_id = row.id
        if not experiments.lock_unfinished(connection, experiment_id=experiment_id):
            return None
        if experiment_replays.count_replays(connection, experiment_id=experiment_id) != len(experiment.replays):
            return None
        done = experiment.ended + len(step.reused)
        if step.end is None and step.stopped:
            stopped = step.stopped
            done += experiment_replays.cancel_replays(connection, experiment_id=experiment_id, arms=stopped, now=now)
        values: dict[str, Any] = {"done": done, "total": step.total, "summary": step.summary}
        if row.status == "queued":
            values |= {"status": "running", "started_at": now}
        if step.end is not None:
            values |= {**step.end, "finished_at": now}
            experiment_replays.cancel_replays(connection, experiment_id=experiment_id, now=now)
        experiments.change_experiment(connection, experiment_id=experiment_id, values=values)
        if step.end is not None:
            key = {"project_id": row.project_id, "prompt_id": row.prompt_id}
            add_event(connection, now, steps.event, _event(steps, step.end), **key)
            note_ended(connection, experiment, now)
        room = max(0, IN_WORK_MAX - experiment.in_work)
        played = self._add(connection, steps, step.added[:room])
        links = [
            {"experiment_id": experiment_id, **_link(wanted, replay_id), "reused": reused}
            for reused, pairs in ((True, step.reused), (False, played))
            for wanted, replay_id in pairs
        ]
        experiment_replays.add_replays(connection, links)
        # A program asks for its replays; workers get all others.
        return [] if experiment.plan.is_program else [replay_id for _, replay_id in played]

    def _add(
        self, connection: Connection, steps: Steps, added: Sequence[WantedReplay]
    ) -> list[tuple[WantedReplay, int]]:
        """Add replays; returns each with its id."""
        setups = steps.setups(connection, {wanted.series.arm for wanted in added})
        played = []
        for wanted in added:
            columns = steps.experiment.plan.case(wanted.series).columns
            (replay_id,) = add_replays(connection, setups[wanted.series.arm], [columns], now=self.now())
            played.append((wanted, replay_id))
        return played


def _event(steps: Steps, end: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event of an experiment's end for webhooks."""
    row, reason = steps.experiment.plan.row, end.get("reason")
    if end["status"] == "error":
        reason = steps.public_reason(reason)
    return {
        "projectId": row.project_id,
        steps.id_name: row.id,
        "outcome": end.get("verdict") or end["status"],
        "reason": reason,
    }


def _link(wanted: WantedReplay, replay_id: int) -> dict[str, int]:
    series = wanted.series
    return {
        "arm": series.arm,
        "test_case_id": series.test_case_id,
        "variant": series.variant,
        "ordinal": wanted.ordinal,
        "replay_id": replay_id,
    }
