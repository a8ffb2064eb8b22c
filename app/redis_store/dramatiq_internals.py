"""The undocumented parts of Dramatiq that are used; the unit tests name the version that has them."""

from __future__ import annotations

from queue import PriorityQueue
from typing import Any

from dramatiq import Broker, Middleware, Worker
from dramatiq.brokers.redis import RedisBroker
from dramatiq.brokers.redis import _RedisConsumer as Consumer

from app.concurrency.threads import LastComeFirst

__all__ = ["Consumer", "IdleThreads", "MaintainedBroker"]

# How often the threads of a worker check whether it ends.
END_S = 0.05


class MaintainedBroker(RedisBroker):
    def _should_do_maintenance(self, command: str) -> int:
        """Return 1 for each fetch: fetches are few, and only a fetch finds dead workers of its queue."""
        return int(command == "fetch")


class IdleThreads(Middleware):
    """Lets the threads of a worker sleep until there is a message. Dramatiq's threads poll once a second.

    A process that executes runs has hundreds of threads, and their polling cost several percent of a processor.
    """

    def before_worker_boot(self, _broker: Broker, worker: Worker) -> None:
        worker.work_queue = _WorkQueue()

    def before_worker_shutdown(self, _broker: Broker, worker: Worker) -> None:
        if isinstance(worker.work_queue, _WorkQueue):
            worker.work_queue.end_sleep()


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
