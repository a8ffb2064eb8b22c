"""Advances experiments: adds the next replays, or ends them.

No worker owns an experiment. The worker that ends a replay advances its experiments; the clock advances the ones that
were left behind. The next step is computed without a lock. It is applied under the lock of the experiment's row, unless
another worker has added replays meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import structlog
from msgspec import structs, to_builtins
from sqlalchemy import Connection

from app.concurrency.batching import Coalescer
from app.database.transactions import Database
from app.errors import Invalid, NotFound
from app.metrics import Metrics
from app.metrics.registry import EXPERIMENTS, GUARD_MAPS, WATCH_RUNS
from app.models import experiment_replays, experiments
from app.models.experiments import ExperimentRow, Status
from app.models.judge_audits import JudgeAuditRow
from app.models.replays import add_replays
from app.models.webhook_deliveries import add_event
from app.models.webhooks import WebhookEvent
from app.services.audits.service import sentence_of
from app.services.experiments.audits import Decisions, audit_of, audited, waits_for
from app.services.experiments.findings import SummaryAudit, findings_of, ranked_arms, summary_of
from app.services.experiments.guard_plan import NOTHING_PASSES, MapPlan, MapStanding
from app.services.experiments.mutant_contents import MutantContents
from app.services.experiments.plan import BASELINE, CANDIDATE, Plan
from app.services.experiments.revisions import EARLIER_FOR
from app.services.experiments.standing import FAILED_REPLAYS_MAX, REUSED_FOR, Standing, Wanted, is_error
from app.services.experiments.steps import NextStep
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
NO_EARLIER = "earlier results of the baseline had been removed, and its program was not there to be played"
NO_RESULT = "No replay of one side has a result: see the experiment's page for the reason."


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

    def standing(self, connection: Connection, row: ExperimentRow) -> Standing:
        if row.kind == "guard_map":
            return self.map_standing(connection, row)
        contents = experiments.contents_of(connection, experiment_id=row.id)
        return Standing(Plan.of(row, contents), experiment_replays.played_of(connection, experiment_id=row.id))

    def map_standing(self, connection: Connection, row: ExperimentRow) -> MapStanding:
        contents = experiments.contents_of(connection, experiment_id=row.id)
        return MapStanding(MapPlan.of(row, contents), experiment_replays.played_of(connection, experiment_id=row.id))

    def summary(
        self, connection: Connection, standing: Standing, decisions: Decisions, audit: JudgeAuditRow | None = None
    ) -> dict[str, Any]:
        """Return the summary of the results so far, as JSON; `audit` is that of the judge, by default read now."""
        audit = audit or audit_of(connection, standing.plan)

        def violations(replay_id: int) -> list[dict[str, Any]]:
            return experiment_replays.violations_of(connection, replay_id=replay_id)

        summary = summary_of(standing, decisions, violations)
        if audit:
            summary = structs.replace(summary, judge_audit=SummaryAudit(audit.id, sentence_of(audit)))
        document: dict[str, Any] = to_builtins(summary)
        return document

    def cancel(self, experiment_id: int, *, reason: str | None = None) -> bool:
        """End the experiment with its present results and no verdict; False if it had already ended."""
        for _ in range(STEPS_AT_ONCE):
            with self.database.read() as connection:
                row = experiments.find_unfinished(connection, experiment_id=experiment_id)
                if row is None:
                    return False
                standing = self.standing(connection, row)
                step = self._cancelled(connection, standing, reason)
            if self._done(standing, step) is not None:
                return True
        return False

    def _cancelled(self, connection: Connection, standing: Standing, reason: str | None) -> NextStep:
        if isinstance(standing, MapStanding):
            return NextStep(len(standing.replays), standing.plan.row.summary, end=map_end("cancelled", reason))
        decisions = standing.decisions()
        summary = self.summary(connection, standing, decisions)
        return NextStep(
            len(standing.replays), summary, end=_end(standing, decisions, status="cancelled", reason=reason)
        )

    def _advance_all(self, experiment_ids: Sequence[int]) -> list[list[int]]:
        """Advance each of the experiments once; of equal ids, only the first one gets the replays to send."""
        sent = {experiment_id: self._advance(experiment_id) for experiment_id in dict.fromkeys(experiment_ids)}
        return [sent.pop(experiment_id, []) for experiment_id in experiment_ids]

    def _advance(self, experiment_id: int, reused_max: int = REUSED_AT_ONCE) -> list[int]:
        reused = 0
        for _ in range(STEPS_AT_ONCE):
            with self.database.read() as connection:
                row = experiments.find_unfinished(connection, experiment_id=experiment_id)
                if row is None:
                    return []
                standing = self.standing(connection, row)
                # Each step reads the whole experiment, so that it reuses as many as all steps before it.
                step = self._next(connection, standing, max(IN_WORK_MAX, reused))
            added = self._done(standing, step)
            if added is not None and not step.reused:
                return added
            reused += len(step.reused) if added is not None else 0
            if reused >= reused_max:
                break
        return []

    def _next(self, connection: Connection, standing: Standing, most: int) -> NextStep:
        """Return the next step, in which a guard map looks for `most` replays that it needs."""
        if isinstance(standing, MapStanding):
            return self._next_of_map(connection, standing, most)
        outlook = standing.outlook
        audit, wanted = audit_of(connection, standing.plan), outlook.wanted
        decisions = audited(outlook.decisions, standing.plan, audit)
        total, summary = len(standing.replays) + len(wanted), self.summary(connection, standing, decisions, audit)
        step = NextStep(total, summary, stopped=standing.violated_arms)
        if outlook.fruitless is not None:
            reason = self._no_result(connection, standing, outlook.fruitless)
            return replace(step, end=_end(standing, decisions, status="error", reason=reason))
        if outlook.is_decided:
            if waits_for(audit, decisions):
                return step  # the end of the audit advances the experiment
            decision = decisions[next(iter(ranked_arms(standing.plan, decisions)))]
            end = _end(standing, decisions, status="finished", verdict=decision.verdict, reason=decision.reason)
            return replace(step, end=end)
        if reused := self._reusable(connection, standing, wanted):
            return replace(step, reused=reused)
        playable = [replay for replay in wanted if not standing.plan.has_only_earlier(replay.series.arm)]
        if not playable and not standing.in_work:
            decisions = standing.decisions(NO_EARLIER)
            decision = decisions[CANDIDATE]
            end = _end(standing, decisions, status="finished", verdict=decision.verdict, reason=decision.reason)
            return replace(step, end=end)
        return replace(step, added=playable[: max(0, IN_WORK_MAX - standing.in_work)])

    def _next_of_map(self, connection: Connection, standing: MapStanding, most: int) -> NextStep:
        outlook = standing.look(most)
        step = NextStep(len(standing.replays) + len(outlook.wanted), to_builtins(outlook.decided), outlook.stopped)
        is_over = len(outlook.decided.sentences) == len(standing.plan.sentences)
        if (error := self._fruitless_text(connection, standing, is_over=is_over)) is not None:
            return replace(step, end=map_end("error", error))
        if standing.never_passed == NOTHING_PASSES:
            return replace(step, end=map_end("error", NOTHING_PASSES))
        if is_over:
            return replace(step, end=map_end("finished", standing.map_exhausted or standing.never_passed))
        try:
            reused = self._reusable(connection, standing, outlook.wanted)
        except (NotFound, Invalid) as gone:
            # The prompt was archived, or its model was removed.
            return replace(step, end=map_end("error", str(gone)))
        if reused:
            return replace(step, reused=reused)
        return replace(step, added=outlook.wanted[: max(0, IN_WORK_MAX - standing.in_work)])

    def _fruitless_text(self, connection: Connection, standing: MapStanding, *, is_over: bool) -> str | None:
        """Return the error of a map if its text never has a result: nothing can be compared with it."""
        rows = [row for row in standing.replays if row.arm == BASELINE]
        failed = [row.replay_id for row in rows if is_error(row)]
        if not failed or len(failed) < len(rows) or not (is_over or len(failed) >= FAILED_REPLAYS_MAX):
            return None
        error = experiment_replays.first_error(connection, replay_ids=failed)
        return f"No replay of the text has a result: {error or 'they were cancelled or removed.'}"

    def _no_result(self, connection: Connection, standing: Standing, arm: int) -> str:
        replay_ids = [row.replay_id for row in standing.replays if row.arm == standing.plan.played_arms[arm]]
        error = experiment_replays.first_error(connection, replay_ids=replay_ids)
        side = "baseline" if arm == BASELINE else "candidate"
        return f"No replay of the {side} has a result: {error or 'they were cancelled or removed.'}"

    def _reusable(
        self, connection: Connection, standing: Standing, wanted: Sequence[Wanted]
    ) -> list[tuple[Wanted, int]]:
        """Return the wanted replays for which earlier results exist, with the ids of the earlier replays."""
        plan = standing.plan
        linked = {row.replay_id for row in standing.replays}
        wanted_arms = {replay.series.arm for replay in wanted}
        snapshots = plan.snapshots
        if isinstance(plan, MapPlan):
            stored = self.mutants.known(connection, plan, wanted_arms)
            snapshots = stored if plan.numbers.reuse else {}
        reusable: list[tuple[Wanted, int]] = []
        for arm in sorted(wanted_arms & snapshots.keys()):
            if not plan.numbers.reuse and not plan.has_only_earlier(arm):
                continue
            replays = [replay for replay in wanted if replay.series.arm == arm]
            known = experiment_replays.reusable_replays(
                connection,
                draft_snapshot_id=snapshots[arm],
                case_snapshot_ids={plan.case(replay.series).snapshot_id for replay in replays},
                judge_model_id=plan.row.judge_model_id,
                since=self.now() - (EARLIER_FOR if plan.has_only_earlier(arm) else REUSED_FOR),
            )
            for replay in replays:
                free = (id_ for id_ in known.get(plan.case(replay.series).played, ()) if id_ not in linked)
                if (replay_id := next(free, None)) is not None:
                    linked.add(replay_id)
                    reusable.append((replay, replay_id))
        return reusable

    def _done(self, standing: Standing, step: NextStep) -> list[int] | None:
        """Apply the step; returns the ids of the added replays, None if another worker was faster."""
        added = self.database.retrying(partial(self._store, standing=standing, step=step))
        if step.end is not None and added is not None:
            outcome = step.end.get("verdict") or step.end["status"]
            log.info("experiment", experiment_id=standing.plan.row.id, outcome=outcome)
            self.metrics.count(GUARD_MAPS if isinstance(standing, MapStanding) else EXPERIMENTS, outcome)
            if standing.plan.numbers.watched_by is not None:
                self.metrics.count(WATCH_RUNS, outcome)
        return added

    def _store(self, connection: Connection, standing: Standing, step: NextStep) -> list[int] | None:
        experiment_id, now = standing.plan.row.id, self.now()
        if not experiments.lock_unfinished(connection, experiment_id=experiment_id):
            return None
        if experiment_replays.count_replays(connection, experiment_id=experiment_id) != len(standing.replays):
            return None
        done = standing.ended + len(step.reused)
        if step.end is None and step.stopped:
            stopped = step.stopped
            done += experiment_replays.cancel_replays(connection, experiment_id=experiment_id, arms=stopped, now=now)
        values: dict[str, Any] = {"done": done, "total": step.total, "summary": step.summary}
        if standing.plan.row.status == "queued":
            values |= {"status": "running", "started_at": now}
        if step.end is not None:
            values |= {**step.end, "finished_at": now}
            experiment_replays.cancel_replays(connection, experiment_id=experiment_id, now=now)
        experiments.change_experiment(connection, experiment_id=experiment_id, values=values)
        if step.end is not None:
            row = standing.plan.row
            is_map = isinstance(standing, MapStanding)
            event = WebhookEvent.GUARD_MAP_FINISHED if is_map else WebhookEvent.EXPERIMENT_FINISHED
            key = {"project_id": row.project_id, "prompt_id": row.prompt_id}
            add_event(connection, now, event, _event(row, step.end), **key)
            note_ended(connection, standing, now)
        played = self._add(connection, standing.plan, step.added)
        links = [
            {"experiment_id": experiment_id, **_link(wanted, replay_id), "reused": reused}
            for reused, pairs in ((True, step.reused), (False, played))
            for wanted, replay_id in pairs
        ]
        experiment_replays.add_replays(connection, links)
        # A program asks for its replays; workers get all others.
        return [] if standing.plan.is_program else [replay_id for _, replay_id in played]

    def _add(self, connection: Connection, plan: Plan, added: Sequence[Wanted]) -> list[tuple[Wanted, int]]:
        """Add replays; returns each with its id."""
        arms = {wanted.series.arm for wanted in added}
        if isinstance(plan, MapPlan):
            snapshots = self.mutants.put(connection, plan, arms)
            setups = {arm: plan.setup_of(arm, snapshots[arm]) for arm in arms}
        else:
            setups = {arm: plan.setup(arm) for arm in arms}
        played = []
        for wanted in added:
            columns = plan.case(wanted.series).columns
            (replay_id,) = add_replays(connection, setups[wanted.series.arm], [columns], now=self.now())
            played.append((wanted, replay_id))
        return played


def _end(standing: Standing, decisions: Decisions, **values: Any) -> dict[str, Any]:
    """Return the columns of an experiment's end."""
    return {**values, "result": to_builtins(findings_of(standing, decisions))}


def map_end(status: Status, reason: str | None) -> dict[str, Any]:
    """Return the columns of a guard map's end."""
    return {"status": status, "reason": reason}


def _event(row: ExperimentRow, end: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event of an experiment's end for webhooks.

    It never has a vendor's error message, which may quote a message of the model call.
    """
    reason = end.get("reason")
    if end["status"] == "error" and reason != NOTHING_PASSES:
        reason = NO_RESULT
    outcome = {"outcome": end.get("verdict") or end["status"], "reason": reason}
    which = "guardMapId" if row.kind == "guard_map" else "experimentId"
    return {"projectId": row.project_id, which: row.id, **outcome}


def _link(wanted: Wanted, replay_id: int) -> dict[str, int]:
    series = wanted.series
    return {
        "arm": series.arm,
        "test_case_id": series.test_case_id,
        "variant": series.variant,
        "ordinal": wanted.ordinal,
        "replay_id": replay_id,
    }
