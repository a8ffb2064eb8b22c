"""A process of the embedded mode that stores batches of spans for the one that started it, and ends with that one."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection

import structlog

from app.container import Container
from app.metrics import Metrics
from app.metrics.readings import Increments, Readings
from app.metrics.registry import Labels, Metric
from app.process import clock
from app.process.bootstrap import bootstrap, freeze_gc, prepare
from app.process.copies import forget_signals
from app.services.traces.form import Receipt

log = structlog.get_logger(__name__)

FAILED = "The batch could not be stored; the server's log says why."
OF_TRACES = frozenset({"add_up_sessions", "count_sessions", "index_words"})
"""The clock's jobs that read spans as ingest does."""
GONE = (OSError, EOFError)
"""What is raised when the other process has ended."""


class _SentMetrics:
    """Sends what is counted to the process that keeps it, which knows the labels of all."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, increments: Increments) -> None:
        self._send("add", dict(increments))

    def put_gauges(self, process: str, values: Mapping[tuple[Metric, Labels], float]) -> None:
        self._send("put_gauges", process, dict(values))

    def total(self) -> Readings:
        return Readings({})

    def _send(self, *what: object) -> None:
        with suppress(OSError):
            self._connection.send(what)


def _serve(connection: Connection, container: Container) -> None:
    """Store the batches of one caller, until it ends or closes the connection."""
    with connection, suppress(*GONE):
        while True:
            project_id, form, note = connection.recv()
            body = connection.recv_bytes()
            container.mailbox.note_use()
            try:
                stored = container.services.ingest.store_noted(project_id, body, form, note)
            except Exception:
                # A bug, which the caller must not take for the end of this process.
                log.exception("batch_failed", project_id=project_id)
                stored = Receipt("unavailable", message=FAILED), b""
            container.mailbox.note_use()
            del body
            connection.send(stored)


def _accepted(control: socket.socket) -> Connection | None:
    """Return the next connection; None when the other process has ended."""
    _, received, _, _ = socket.recv_fds(control, 1, 1)
    return Connection(received[0]) if received else None


def run(control: socket.socket) -> None:
    """Store batches until the process at the other end of `control` has ended; ends this process."""
    # Ctrl-C and a service manager's SIGTERM reach the whole group: this process ends after the one that uses it.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    if (first := _accepted(control)) is None:
        return
    settings, counts = first.recv()
    prepare(settings)
    sent = _SentMetrics(first)
    container = bootstrap(settings, metrics=Metrics(sent))
    freeze_gc()
    sent.add({})  # the other process learns that this one is ready
    if counts:
        jobs = [job for job in clock.jobs(container) if job.name in OF_TRACES]
        ticking = (jobs, threading.Event(), container.metrics)
        threading.Thread(target=clock.run, args=ticking, name="clock", daemon=True).start()
    while connection := _accepted(control):
        threading.Thread(target=_serve, args=(connection, container), daemon=True).start()
    container.metrics.flush()
    # A job of the clock may be in the middle of a block: its transaction is rolled back.
    os._exit(0)


def let_go_of_all_but(descriptor: int) -> None:
    """Forget the signals and files of the process that this one is a copy of.

    While a copy of the control's other end is open, no end of the other process is noticed.
    """
    forget_signals()
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as given:
        run(given)
