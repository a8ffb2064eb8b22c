"""The embedded mode: one process serves HTTP and runs the actors and the clock, on SQLite and an in-process Redis.

Two more, which belong to it, store batches of spans.
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

from app.container import Container
from app.http.route_table import RoutedApp
from app.process import clock
from app.process.application import build_app
from app.process.bootstrap import bootstrap, freeze_gc
from app.process.storer import OF_TRACES
from app.process.storing import StoringProcesses
from app.shares import Quota
from config import gunicorn as web_configuration
from config.settings import Settings

# How long running actors may take to end; then they are cut off, and their rows are picked up by the next start.
STOP_S = 20
# Webhooks that are told of events at once.
WEBHOOK_THREADS = 4


class Background:
    """The workers and the clock, in threads; each queue has threads of its own, so that none waits for another."""

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
        jobs = [job for job in clock.jobs(container) if job.name not in OF_TRACES]
        ticking = (jobs, self._stop, container.metrics)
        self._clock = threading.Thread(target=clock.run, args=ticking, name="clock", daemon=True)

    def start(self) -> None:
        self._storing.start(self._metric_store)
        # Time limits start their timer here, as they do in a worker process.
        self._broker.emit_after("process_boot")
        # Warns of a second worker on one broker; each takes its own queue, so they don't meet.
        self._broker.logger.setLevel(logging.ERROR)
        for worker in self._workers:
            worker.start()
        self._clock.start()

    def stop(self) -> None:
        """Let running actors end, and give back the messages that none has begun."""
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
    """gunicorn with one worker process, in which everything is built: nothing is shared across its fork.

    If that process dies gunicorn starts another, and the clock in it picks up the rows that were left behind.
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
        # The arbiter must not kill the process while its actors end, which they do after the last answer.
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
        # Ctrl-C reaches the whole foreground group; the arbiter tells this process when to stop.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        worker.cfg.set("graceful_timeout", web_configuration.graceful_timeout)
        if worker.age == 1:
            self._on_ready()

    def _finish(self, _arbiter: object, _worker: object) -> None:
        if self._background is not None:
            self._background.stop()


class _PatientArbiter(Arbiter):  # type: ignore[misc]
    """Ctrl-C ends it as gracefully as SIGTERM does."""

    def handle_int(self) -> None:
        self.handle_term()


def serve(settings: Settings, on_ready: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT; `on_ready` is called once, when requests are answered. Ends the process."""
    # Forked processes share the memory that nobody writes to, and a collection of garbage writes to every object.
    freeze_gc()
    _PatientArbiter(EmbeddedServer(settings, on_ready)).run()
