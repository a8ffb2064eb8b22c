"""Lets processes write to one SQLite file in turn."""

from __future__ import annotations

import fcntl
import os
import time
import weakref
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from app.concurrency.deadline import end_of_wait

POLL_S = 0.001
# The same time as SQLite waits for another writer. A process that waited so long writes without the lock.
WAIT_S = 30.0
# Bytes of the lock file: the first is locked by the process that writes, the second by the process that is next.
_WRITES, _IS_NEXT = 0, 1


def file_of(database: str | None) -> Path | None:
    """Return the file of a SQLite database by its name in a URL; None for a database in memory."""
    return Path(database) if database and not database.startswith((":", "file:")) else None


class WriterLock:
    """Holds the lock of this process during the block; only one thread at a time may enter it.

    In SQLite a process polls for the end of another's transaction with growing pauses, so a process that writes without
    a pause would leave others no chance. Here it has to queue behind the process that is next.

    A lock ends with its process. `database` is a file, or None or "" for a database in memory, which needs no lock.
    """

    def __init__(self, database: str | None) -> None:
        file = file_of(database)
        self._path = f"{file}-turns" if file else None
        self._descriptor: int | None = None

    def __enter__(self) -> None:
        if self._path is None:
            return
        # Without a lock file, for example on a full disk, the processes still have SQLite's lock.
        with suppress(OSError):
            descriptor = self._opened(self._path)
            until = end_of_wait(WAIT_S)
            try:
                if _lock(descriptor, _IS_NEXT, until):
                    _lock(descriptor, _WRITES, until)
            finally:
                _unlock(descriptor, _IS_NEXT)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            _unlock(self._descriptor, _WRITES)

    def _opened(self, path: str) -> int:
        if self._descriptor is None:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            weakref.finalize(self, os.close, self._descriptor)
        return self._descriptor


def _lock(descriptor: int, byte: int, until: float) -> bool:
    """Lock a byte of a file; return False if it is not free until `until`, for example if a process is stopped."""
    while time.monotonic() < until:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except BlockingIOError:
            time.sleep(POLL_S)
        else:
            return True
    return False


def _unlock(descriptor: int, byte: int) -> None:
    fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, byte)
