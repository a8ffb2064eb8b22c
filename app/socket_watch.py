"""Ends waits for a server at a time: the thread of a process that shuts down the sockets on which they wait.

The time-out of a socket is for each read of it, so that a server which sends a byte a second never reaches it. A driver
in C, which knows only such time-outs, has no other way to be stopped.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

LOOK_S = 0.1
# The thread ends after so many looks without a wait, and the next wait starts another one.
QUIET_LOOKS = 10
# What a driver names its socket before it has one: no socket, or a standard file of the process.
STANDARD_FILES = frozenset({-1, 0, 1, 2})


@dataclass(slots=True, eq=False)
class Wait:
    """A wait that ends at `until`, in monotonic seconds.

    `descriptor` returns that of the socket, -1 while there is none. `ended` is True when the socket was shut down,
    after which it can't be used any more.
    """

    until: float
    descriptor: Callable[[], int]
    ended: bool = False


@dataclass(slots=True)
class SocketWatch:
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
        """Watch the socket no longer; return whether it was shut down."""
        with self._lock:
            self._waits.discard(wait)
        return wait.ended

    def forget(self) -> None:
        """Forget the waits of another process: a fork has none of its parent's threads, and has copies of its locks."""
        self._lock, self._waits, self._thread = threading.Lock(), set(), None

    def _work(self) -> None:
        quiet = 0
        while quiet < QUIET_LOOKS or not self._retires():
            time.sleep(LOOK_S)
            quiet = 0 if self._look(time.monotonic()) else quiet + 1

    def _retires(self) -> bool:
        """Let this thread end, unless a wait has begun just now."""
        with self._lock:
            if not self._waits:
                self._thread = None
            return not self._waits

    def _look(self, now: float) -> int:
        """Shut down what is due; return the number of waits."""
        with self._lock:
            for wait in [wait for wait in self._waits if wait.until <= now]:
                if _shut_down(wait):
                    wait.ended = True
                    self._waits.remove(wait)
            return len(self._waits)


def _shut_down(wait: Wait) -> bool:
    """Return False where there is no socket yet."""
    if (descriptor := wait.descriptor()) in STANDARD_FILES:
        return False
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as copied:
        copied.shutdown(socket.SHUT_RDWR)
    return True


WATCH = SocketWatch()
"""That of this process."""
os.register_at_fork(after_in_child=WATCH.forget)
