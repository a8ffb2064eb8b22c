"""The Dramatiq actors, each of which calls one service, and the deliveries that send their messages.

Actors are declared on a broker that is passed in, so that each process, and each test, has its own. A delivery also
waits for a run on behalf of its caller.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import dramatiq
import redis
import structlog
from dramatiq import Message
from dramatiq.brokers.redis import RedisBroker

from app import deadline
from app.errors import Unavailable
from app.models.runs import RunRow
from app.redis_store.batches import BODY_S
from app.redis_store.broker import MAX_AGE_MS, WakingBroker
from app.redis_store.middleware import owned
from app.redis_store.runs import Announcement
from app.services.accounts.projects import Owners
from app.services.experiments.advance import ExperimentAdvancer
from app.services.replays.claims import ReplaySweeper
from app.services.runs import RunService, Started
from app.services.runs.following import shortened, still_in_work
from app.services.runs.outcome import NOT_SENT
from app.services.runs.records import read_record
from app.services.traces.checking import OnlineCheckRunner
from app.services.traces.form import BatchForm
from app.services.webhooks.deliveries import WebhookDeliverer
from app.services.wiring import Services
from app.work.round_robin import RoundRobin
from app.work.sweeper import attempt

log = structlog.get_logger(__name__)

BatchActor = dramatiq.Actor[..., dict[str, Any]]
ReplayActor = dramatiq.Actor[[int], None]
CheckActor = dramatiq.Actor[[int], None]
RunActor = dramatiq.Actor[[int], None]
WebhookActor = dramatiq.Actor[[int, int], None]

# For the claim, the files and the storing of an answer, on top of the model call.
AROUND_THE_CALL_S = 120
# Less than the time for which a worker holds a check.
CHECK_MS = 15 * 60_000
RETRIED: dict[str, Any] = {"min_backoff": 500, "max_backoff": 15_000, "max_age": MAX_AGE_MS}


@dataclass(frozen=True, slots=True)
class Actors:
    """All actors, for the deliveries that send their messages."""

    check_turns: CheckActor
    replay: ReplayActor
    run_prompt: RunActor
    store_spans: BatchActor
    deliver_webhook: WebhookActor


def declare(broker: RedisBroker, services: Services) -> Actors:
    return Actors(
        _check_turns(broker, services),
        _replay(broker, services),
        _run_prompt(broker, services),
        _store_spans(broker, services),
        _deliver_webhook(broker, services),
    )


def _check_turns(broker: RedisBroker, services: Services) -> CheckActor:
    """Dramatiq never retries it: the clock sends it again while there are turns to look at."""

    @dramatiq.actor(broker=broker, queue_name="replays", max_retries=0, time_limit=CHECK_MS, max_age=MAX_AGE_MS)
    def check_turns(check_id: int) -> None:
        services.online_check_runner.run(check_id)

    return check_turns


def _replay(broker: RedisBroker, services: Services) -> ReplayActor:
    """Dramatiq retries it while the database is away, and in another process when this one stops."""

    @dramatiq.actor(broker=broker, queue_name="replays", max_retries=3, time_limit=3_600_000, **RETRIED)
    def replay(replay_id: int) -> None:
        services.replay_player.play(replay_id)
        services.calibrations.replay_ended(replay_id)
        _send_replays(broker, replay, services.owners, services.experiment_advancer.replay_ended(replay_id))

    return replay


def _send_replays(broker: RedisBroker, actor: ReplayActor, owners: Owners, replay_ids: Sequence[int]) -> None:
    """Send the replays' messages. While Redis or the database is away they wait for the clock's next sweep."""
    try:
        for replay_id, organization_id in owners.of_replays(replay_ids).items():
            broker.enqueue(owned(actor.message(replay_id), organization_id))
    except (redis.RedisError, Unavailable) as error:
        log.warning("replays_not_sent", replay_ids=replay_ids, error=str(error))


def _run_prompt(broker: RedisBroker, services: Services) -> RunActor:
    """Dramatiq retries it while the database is away; the row allows one model call."""
    time_limit = (services.runs.executor.caller.timeout_s + AROUND_THE_CALL_S) * 1000

    @dramatiq.actor(broker=broker, queue_name="runs", max_retries=10, time_limit=time_limit, **RETRIED)
    def run_prompt(run_id: int) -> None:
        services.runs.execute(run_id)

    return run_prompt


def _store_spans(broker: RedisBroker, services: Services) -> BatchActor:
    """Dramatiq never retries it: the exporter gets 503 and sends the batch again, and a retry would race with that."""

    @dramatiq.actor(
        broker=broker,
        queue_name="spans",
        max_retries=0,
        time_limit=BODY_S * 1000,
        max_age=MAX_AGE_MS,
        store_results=True,
    )
    def store_spans(
        project_id: int, key: str, ticket: str, encoding: str, sealed: bool, more: dict[str, Any] | None = None
    ) -> dict[str, object]:
        form = BatchForm(**more) if more else BatchForm(encoding)
        with deadline.within(BODY_S):
            return asdict(services.ingest.store_claimed(project_id, key, ticket, form, sealed=sealed))

    return store_spans


def _deliver_webhook(broker: RedisBroker, services: Services) -> WebhookActor:
    """Dramatiq never retries it: the rows say what is to be done, and the clock sends the message again."""

    @dramatiq.actor(broker=broker, queue_name="webhooks", max_retries=0, time_limit=120_000, max_age=MAX_AGE_MS)
    def deliver_webhook(project_id: int, webhook_id: int) -> None:
        services.webhook_deliverer.deliver(project_id=project_id, webhook_id=webhook_id)

    return deliver_webhook


# The row is read this often while a caller waits: the end of a run may not be announced, when its worker died right
# after the commit or Redis is away.
LOOK_S = 15.0
# A sweep of the clock begins to advance experiments for so long.
ADVANCE_S = 3.0
# For reading the row of a run once more after the last wait for its end.
AFTER_WAIT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayDelivery:
    """No caller waits for a replay: the row has its progress."""

    broker: WakingBroker
    actor: ReplayActor
    owners: Owners
    sweeper: ReplaySweeper

    def send(self, replay_ids: Iterable[int]) -> None:
        _send_replays(self.broker, self.actor, self.owners, list(replay_ids))

    def sweep(self) -> None:
        """Send the replays again that were left behind; the clock calls it."""
        self.send(self.sweeper.sweep())


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentDelivery:
    replays: ReplayDelivery
    advancer: ExperimentAdvancer
    _turns: RoundRobin = field(default_factory=RoundRobin, init=False)

    def advance(self, experiment_id: int) -> None:
        """Advance the experiment and send its replays. While the database is away the clock does it later."""
        try:
            self.replays.send(self.advancer.advance(experiment_id))
        except Unavailable as error:
            log.warning("experiment_not_advanced", experiment_id=experiment_id, error=str(error))

    def sweep(self) -> None:
        """Advance the experiments that were left behind, of each organization in turn; the clock calls it."""
        until = time.monotonic() + ADVANCE_S
        self._turns.serve(self.advancer.behind(), self._advance_logged, is_over=lambda: time.monotonic() >= until)

    def _advance_logged(self, experiment_id: int) -> bool:
        """Advance the experiment once; returns False, as it comes again in the next sweep."""
        attempt(partial(self.advance, experiment_id), "experiment_failed", experiment_id=experiment_id)
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckDelivery:
    broker: WakingBroker
    actor: CheckActor
    runner: OnlineCheckRunner

    def sweep(self) -> None:
        """Send the online checks that have turns to look at; the clock calls it."""
        for check_id, organization_id in self.runner.due().items():
            self.broker.enqueue(owned(self.actor.message(check_id), organization_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDelivery:
    """`wait_s` is how long a caller may wait for its run."""

    broker: WakingBroker
    actor: RunActor
    runs: RunService
    owners: Owners
    wait_s: float

    def send(self, started: Started) -> None:
        """Send the run's message; `Unavailable` when Redis is away, and then the run will never be executed."""
        if started.joined:
            return
        self.runs.ending.completions.listen()
        try:
            self.broker.enqueue(self._message(started.run_id, self.owners.of_project(started.project_id)))
        except (redis.RedisError, Unavailable) as error:
            log.warning("run_not_sent", run_id=started.run_id, error=str(error))
            if self.runs.ending.give_up(started.run_id, NOT_SENT):
                raise Unavailable(NOT_SENT) from error

    def finished(self, started: Started) -> RunRow:
        """Wait until the run has ended and return it; `WaitTimeout` when that takes too long, while the run goes on.

        The caller that began the run gets the answer unmasked; one that repeats the request gets it as it is stored.
        """
        until = time.monotonic() + self.wait_s
        deadline.allow(self.wait_s + AFTER_WAIT_S)
        completions = self.runs.ending.completions
        completions.listen()
        end = None if started.joined else completions.wait(started.run_id, min(shortened(LOOK_S), self.wait_s))
        while not (row := self._row(started, end)).finished:
            if time.monotonic() >= until:
                raise still_in_work(row.id, self.wait_s)
            end = completions.wait(row.id, min(shortened(LOOK_S), until - time.monotonic()))
        return row if started.joined else self.runs.masking.as_said(row)

    def _row(self, started: Started, end: Announcement | None) -> RunRow:
        """Return the run that the announcement brings or, where it brings none, the stored one."""
        announced = read_record(end.record) if end else None
        return announced or self.runs.get(project_id=started.project_id, run_id=started.run_id)

    def sweep(self) -> None:
        """Send the runs again that were left behind; the clock calls it."""
        for run_id, organization_id in self.owners.of_runs(self.runs.sweeper.sweep()).items():
            log.info("run_sent_again", run_id=run_id)
            self.broker.enqueue(self._message(run_id, organization_id))

    def _message(self, run_id: int, organization_id: int) -> Message[None]:
        """Return the run's message; all of a run have the same id, so that one that is sent again is recognized."""
        return owned(self.actor.message(run_id), organization_id).copy(message_id=f"run-{run_id}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDelivery:
    broker: WakingBroker
    actor: WebhookActor
    owners: Owners
    deliverer: WebhookDeliverer

    def sweep(self) -> None:
        """Send a message for each webhook that is to be told of something; the clock calls it."""
        for due in self.deliverer.due():
            message = self.actor.message(due.project_id, due.webhook_id)
            self.broker.enqueue(owned(message, self.owners.of_project(due.project_id)))
