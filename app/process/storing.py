"""A process of the embedded mode that stores batches of spans, and keeps what is made of them: counts and words.

What reads spans needs the interpreter all the time. In a process of its own it keeps nobody from being answered, and
ends with the process that started it.
"""

from __future__ import annotations

import os
import queue
import resource
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection

import structlog

from app.container import Container
from app.metrics import Metrics
from app.metrics.readings import Increments, Readings
from app.metrics.recorder import Store
from app.metrics.registry import Labels, Metric
from app.process import clock
from app.process.bootstrap import bootstrap, freeze_gc, prepare
from app.services.traces.form import BatchForm, Receipt
from config.settings import Settings

log = structlog.get_logger(__name__)

OF_TRACES = frozenset({"count_sessions", "index_words"})
"""The clock's jobs that read spans as ingest does."""
# Between the end of a process and the start of the next one.
PAUSE_S = 0.5
LOST = "The process that stores spans has ended; send the batch again."
# A batch should pass in few pieces.
_BUFFER = 1024 * 1024
_GONE = (OSError, EOFError)


class StoringProcess:
    """Starts the process, and another one when it dies; a call stores a batch in it.

    `store` keeps the process's metrics. With `fork`, which asks for a caller that has no other thread yet, the first
    process is a copy of this one: it is there sooner, and they share the memory of what is imported.
    """

    def __init__(self, settings: Settings, *, fork: bool = False) -> None:
        self._settings = settings
        self._stop = threading.Event()
        self._child = _Child(settings, _fork if fork else _spawn)
        self._keeper = threading.Thread(target=self._keep, name="storing", daemon=True)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def idle(self) -> int:
        """The connections that no batch is in work on."""
        return self._child.idle

    def start(self, store: Store) -> None:
        """Keep the process running from now on, and what it counts in `store`."""
        self._store = store
        self._keeper.start()

    def stop(self) -> None:
        """End the process; no batch may be in work."""
        self._stop.set()
        self._child.end()
        self._keeper.join()

    def __call__(self, project_id: int, body: bytes, form: BatchForm, note: bytes) -> tuple[Receipt, bytes]:
        """Store a batch as `IngestService.store_noted` does; it is unavailable when the process dies meanwhile."""
        try:
            return self._child.store(project_id, body, form, note)
        except _GONE as error:
            log.warning("batch_lost", error=str(error))
            return Receipt("unavailable", message=LOST), b""

    def _keep(self) -> None:
        while True:
            if self._stop.is_set():
                self._child.end()
            self._child.keep_metrics(self._store)
            status = self._child.wait()
            if self._stop.wait(PAUSE_S):
                return
            log.error("process_died", name="storing", status=status)
            self._child = _Child(self._settings, _spawn)


class _Child:
    """One process. Each caller has a connection to it for itself, which later callers use again."""

    def __init__(self, settings: Settings, start: Callable[[socket.socket], _Forked | subprocess.Popen[bytes]]) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = start(theirs)
        self._idle: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        self._metrics = self._connect()
        self._metrics.send(settings)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def idle(self) -> int:
        return self._idle.qsize()

    def store(self, project_id: int, body: bytes, form: BatchForm, note: bytes) -> tuple[Receipt, bytes]:
        """Have a batch stored; raises `OSError` or `EOFError` when the process is gone."""
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            connection = self._connect()
        try:
            connection.send((project_id, form, note))
            connection.send_bytes(body)
            stored: tuple[Receipt, bytes] = connection.recv()
        except BaseException:
            # One that was left in the middle must not give its answer to the next caller.
            connection.close()
            raise
        self._idle.put(connection)
        return stored

    def keep_metrics(self, store: Store) -> None:
        """Keep what the process counts, until it ends."""
        with suppress(*_GONE):
            while True:
                process, increments, gauges = self._metrics.recv()
                store.add(increments)
                store.put_gauges(process, gauges)

    def end(self) -> None:
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)

    def wait(self) -> int:
        """Wait for the end of the process; returns its exit status."""
        status = self._process.wait()
        for connection in (self._control, self._metrics):
            connection.close()
        with suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()
        return status

    def _connect(self) -> Connection:
        ours, theirs = socket.socketpair()
        for one in (ours, theirs):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        with ours, theirs:
            socket.send_fds(self._control, [b"+"], [theirs.fileno()])
            return Connection(ours.detach())


@dataclass(frozen=True, slots=True)
class _Forked:
    """A copy of this process, which is waited for as a `Popen` is."""

    pid: int

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _fork(control: socket.socket) -> _Forked:
    if pid := os.fork():
        return _Forked(pid)
    try:
        _let_go_of_all_but(control.fileno())
        _run(control)
    except BaseException:  # noqa: BLE001 - nothing may go on in the copy of a server
        traceback.print_exc()
    finally:
        os._exit(1)


def _let_go_of_all_but(descriptor: int) -> None:
    """Forget the signals and files of the process that this one is a copy of.

    gunicorn has the number of each signal written to a descriptor, which would be another file from now on, such as the
    database. While a copy of the control's other end is open, no end of the other process is noticed.
    """
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _spawn(control: socket.socket) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "app.process.storing", str(control.fileno())]
    return subprocess.Popen(argv, pass_fds=[control.fileno()])  # noqa: S603 - this interpreter


class _SentMetrics:
    """Sends what is counted to the process that keeps it, which knows the labels of all."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, increments: Increments) -> None:
        self._send("", dict(increments), {})

    def put_gauges(self, process: str, values: Mapping[tuple[Metric, Labels], float]) -> None:
        self._send(process, {}, dict(values))

    def total(self) -> Readings:
        return Readings({})

    def _send(self, *what: object) -> None:
        with suppress(OSError):
            self._connection.send(what)


def _serve(connection: Connection, container: Container) -> None:
    """Store the batches of one caller, until it ends or closes the connection."""
    with connection, suppress(*_GONE):
        while True:
            project_id, form, note = connection.recv()
            body = connection.recv_bytes()
            container.mailbox.note_use()
            stored = container.services.ingest.store_noted(project_id, body, form, note)
            container.mailbox.note_use()
            del body
            connection.send(stored)


def _accepted(control: socket.socket) -> Connection | None:
    """Return the next connection; None when the other process has ended."""
    _, received, _, _ = socket.recv_fds(control, 1, 1)
    return Connection(received[0]) if received else None


def _run(control: socket.socket) -> None:
    """Store batches until the process at the other end of `control` has ended; ends this process."""
    # Ctrl-C and a service manager's SIGTERM reach the whole group: this process ends after the one that uses it.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    if (first := _accepted(control)) is None:
        return
    settings: Settings = first.recv()
    prepare(settings)
    container = bootstrap(settings, metrics=Metrics(_SentMetrics(first)))
    freeze_gc()
    jobs = [job for job in clock.jobs(container) if job.name in OF_TRACES]
    ticking = (jobs, threading.Event(), container.metrics)
    threading.Thread(target=clock.run, args=ticking, name="clock", daemon=True).start()
    while connection := _accepted(control):
        threading.Thread(target=_serve, args=(connection, container), daemon=True).start()
    container.metrics.flush()
    # A job of the clock may be in the middle of a block: its transaction is rolled back.
    os._exit(0)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as given:
        _run(given)
