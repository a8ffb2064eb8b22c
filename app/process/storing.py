"""The processes of the embedded mode that store batches of spans; one of them also counts sessions and indexes words.

Reading spans occupies the Python interpreter all the time. In separate processes it delays no other requests, and two
batches are read at the same time. The processes end with the process that started them.
"""

from __future__ import annotations

import math
import os
import queue
import socket
import struct
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection

import structlog

from app.metrics.recorder import Store
from app.process.storer import CONNECTION_ENDED
from app.process.storer_start import Forked, start_copy, start_new
from app.redis_store.batches import BODY_S
from app.services.ingest.batch import BatchForm, BatchLost, Receipt, StoredKeys
from app.services.ingest.storer import STATES, StorerState
from config.settings import Settings

log = structlog.get_logger(__name__)

PROCESSES = min(2, os.cpu_count() or 1)
"""While one process reads a batch, the other one writes; more processes would wait for SQLite's single writer."""
# Between the end of a process and the start of the next one.
PAUSE_BEFORE_RESTART_S = 0.5
# A process that is not ready after this long hangs.
START_S = 60.0
# A process that has a batch for longer hangs: even on a slow machine the largest batch needs only some seconds.
HANGS_S = 30.0
# A process that ends has this long to send its metrics.
END_S = 5.0
LOST = "The process that stores spans has ended; send the batch again."
LATE = "The process that stores spans did not answer, and was ended; send the batch again."
# A batch should pass in few pieces.
_BUFFER = 1024 * 1024


class StoringProcesses:
    """Stores each batch in the process that has the fewest in work. A process that needs `batch_s` for one is killed.

    With `fork` the first processes are copies of this one, which must not have other threads yet. Copies start faster,
    and share the memory of imported modules.
    """

    def __init__(
        self, settings: Settings, *, fork: bool = False, count: int = PROCESSES, batch_s: int = BODY_S
    ) -> None:
        # Of equal loads the first process gets a batch. So the last one has the least to do, and runs the jobs.
        self.processes = [
            StoringProcess(settings, fork=fork, runs_jobs=index == count - 1, batch_s=batch_s) for index in range(count)
        ]

    def start(self, store: Store) -> None:
        """Keep the processes running from now on, and put their metrics into `store`."""
        for process in self.processes:
            process.start(store)

    def stop(self) -> None:
        """End the processes; no batch may be in work."""
        for process in self.processes:
            process.stop()

    def states(self) -> Mapping[StorerState, int]:
        """Return the number of processes in each state, for readiness and metrics."""
        counts = Counter(process.state for process in self.processes)
        return {state: counts[state] for state in STATES}

    def __call__(
        self, project_id: int, body: bytes, form: BatchForm, stored_keys: StoredKeys
    ) -> tuple[Receipt, StoredKeys]:
        """Store a batch, like `IngestService.store_repeatable`; raise `BatchLost` when its process dies meanwhile."""
        return min(self.processes, key=lambda process: process.load)(project_id, body, form, stored_keys)


class StoringProcess:
    """A process that is restarted when it dies; a call stores a batch in it.

    With `runs_jobs` it also runs the clock's `SPAN_JOBS`.
    """

    def __init__(
        self, settings: Settings, *, fork: bool = False, runs_jobs: bool = True, batch_s: int = BODY_S
    ) -> None:
        self._settings, self._runs_jobs, self.batch_s = settings, runs_jobs, batch_s
        self._stop = threading.Event()
        self._child = self._started(start_copy if fork else start_new)
        self._keeper = threading.Thread(target=self._keep, name="storing", daemon=True)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def idle(self) -> int:
        """The number of connections that are not in use."""
        return self._child.idle

    @property
    def load(self) -> float:
        """The number of batches in work; infinite while the process is being started, and after its end."""
        child = self._child
        return child.in_work if child.ready else math.inf

    @property
    def state(self) -> StorerState:
        """`hanging`: a batch is in work for more than `HANGS_S`; `starting`: the first or the next process starts."""
        child = self._child
        return "starting" if not child.ready else "hanging" if child.longest_s > HANGS_S else "ready"

    def start(self, store: Store) -> None:
        self._store = store
        self._keeper.start()

    def stop(self) -> None:
        """End the process; kill it if it does not end within `END_S`."""
        self._stop.set()
        self._child.end()
        self._keeper.join(END_S)
        self._child.kill()
        self._keeper.join()

    def __call__(
        self, project_id: int, body: bytes, form: BatchForm, stored_keys: StoredKeys
    ) -> tuple[Receipt, StoredKeys]:
        child = self._child
        child.begun.wait()
        try:
            return child.store(project_id, body, form, stored_keys, batch_s=self.batch_s)
        except BlockingIOError as error:
            # It hangs with the batch, and may hold the database's lock.
            log.error("process_hangs", name="storing", pid=child.pid)
            child.kill()
            raise BatchLost(LATE) from error
        except CONNECTION_ENDED as error:
            log.warning("batch_lost", error=str(error))
            raise BatchLost(LOST) from error

    def _keep(self) -> None:
        while True:
            if self._stop.is_set():
                self._child.end()
            self._child.keep_metrics(self._store)
            status = self._child.wait()
            if self._stop.wait(PAUSE_BEFORE_RESTART_S):
                return
            log.error("process_died", name="storing", status=status)
            while not self._start_next():
                if self._stop.wait(PAUSE_BEFORE_RESTART_S):
                    return

    def _start_next(self) -> bool:
        """Start the next process; return False when the system is out of memory or file descriptors."""
        try:
            self._child = self._started(start_new)
        except CONNECTION_ENDED as error:
            log.error("process_not_started", name="storing", error=str(error))
            return False
        return True

    def _started(self, start: Callable[[socket.socket], Forked | subprocess.Popen[bytes]]) -> _Child:
        child = _Child(self._settings, start, runs_jobs=self._runs_jobs)
        log.info("process_started", name="storing", pid=child.pid)
        return child


class _Child:
    """One process. Each caller has a connection for itself; later callers reuse it."""

    def __init__(
        self,
        settings: Settings,
        start: Callable[[socket.socket], Forked | subprocess.Popen[bytes]],
        *,
        runs_jobs: bool,
    ) -> None:
        self.begun = threading.Event()
        self._ended = False
        # For each batch in work, the monotonic time at which it was sent.
        self._taken: list[float] = []
        self._idle: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        self._control, theirs = socket.socketpair()
        with ExitStack() as undoing:
            undoing.enter_context(self._control)
            with theirs:
                self._process = start(theirs)
            undoing.callback(self._process.wait)
            undoing.callback(self._process.kill)
            self._metrics = self._connect()
            self._metrics.send((settings, runs_jobs))
            undoing.pop_all()

    @property
    def ready(self) -> bool:
        """True from when the process has begun until it has ended."""
        return self.begun.is_set() and not self._ended

    @property
    def in_work(self) -> int:
        return len(self._taken)

    @property
    def longest_s(self) -> float:
        """The seconds for which the oldest batch has been in work, 0 without one."""
        now = time.monotonic()
        return now - min(self._taken.copy(), default=now)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def idle(self) -> int:
        return self._idle.qsize()

    def store(
        self, project_id: int, body: bytes, form: BatchForm, stored_keys: StoredKeys, *, batch_s: int
    ) -> tuple[Receipt, StoredKeys]:
        """Let the process store a batch; it must have begun.

        Raises `OSError` or `EOFError` when the process has ended, `BlockingIOError` after `batch_s`.
        """
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            connection = self._connect(batch_s)
        taken = time.monotonic()
        self._taken.append(taken)
        answered = False
        try:
            connection.send((project_id, form, stored_keys))
            connection.send_bytes(body)
            stored: tuple[Receipt, StoredKeys] = connection.recv()
            answered = True
        finally:
            self._taken.remove(taken)
            if answered:
                self._idle.put(connection)
            else:  # the answer may still arrive, and must not be read by the next caller
                connection.close()
        return stored

    def keep_metrics(self, store: Store) -> None:
        """Put the process' metrics into `store` until it ends; kill it if it has not begun after `START_S`."""
        with suppress(*CONNECTION_ENDED):
            if not self._metrics.poll(START_S):
                log.error("process_hangs", name="storing", pid=self.pid)
                self.kill()
            while True:
                method, *values = self._metrics.recv()
                self.begun.set()
                if method == "add":
                    store.add(*values)
                else:
                    store.put_gauges(*values)

    def end(self) -> None:
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)

    def kill(self) -> None:
        """Kill the process, unless it has ended."""
        if not self._ended:
            self._process.kill()

    def wait(self) -> int:
        """Wait for the end of the process; return its exit status."""
        status = self._process.wait()
        self._ended = True
        self.begun.set()  # wakes callers that wait for the start
        for connection in (self._control, self._metrics):
            connection.close()
        with suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()
        return status

    def _connect(self, timeout_s: int = 0) -> Connection:
        """Open a connection. `timeout_s` limits each read and write at this end; 0 is no limit."""
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            ours.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", timeout_s, 0))
        with ours, theirs:
            socket.send_fds(self._control, [b"+"], [theirs.fileno()])
            return Connection(ours.detach())
