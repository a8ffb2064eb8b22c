"""A child process of the embedded mode, which stores batches of spans for its parent and ends with it."""

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

from app.metrics import Metrics
from app.metrics.readings import Increments, Readings
from app.metrics.registry import Labels, Metric
from app.process import clock
from app.process.bootstrap import bootstrap, freeze_gc, prepare
from app.process.copies import forget_signals
from app.services.ingest.batch import Receipt
from app.wiring.container import Container

log = structlog.get_logger(__name__)

FAILED = "The batch could not be stored; see the server's log."
SPAN_JOBS = frozenset({"add_up_sessions", "count_sessions", "index_words", "pack_spans", "settle_turns"})
"""The clock's jobs that read spans; they run in a storing process."""
CONNECTION_ENDED = (OSError, EOFError)
"""The errors of a connection to a process that has ended."""


class _SentMetrics:
    """A store of metrics that sends them to the parent process."""

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
    """Store the batches that arrive on a connection, until the caller closes it or ends."""
    with connection, suppress(*CONNECTION_ENDED):
        while True:
            project_id, form, stored_keys = connection.recv()
            body = connection.recv_bytes()
            container.mailbox.note_use()
            try:
                stored = container.services.ingest.store_repeatable(project_id, body, form, stored_keys)
            except Exception:
                # A bug. Without an answer the caller would believe that this process has ended.
                log.exception("batch_failed", project_id=project_id)
                stored = Receipt("unavailable", message=FAILED), b""
            container.mailbox.note_use()
            del body
            connection.send(stored)


def _accepted(control: socket.socket) -> Connection | None:
    """Return the next connection; None when the parent has ended."""
    _, received, _, _ = socket.recv_fds(control, 1, 1)
    return Connection(received[0]) if received else None


def run(control: socket.socket) -> None:
    """Store batches until the parent at the other end of `control` has ended; then end this process."""
    # Ctrl-C and a service manager's SIGTERM reach the whole group, but this process must end after its parent.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    if (first := _accepted(control)) is None:
        return
    settings, runs_jobs = first.recv()
    prepare(settings)
    sent = _SentMetrics(first)
    container = bootstrap(settings, metrics=Metrics(sent))
    freeze_gc()
    sent.add({})  # informs the parent that this process is ready
    if runs_jobs:
        jobs = [job for job in clock.jobs(container) if job.name in SPAN_JOBS]
        ticking = (jobs, threading.Event(), container.metrics)
        threading.Thread(target=clock.run, args=ticking, name="clock", daemon=True).start()
    while connection := _accepted(control):
        threading.Thread(target=_serve, args=(connection, container), daemon=True).start()
    container.metrics.flush()
    # A job of the clock may be within a transaction, which is then rolled back.
    os._exit(0)


def keep_only(descriptor: int) -> None:
    """Reset the signal handlers, and close the files, that a copy has from its original.

    The original's end of `control` must be among the closed files: while a copy of it is open, the end of the original
    process goes unnoticed.
    """
    forget_signals()
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as given:
        run(given)
