"""An installation of four processes that share a database: two workers, a clock and a web process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

from dramatiq import Message
from sqlalchemy import Table, delete

from app.actors import replays, runs, webhooks
from app.actors.experiments import ExperimentDelivery
from app.actors.replays import ReplayDelivery
from app.actors.runs import RunDelivery
from app.actors.webhooks import WebhookDelivery
from app.models import webhooks as webhooks_model
from app.models.experiment_replays import experiment_replays
from app.models.experiments import experiments
from app.models.idempotency_keys import idempotency_keys
from app.models.replays import replays as replay_table
from app.models.runs import runs as run_table
from app.models.schedules import schedule_runs, schedules
from app.models.usage import usage_daily
from app.models.webhook_deliveries import webhook_deliveries
from app.process.bootstrap import bootstrap
from app.redis_store.broker import WakingBroker, build_broker
from app.services.experiments.request import NewExperiment
from app.services.webhooks.service import NewWebhook
from app.wiring.container import Container
from app.work.heartbeat import Patience
from app.work.sweeper import Resending
from tests.states.processes import (
    Mail,
    Process,
    PushedHeartbeat,
    SteppedDatabase,
    SteppedModels,
    SteppedSender,
    stepped,
)
from tests.support.world import World, new_world

WORKERS = ("first worker", "second worker")
CLOCK, WEB = "clock", "web"
NO_QUEUES = ("none",)
"""The queues of the worker of `world`, which must do no work."""
BEGAN = datetime(2026, 1, 5, tzinfo=UTC)
EMPTIED: Sequence[Table] = (
    experiment_replays,
    idempotency_keys,
    experiments,
    replay_table,
    run_table,
    schedule_runs,
    schedules,
    usage_daily,
    webhook_deliveries,
)
"""The tables that each example begins with empty."""


@dataclass
class Time:
    """The time of all processes, which only the test moves."""

    seconds: float = 0.0

    def now(self) -> datetime:
        return BEGAN + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


@dataclass
class Outside:
    """What is outside of the processes: messages, models, and the receiver of webhooks."""

    mail: Mail = field(default_factory=Mail)
    questions: list[str] = field(default_factory=list)
    received: list[tuple[str, int]] = field(default_factory=list)
    """The event and the status of each request that the receiver has answered."""
    status: int = 200
    wrong_every: int = 0
    """Of how many answers of models one is wrong, 0 for none."""

    def is_right(self) -> bool:
        """Return whether the model is right that was asked last."""
        return not self.wrong_every or len(self.questions) % self.wrong_every > 0

    def receive(self, event_id: str) -> int:
        self.received.append((event_id, self.status))
        return self.status

    def forget(self) -> None:
        self.mail.messages.clear()
        self.questions.clear()
        self.received.clear()
        self.repair()

    def repair(self) -> None:
        """Let models and the receiver answer as they should."""
        self.status, self.wrong_every = 200, 0


@dataclass
class Station:
    """A process with its services, and with actors that other processes' messages reach."""

    process: Process
    container: Container
    broker: WakingBroker
    runs: RunDelivery
    replays: ReplayDelivery
    webhooks: WebhookDelivery
    time: Time

    @property
    def experiments(self) -> ExperimentDelivery:
        return replace(self.container.experiment_delivery, replays=self.replays)

    def receive(self, message: Message[object]) -> None:
        """Do what an actor does with a message."""
        self.broker.get_actor(message.actor_name).fn(*message.args)

    def restart(self) -> None:
        """Forget what the process has observed: since when rows are unchanged, and which messages it has sent."""
        watch = {"monotonic": self.time.monotonic, "resending": Resending()}
        service = self.runs.runs
        self.runs = replace(self.runs, runs=replace(service, sweeper=replace(service.sweeper, **watch)))
        self.replays = replace(self.replays, sweeper=replace(self.replays.sweeper, **watch))


@dataclass
class Site:
    """The processes on the container of `world`, of which no worker or clock may run.

    The prompt's model repeats the question, and the test case expects that.
    """

    world: World
    prompt_id: int
    test_case_id: int
    key_id: int
    webhook_id: int
    time: Time
    outside: Outside
    stations: dict[str, Station]

    def empty(self) -> None:
        """Remove what earlier examples have left, and set the time back."""
        with self.world.container.database.write() as connection:
            for table in EMPTIED:
                connection.execute(delete(table))
            webhooks_model.free_at(connection, webhook_id=self.webhook_id, when=BEGAN)
        self.outside.forget()
        self.time.seconds = 0.0
        for station in self.stations.values():
            station.restart()


@contextmanager
def site_of(container: Container) -> Iterator[Site]:
    time, outside = Time(), Outside()
    with ExitStack() as stack:
        stack.enter_context(patch("app.services.replays.player.Heartbeat", PushedHeartbeat))
        stack.enter_context(patch("app.services.webhooks.deliveries.JITTER", 0))
        stack.enter_context(stepped(container.database))
        stations = {name: _station(stack, container, name, time, outside) for name in (*WORKERS, CLOCK, WEB)}
        yield Site(*_filled(container), time, outside, stations)


def _filled(container: Container) -> tuple[World, int, int, int, int]:
    """Return a world, and the ids of a prompt, of a test case, of the world's key and of a webhook."""
    world = new_world(container)
    prompt_id = world.post("/api/v1/prompts", json={"name": "A", "value": "Repeat."}).json["prompt"]["id"]
    assert world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Echo."}).status_code < 300
    expected = {"question": "Ping", "expectedAnswer": "Ping"}
    case = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json=expected)
    assert case.status_code == 201, case.text
    (key,) = container.services.keys.list(project_id=world.project_id)
    _audit_gate(container, world, prompt_id)
    new = NewWebhook("http://127.0.0.1/", ("experiment.finished",))
    known = container.services.webhooks.create(project_id=world.project_id, new=new)
    return world, prompt_id, case.json["id"], key.id, known.webhook.id


def _audit_gate(container: Container, world: World, prompt_id: int) -> None:
    """Audit the gate once, so that no experiment of an example waits for that."""
    key = {"project_id": world.project_id, "prompt_id": prompt_id}
    row = container.services.experiments.start(**key, new=NewExperiment())
    assert container.services.judge_audit_runner.run(row.design["auditId"]) == prompt_id


def _station(stack: ExitStack, shared: Container, name: str, time: Time, outside: Outside) -> Station:
    process = Process(name)
    models = SteppedModels(
        catalogue=shared.catalogue, process=process, questions=outside.questions, is_right=outside.is_right
    )
    container = bootstrap(
        shared.settings,
        now=time.now,
        database=SteppedDatabase(shared.database, process),
        redis=shared.redis,
        metrics=shared.metrics,
        providers=models,
    )
    stack.callback(container.services.runs.ending.completions.close)
    services, patience = container.services, Patience(sleep=lambda _seconds: None)
    broker = build_broker(shared.redis.commands, shared.redis.waiting)
    stack.enter_context(patch.object(broker, "enqueue", outside.mail.enqueue_of(process)))
    executor = services.runs.executor
    heartbeat = executor.heartbeat
    pushed = PushedHeartbeat(
        database=heartbeat.database, now=heartbeat.now, table=heartbeat.table, every_s=heartbeat.every_s
    )
    run_service = replace(services.runs, executor=replace(executor, heartbeat=pushed, patience=patience))
    deliverer = replace(
        services.webhook_deliverer,
        monotonic=time.monotonic,
        sender=SteppedSender(process=process, receive=outside.receive),
    )
    replay_actor = replays.declare(
        broker,
        player=replace(services.replay_player, patience=patience),
        calibrations=services.calibrations,
        advancer=services.experiment_advancer,
        owners=services.owners,
    )
    station = Station(
        process,
        container,
        broker,
        replace(container.run_delivery, broker=broker, actor=runs.declare(broker, run_service), runs=run_service),
        replace(container.replay_delivery, broker=broker, actor=replay_actor),
        replace(
            container.webhook_delivery, broker=broker, actor=webhooks.declare(broker, deliverer), deliverer=deliverer
        ),
        time,
    )
    station.restart()
    return station
