"""Dramatiq middleware of a worker that stops."""

from __future__ import annotations

from dramatiq import Broker, Middleware, Worker


class HandBack(Middleware):
    """A worker that stops takes no further messages: they would wait for its last actor to end.

    Dramatiq's consumers go on fetching meanwhile, so that their heartbeats do.
    """

    def before_worker_boot(self, broker: Broker, _worker: Worker) -> None:
        broker.stopping = False  # type: ignore[attr-defined]

    def before_worker_shutdown(self, broker: Broker, _worker: Worker) -> None:
        broker.stopping = True  # type: ignore[attr-defined]
