"""Dramatiq middleware: counts messages, marks them with their organization, and stops a worker from fetching."""

from __future__ import annotations

import threading
import time
from typing import Any, TypeVar

from dramatiq import Broker, Message, Middleware, Worker
from dramatiq.broker import MessageProxy

from app.metrics import Metrics
from app.metrics.registry import DEAD_LETTERS, MESSAGE_RETRIES, MESSAGE_SECONDS, MESSAGE_WAIT, MESSAGES

R = TypeVar("R")
# The name of the option that has the organization of a message. The id of a message in Redis begins with its
# organization.
ORGANIZATION_OPTION = "organization_id"


class QueueMetrics(Middleware):
    """Counts messages and their outcomes, in every process that sends or works on them."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._begun = threading.local()

    def before_process_message(self, _broker: Broker, message: MessageProxy) -> None:
        self._begun.at = time.perf_counter()
        waited_s = time.time() - message.message_timestamp / 1000
        if "retries" not in message.options:
            self._metrics.observe(MESSAGE_WAIT, max(0.0, waited_s), message.queue_name)

    def after_process_message(
        self, _broker: Broker, message: MessageProxy, *, result: Any = None, exception: BaseException | None = None
    ) -> None:
        self._metrics.observe(MESSAGE_SECONDS, time.perf_counter() - self._begun.at, message.actor_name)
        self._metrics.count(MESSAGES, message.actor_name, "done" if exception is None else "failed")

    def after_skip_message(self, _broker: Broker, message: MessageProxy) -> None:
        self._metrics.count(MESSAGES, message.actor_name, "skipped")

    def after_enqueue(self, _broker: Broker, message: Message[Any], delay: int | None) -> None:
        # A delayed message is enqueued once more when its time has come.
        if delay is not None and "retries" in message.options:
            self._metrics.count(MESSAGE_RETRIES, message.actor_name)

    def after_nack(self, _broker: Broker, message: MessageProxy) -> None:
        self._metrics.count(DEAD_LETTERS, message.actor_name)

    def after_worker_shutdown(self, _broker: Broker, _worker: Worker) -> None:
        self._metrics.flush()


class StopFetching(Middleware):
    """Stops the fetching of messages when a worker stops: they would have to wait until its last actor has ended.

    Dramatiq's consumers go on fetching while a worker stops, because a fetch is also the heartbeat.
    """

    def before_worker_boot(self, broker: Broker, _worker: Worker) -> None:
        broker.stopping = False  # type: ignore[attr-defined]

    def before_worker_shutdown(self, broker: Broker, _worker: Worker) -> None:
        broker.stop_consuming()  # type: ignore[attr-defined]


def organization_of(message_id: str) -> int:
    """Return the organization of a message by its id in Redis; 0 for an id without one."""
    number, colon, _ = message_id.partition(":")
    return int(number) if colon and number.isdecimal() else 0


class OrganizationPrefix(Middleware):
    """Prefixes a message's id in Redis with its organization."""

    def before_enqueue(self, _broker: Broker, message: Message[object], _delay: int | None) -> None:
        if organization_id := message.options.get(ORGANIZATION_OPTION):
            message.options["redis_message_id"] = f"{organization_id}:{message.options['redis_message_id']}"


def for_organization(message: Message[R], organization_id: int) -> Message[R]:
    """Return a copy of a message that counts towards the organization's share of the workers."""
    return message.copy(options={ORGANIZATION_OPTION: organization_id})
