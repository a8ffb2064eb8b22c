"""The turns in which processes write to one SQLite file."""

from __future__ import annotations

import fcntl
import os
import time
import weakref
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from app.deadline import end_of_wait

POLL_S = 0.001
# As long as SQLite itself waits for another writer, which it goes on to do then.
WAIT_S = 30.0
# Bytes of the lock's file: one is locked by the process that writes, the other one by the process that is next.
_WRITES, _IS_NEXT = 0, 1


def file_of(database: str | None) -> Path | None:
    """Return the file of a SQLite database, by its name in a URL; None for one in memory."""
    return Path(database) if database and not database.startswith((":", "file:")) else None


class WriterTurns:
    """Holds the turn of this process during the block; one thread at a time may enter it.

    SQLite lets a process look for the end of another one's transaction in pauses that grow, so that one which writes
    without a pause would leave the other no chance. Here it has to queue behind the process that is next.

    A lock ends with its process. `database` is a file, or None and "" for a database in memory, which has no others.
    """

    def __init__(self, database: str | None) -> None:
        file = file_of(database)
        self._path = f"{file}-turns" if file else None
        self._file: int | None = None

    def __enter__(self) -> None:
        if self._path is None:
            return
        # Without a file, on a full disk say, the processes have SQLite's own lock.
        with suppress(OSError):
            file = self._opened(self._path)
            until = end_of_wait(WAIT_S)
            try:
                if _locked(file, _IS_NEXT, until):
                    _locked(file, _WRITES, until)
            finally:
                _unlock(file, _IS_NEXT)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            _unlock(self._file, _WRITES)

    def _opened(self, path: str) -> int:
        if self._file is None:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            weakref.finalize(self, os.close, self._file)
        return self._file


def _locked(file: int, byte: int, until: float) -> bool:
    """Lock a byte of the file; returns False if that takes too long, as it does while a process is stopped."""
    while time.monotonic() < until:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except BlockingIOError:
            time.sleep(POLL_S)
        else:
            return True
    return False


def _unlock(file: int, byte: int) -> None:
    fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)
