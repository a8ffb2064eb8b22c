"""Dramatiq middleware that keeps a stopping worker from taking messages."""

from __future__ import annotations

from dramatiq import Broker, Middleware, Worker


class HandBack(Middleware):
    """Marks the broker while its worker stops: further messages would wait for the last actor to end.

    Dramatiq's consumers go on fetching meanwhile, so that their heartbeats do.
    """

    def before_worker_boot(self, broker: Broker, _worker: Worker) -> None:
        broker.stopping = False  # type: ignore[attr-defined]

    def before_worker_shutdown(self, broker: Broker, _worker: Worker) -> None:
        broker.stopping = True  # type: ignore[attr-defined]
