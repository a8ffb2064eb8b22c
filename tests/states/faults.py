"""Faults that are planted in the statements of work, to show that the machines find them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Connection, bindparam, or_, update

from app.experiments.cron import Due, latest_due, next_due
from app.models import experiment_replays, experiments, schedules, usage, webhook_deliveries
from app.models.base import Timestamp
from app.models.replays import replays
from app.models.runs import runs
from app.models.schedules import ScheduleRow
from app.models.webhook_deliveries import change_attempt
from app.services.experiments.schedules import ScheduleService
from app.services.experiments.service import ExperimentService
from app.services.replays.claims import REPLAY_WORK, ReplaySweeper
from app.services.runs.claims import RUN_WORK
from app.services.webhooks.deliveries import WebhookDeliverer
from app.work.sweeper import Resending
from app.work.table import Claim, WorkTable
from tests.states.delivering import Deliveries
from tests.states.experimenting import Experiments
from tests.states.machine import Machine
from tests.states.replaying import Replays
from tests.states.running import Runs
from tests.states.scheduling import Schedules


def ignore_token(patch: pytest.MonkeyPatch, work: WorkTable, table: Any) -> None:
    """Let a worker end a row that another one has claimed meanwhile."""
    c = table.c
    claimed = or_(c.claim == bindparam("token"), c.claim.is_not(None))
    patch.setattr(work, "held", update(table).where(c.id == bindparam("row_id"), claimed))


def ends_anothers_run(patch: pytest.MonkeyPatch) -> None:
    ignore_token(patch, RUN_WORK, runs)


def ends_anothers_replay(patch: pytest.MonkeyPatch) -> None:
    ignore_token(patch, REPLAY_WORK, replays)


def claims_a_run_in_work(patch: pytest.MonkeyPatch) -> None:
    values = {"status": "running", "claim": bindparam("token"), "alive_at": bindparam("now", type_=Timestamp())}
    patch.setattr(RUN_WORK, "_claim_one", update(runs).where(runs.c.id == bindparam("row_id")).values(**values))


def never_sends_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Resending, "due", lambda _self, _ages: [])


def counts_a_run_twice(patch: pytest.MonkeyPatch) -> None:
    count = usage.count_runs

    def twice(connection: Connection, used: Any, *, slot: int) -> None:
        count(connection, [*used, *used], slot=slot)

    patch.setattr(usage, "count_runs", twice)


def counts_in_another_transaction(patch: pytest.MonkeyPatch) -> None:
    count = usage.count_runs

    def after_commit(connection: Connection, used: Any, *, slot: int) -> None:
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("BEGIN")
        count(connection, used, slot=slot)

    patch.setattr(usage, "count_runs", after_commit)


def never_releases(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ReplaySweeper, "_interrupt", lambda _self, _claim: False)


def stores_the_status_only(patch: pytest.MonkeyPatch) -> None:
    finish = WorkTable.finish

    def without_result(
        self: WorkTable, connection: Connection, claim: Claim, values: Mapping[str, Any], **further: Any
    ) -> bool:
        return finish(self, connection, claim, {**values, "result": None}, **further)

    patch.setattr(WorkTable, "finish", without_result)


class Equal:
    """A number that equals every other one."""

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]


def adds_replays_that_another_has_added(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(experiment_replays, "count_replays", lambda _connection, **_of: Equal())


def ends_an_experiment_twice(patch: pytest.MonkeyPatch) -> None:
    adds_replays_that_another_has_added(patch)
    patch.setattr(experiments, "lock_unfinished", lambda _connection, **_of: True)


def links_in_another_transaction(patch: pytest.MonkeyPatch) -> None:
    add = experiment_replays.add_replays

    def after_commit(connection: Connection, links: Any) -> None:
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("BEGIN")
        add(connection, links)

    patch.setattr(experiment_replays, "add_replays", after_commit)


def leaves_replays_of_an_ended_experiment(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(experiment_replays, "cancel_replays", lambda _connection, **_of: 0)


def delivers_what_another_delivers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(webhook_deliveries, "claim", lambda _connection, _delivery, **_until: True)


def notes_before_it_sends(patch: pytest.MonkeyPatch) -> None:
    claim_next = WebhookDeliverer._claim_next

    def noted(self: WebhookDeliverer, project_id: int, webhook_id: int) -> Any:
        claimed = claim_next(self, project_id, webhook_id)
        if claimed is not None:
            end = {"status": "delivered", "finished_at": self.now()}
            self.database.retrying(lambda connection: change_attempt(connection, claimed[1], end))
        return claimed

    patch.setattr(WebhookDeliverer, "_claim_next", noted)


def never_notes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(webhook_deliveries, "change_attempt", lambda _connection, *_of, **_further: True)


def serves_what_another_has_served(patch: pytest.MonkeyPatch) -> None:
    due = ScheduleService._due

    def of_any(self: ScheduleService, connection: Connection, row: ScheduleRow) -> Due | None:
        return due(self, connection, replace(row, served_at=None))

    patch.setattr(ScheduleService, "_due", of_any)
    patch.setattr(schedules, "last_served", lambda _connection, _row, **_until: None)


def serves_the_first_of_the_missed(patch: pytest.MonkeyPatch) -> None:
    def first(cron: str, zone: ZoneInfo, *, after: datetime, now: datetime) -> Due | None:
        due = next_due(cron, zone, after)
        return Due(due, 0) if due is not None and due <= now else None

    patch.setattr("app.services.experiments.schedules.latest_due", first)


def believes_a_clock_that_was_ahead(patch: pytest.MonkeyPatch) -> None:
    """Serve nothing until the time that a clock has once shown."""

    def after_all(self: ScheduleService, connection: Connection, row: ScheduleRow) -> Due | None:
        now = self.earlier_now(connection, self.now())
        return latest_due(row.cron, ZoneInfo(row.timezone), after=max(row.since, row.served_at or row.since), now=now)

    patch.setattr(ScheduleService, "_due", after_all)


def starts_an_experiment_in_another_transaction(patch: pytest.MonkeyPatch) -> None:
    add = ExperimentService.add

    def committed(self: ExperimentService, connection: Connection, **new: Any) -> int:
        experiment_id = add(self, connection, **new)
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("BEGIN")
        return experiment_id

    patch.setattr(ExperimentService, "add", committed)


def starts_a_second_experiment(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(schedules, "unfinished_experiment", lambda _connection, _row: None)


PLANTED: dict[Callable[[pytest.MonkeyPatch], None], type[Machine]] = {
    ends_anothers_run: Runs,
    counts_in_another_transaction: Runs,
    adds_replays_that_another_has_added: Experiments,
    ends_an_experiment_twice: Experiments,
    links_in_another_transaction: Experiments,
    claims_a_run_in_work: Runs,
    never_sends_again: Runs,
    counts_a_run_twice: Runs,
    ends_anothers_replay: Replays,
    never_releases: Replays,
    stores_the_status_only: Replays,
    leaves_replays_of_an_ended_experiment: Experiments,
    delivers_what_another_delivers: Deliveries,
    notes_before_it_sends: Deliveries,
    never_notes: Deliveries,
    serves_what_another_has_served: Schedules,
    serves_the_first_of_the_missed: Schedules,
    believes_a_clock_that_was_ahead: Schedules,
    starts_an_experiment_in_another_transaction: Schedules,
    starts_a_second_experiment: Schedules,
}
