"""Dramatiq middleware: counts messages, marks them with their organization, and stops a worker from fetching."""

from __future__ import annotations

import threading
import time
from queue import PriorityQueue
from typing import Any, TypeVar

from dramatiq import Broker, Message, Middleware, Worker
from dramatiq.broker import MessageProxy

from app.concurrency.threads import LastComeFirst
from app.metrics import Metrics
from app.metrics.registry import DEAD_LETTERS, MESSAGE_RETRIES, MESSAGE_SECONDS, MESSAGE_WAIT, MESSAGES

R = TypeVar("R")
# The option of a message that has its organization. Redis has the same number as the prefix of the message's id.
OPTION = "organization_id"


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


class HandBack(Middleware):
    """Marks the broker while its worker stops: further messages would have to wait for the last actor to end.

    Dramatiq's consumers continue to fetch meanwhile, because a fetch is also the heartbeat.
    """

    def before_worker_boot(self, broker: Broker, _worker: Worker) -> None:
        broker.stopping = False  # type: ignore[attr-defined]

    def before_worker_shutdown(self, broker: Broker, _worker: Worker) -> None:
        broker.stop_consuming()  # type: ignore[attr-defined]


class IdleThreads(Middleware):
    """Lets the threads of a worker sleep until there is a message. Dramatiq's threads poll once a second.

    A process that executes runs has hundreds of threads, and their polling cost several percent of a processor.
    """

    def before_worker_boot(self, _broker: Broker, worker: Worker) -> None:
        worker.work_queue = _WorkQueue()

    def before_worker_shutdown(self, _broker: Broker, worker: Worker) -> None:
        if isinstance(worker.work_queue, _WorkQueue):
            worker.work_queue.end_sleep()


# How often the threads of a worker check whether it ends.
END_S = 0.05


class _WorkQueue(PriorityQueue[Any]):
    _sleeping = True

    def __init__(self) -> None:
        super().__init__()
        self.not_empty = LastComeFirst(self.mutex)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Wait for an item regardless of `timeout` until `end_sleep` is called; after that for `END_S` at most."""
        if block:
            with self.not_empty:
                self.not_empty.wait_for(lambda: self._qsize() or not self._sleeping)
        return super().get(block, min(timeout or END_S, END_S))

    def end_sleep(self) -> None:
        """Wake all threads, which then check whether they should end."""
        with self.not_empty:
            self._sleeping = False
            self.not_empty.notify_all()


def organization_of(message_id: str) -> int:
    """Return the organization of a message by its id in Redis; 0 for an id without one."""
    number, colon, _ = message_id.partition(":")
    return int(number) if colon and number.isdecimal() else 0


class Ownership(Middleware):
    """Prefixes a message's id in Redis with its organization."""

    def before_enqueue(self, _broker: Broker, message: Message[object], _delay: int | None) -> None:
        if organization_id := message.options.get(OPTION):
            message.options["redis_message_id"] = f"{organization_id}:{message.options['redis_message_id']}"


def owned(message: Message[R], organization_id: int) -> Message[R]:
    """Return a copy of the message that belongs to the organization."""
    return message.copy(options={OPTION: organization_id})
