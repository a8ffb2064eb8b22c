"""Ends a command that has started work on a server: between two requests, so that it can cancel that work.

An exception at any place could lose the answer with the id of what was started.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from reprise_client.cli import standard_streams
from reprise_client.cli.failures import CouldNotRun

# Forges send SIGINT, then SIGTERM, and kill seconds later. Windows has SIGBREAK and no SIGHUP.
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
_SLICE_S = 1.0
# How long a command waits for the reader of its output where no person watches it.
_PATIENCE_S = 30.0


class Interrupted(CouldNotRun):
    def __init__(self) -> None:
        super().__init__("interrupted")


class Interruption:
    """Whether the command is to end."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def request(self) -> None:
        self._event.set()

    @property
    def is_requested(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raise `Interrupted` if the command is to end."""
        self.sleep(0)

    def sleep(self, seconds: float) -> None:
        """Sleep; raise `Interrupted` as soon as the command is to end."""
        # Python runs handlers of signals between slices, as a longer wait can't be interrupted on Windows.
        while not self._event.wait(min(seconds, _SLICE_S)):
            seconds -= _SLICE_S
            if seconds <= 0:
                return
        raise Interrupted


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Let signals end the command through the `Interruption`.

    A signal that the command was started to ignore, as by nohup, stays ignored.
    """
    stop = Interruption()

    def handle(*_: object) -> None:
        stop.request()
        standard_streams.set_patience(0)

    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    before = {number: signal.signal(number, handle) for number in numbers if signal.getsignal(number) != signal.SIG_IGN}
    standard_streams.set_patience(None if sys.stderr.isatty() else _PATIENCE_S)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
