"""The embedded mode: one process serves HTTP and runs the actors and the clock, on SQLite and an in-process Redis.

Two child processes store batches of spans.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from typing import Any

from dramatiq import Worker
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter

from app.concurrency.quotas import Quota
from app.http.route_table import RoutedApp
from app.process import clock
from app.process.application import build_app
from app.process.bootstrap import bootstrap, freeze_gc
from app.process.storer import SPAN_JOBS
from app.process.storing import StoringProcesses
from app.wiring.container import Container
from config import gunicorn as web_configuration
from config.settings import Settings

# Running actors have this long to end. Then they are cut off, and the next start continues with their rows.
STOP_S = 20
# The number of webhooks that are called at the same time.
WEBHOOK_THREADS = 4


class Background:
    """The workers and the clock, in threads. Each queue has its own threads, so that no queue waits for another."""

    def __init__(self, container: Container, storing: StoringProcesses) -> None:
        self._storing = storing
        self._metric_store = container.metric_store
        self._broker = container.broker
        settings = container.settings
        sizes = {
            "runs": settings.worker_threads,
            "replays": settings.worker_threads,
            "webhooks": WEBHOOK_THREADS,
        }
        threads = {queue: Quota.of(size, settings.organization_share).capacity for queue, size in sizes.items()}
        self._workers = [Worker(self._broker, queues={queue}, worker_threads=n) for queue, n in threads.items()]
        self._stop = threading.Event()
        jobs = [job for job in clock.jobs(container) if job.name not in SPAN_JOBS]
        ticking = (jobs, self._stop, container.metrics)
        self._clock = threading.Thread(target=clock.run, args=ticking, name="clock", daemon=True)

    def start(self) -> None:
        """Start the storing processes, then the workers and the clock; returns at once."""
        self._storing.start(self._metric_store)
        # Dramatiq's TimeLimit starts its timer at this event, which a worker process emits, too.
        self._broker.emit_after("process_boot")
        # The broker would warn about a second worker, but each worker has its own queue.
        self._broker.logger.setLevel(logging.ERROR)
        for worker in self._workers:
            worker.start()
        self._clock.start()

    def stop(self) -> None:
        """Let running actors end, and requeue the messages that no actor has begun."""
        self._stop.set()
        stops = [threading.Thread(target=worker.stop, args=(STOP_S * 1000,)) for worker in self._workers]
        for stop in stops:
            stop.start()
        for stop in stops:
            stop.join()
        self._storing.stop()
        self._clock.join(STOP_S)
        self._broker.close()


class EmbeddedServer(BaseApplication):  # type: ignore[misc]
    """gunicorn with one worker process, in which everything is built, so that nothing is shared across the fork.

    If that process dies, gunicorn starts another one, and its clock continues with the rows that were left behind.
    """

    def __init__(self, settings: Settings, on_ready: Callable[[], None]) -> None:
        self._settings = settings
        self._on_ready = on_ready
        self._background: Background | None = None
        super().__init__()

    def load_config(self) -> None:
        for name, value in vars(web_configuration).items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)
        self.cfg.set("workers", 1)
        # The arbiter must not kill the process before its actors have ended, which happens after the last answer.
        self.cfg.set("graceful_timeout", web_configuration.graceful_timeout + STOP_S + 5)
        self.cfg.set("post_worker_init", self._announce)
        self.cfg.set("worker_exit", self._finish)

    def load(self) -> RoutedApp:
        storing = StoringProcesses(self._settings, fork=True)
        container = bootstrap(self._settings, storer=storing)
        self._background = Background(container, storing)
        self._background.start()
        app = build_app(container)
        freeze_gc()
        return app

    def _announce(self, worker: Any) -> None:
        # Ctrl-C reaches the whole foreground group, but only the arbiter stops this process.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        worker.cfg.set("graceful_timeout", web_configuration.graceful_timeout)
        if worker.age == 1:
            self._on_ready()

    def _finish(self, _arbiter: object, _worker: object) -> None:
        if self._background is not None:
            self._background.stop()


class _PatientArbiter(Arbiter):  # type: ignore[misc]
    """An arbiter that stops as gracefully on Ctrl-C as on SIGTERM."""

    def handle_int(self) -> None:
        self.handle_term()


def serve(settings: Settings, on_ready: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT, then exit. `on_ready` is called once, when requests are answered."""
    # Forked processes share memory until one of them writes to it, and garbage collection writes to every object.
    freeze_gc()
    _PatientArbiter(EmbeddedServer(settings, on_ready)).run()
