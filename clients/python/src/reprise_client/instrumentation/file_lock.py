"""A lock between processes that the operating system drops when its holder dies."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

_HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        # Of the two locks of POSIX systems the one that a forked child does not inherit.
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Yield True with the lock held, or False when another process holds it.

    Where the file system has no locks it yields True: a lock saves work here, and guards nothing.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        yield True
        return
    try:
        yield _try(descriptor)
    finally:
        os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        _lock(descriptor)
    except OSError as error:
        return error.errno not in _HELD
    return True
