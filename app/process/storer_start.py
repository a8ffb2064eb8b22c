"""Starts a process that stores batches of spans, as a copy of this process or as a new one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass

from app.process.storer import keep_only, run


@dataclass(frozen=True, slots=True)
class Forked:
    """A copy of this process, with the methods of `Popen` that are needed."""

    pid: int

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def start_copy(control: socket.socket) -> Forked:
    """Fork this process, which has imported all modules and must have no other thread yet.

    `control` is the child's end of the socket by which the parent passes connections.
    """
    if pid := os.fork():
        return Forked(pid)
    try:
        keep_only(control.fileno())
        run(control)
    finally:  # `run` ends the process: only an error leads here, after which the copy of a server must not run on
        traceback.print_exc()
        os._exit(1)


def start_new(control: socket.socket) -> subprocess.Popen[bytes]:
    """Start a new interpreter, when this process has threads; `control` as in `start_copy`."""
    argv = [sys.executable, "-m", "app.process.storer", str(control.fileno())]
    return subprocess.Popen(argv, pass_fds=[control.fileno()])  # noqa: S603 - this interpreter
