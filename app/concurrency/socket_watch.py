"""Limits whole waits for a server: one thread per process shuts down the sockets of waits that are over.

The time-out of a socket is for each read, so a server that sends a byte per second never exceeds it. A driver in C has
only such time-outs, and can't be stopped in another way.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

SOCKET_CHECK_S = 0.1
# The thread ends after this many looks without a wait, and the next wait starts another one.
QUIET_LOOKS = 10
# Descriptors that a driver returns before it has a socket: none, or a standard file of the process.
STANDARD_FILES = frozenset({-1, 0, 1, 2})


@dataclass(slots=True, eq=False)
class Wait:
    """A wait that ends at `until`, in monotonic seconds.

    `descriptor` returns the socket's, -1 while there is none. `ended` is True after the socket was shut down; then it
    can't be used any more.
    """

    until: float
    descriptor: Callable[[], int]
    ended: bool = False


@dataclass(slots=True)
class SocketWatch:
    """Shuts down the sockets of waits that are over. Its thread exists only while there are waits."""

    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _waits: set[Wait] = field(default_factory=set, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)

    def begin(self, until: float, descriptor: Callable[[], int]) -> Wait:
        """Watch a socket until `end`, which must be called before the socket is closed."""
        wait = Wait(until, descriptor)
        with self._lock:
            self._waits.add(wait)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="socket-watch", daemon=True)
                self._thread.start()
        return wait

    def end(self, wait: Wait) -> bool:
        """Stop watching the socket; return whether it was shut down."""
        with self._lock:
            self._waits.discard(wait)
        return wait.ended

    def forget(self) -> None:
        """Forget the parent's waits after a fork: the child has copies of its locks, but not its threads."""
        self._lock, self._waits, self._thread = threading.Lock(), set(), None

    def _work(self) -> None:
        quiet = 0
        while quiet < QUIET_LOOKS or not self._retires():
            time.sleep(SOCKET_CHECK_S)
            quiet = 0 if self._look(time.monotonic()) else quiet + 1

    def _retires(self) -> bool:
        """Return whether this thread ends: yes, unless a wait has just begun."""
        with self._lock:
            if not self._waits:
                self._thread = None
            return not self._waits

    def _look(self, now: float) -> int:
        """Shut down the sockets of waits that are over; return the number of remaining waits."""
        with self._lock:
            for wait in [wait for wait in self._waits if wait.until <= now]:
                if _shut_down(wait):
                    wait.ended = True
                    self._waits.remove(wait)
            return len(self._waits)


def _shut_down(wait: Wait) -> bool:
    """Shut down the socket of a wait; return False if there is no socket yet."""
    if (descriptor := wait.descriptor()) in STANDARD_FILES:
        return False
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as copied:
        copied.shutdown(socket.SHUT_RDWR)
    return True


WATCH = SocketWatch()
"""The watch of this process."""
os.register_at_fork(after_in_child=WATCH.forget)
