"""Runs a user's program for one replay, and ends it with all that it started.

It is a process between the command and the program, so that the program ends also when the command is killed. It runs
by its path and imports only the standard library. The command holds the other end of a socket: when that end closes,
the program has to end. What can't be ended is written there, as ids of processes.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

GRACE_S = 5.0
LOOK_S = 0.05
MARK = "REPRISE_REPLAY_TOKEN"
"""The variable of a program that only its replay has: what has it in its environment belongs to the program."""
_PROC = Path("/proc")
_PR_SET_CHILD_SUBREAPER = 36


class ProgramSupervisor:
    """The processes of a program. Its first process is the child `pid`."""

    def __init__(self, pid: int, token: str) -> None:
        self._pid, self._token = pid, token
        self.status: int | None = None

    def watch(self, command: socket.socket) -> None:
        """Return when the program has ended, or has to end."""
        while not self._has_ended() and not select.select([command], [], [], LOOK_S)[0]:
            pass

    def end(self) -> list[int]:
        """End all processes and return what can't be ended.

        They get SIGTERM and then SIGKILL; only SIGKILL if the program has ended and left them.
        """
        if not self._has_ended():
            self._signal(signal.SIGTERM)
            deadline = time.monotonic() + GRACE_S
            while self._left() and time.monotonic() < deadline:
                time.sleep(LOOK_S)
        self._signal(signal.SIGKILL)
        deadline = time.monotonic() + GRACE_S
        while (left := self._left()) and time.monotonic() < deadline:
            self._signal(signal.SIGKILL)
            time.sleep(LOOK_S)
        return sorted(left)

    def _has_ended(self) -> bool:
        """Let the system forget ended children, and return whether the program is one of them."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._pid:
                    self.status = ended[1]
        return self.status is not None

    def _left(self) -> set[int]:
        self._has_ended()
        return with_token(self._token) | (descendants() if _PROC.is_dir() else set())

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)
        for pid in self._left():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def descendants() -> set[int]:
    """Return the processes below this one. On Linux an orphan of the program is a child of this process."""
    children: dict[int, list[int]] = {}
    for folder in _processes():
        with suppress(OSError):
            parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(folder.name))
    below, waiting = set(), [os.getpid()]
    while waiting:
        pids = children.pop(waiting.pop(), [])
        below.update(pids)
        waiting += pids
    return below


def kill_marked(token: str) -> None:
    """Kill the processes that a supervisor has left which was killed, as by its program."""
    for pid in with_token(token):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def with_token(token: str) -> set[int]:
    """Return the processes with the token in their environment; without /proc, as far as `ps` shows it."""
    return marked(token) if _PROC.is_dir() else listed(token)


def marked(token: str) -> set[int]:
    """Return the processes that have the token in their environment, without ended ones, which have none."""
    entry, pids = f"{MARK}={token}".encode(), set()
    for folder in _processes():
        with suppress(OSError):
            if entry in (folder / "environ").read_bytes().split(b"\0"):
                pids.add(int(folder.name))
    return pids - {os.getpid()}


def listed(token: str) -> set[int]:
    """Do the same where `ps` shows environments, as on macOS."""
    shown = subprocess.run(["/bin/ps", "axeww", "-o", "pid=,stat=,command="], capture_output=True, check=False).stdout
    rows = (row.split(None, 2) for row in shown.decode("utf-8", "replace").splitlines() if f"{MARK}={token}" in row)
    return {int(pid) for pid, state, _ in rows if "Z" not in state} - {os.getpid()}


def _processes() -> Iterator[Path]:
    return (folder for folder in _PROC.iterdir() if folder.name.isdigit())


def _adopt_orphans() -> None:
    """Become the parent of all orphans below this process, whatever their group and environment."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _leave_streams() -> None:
    """Close the program's streams here, so that they end with the program."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)


def _end_like(status: int) -> None:
    """End this process with the code or the signal of the program."""
    if not os.WIFSIGNALED(status):
        sys.exit(os.WEXITSTATUS(status))
    import resource  # Windows has none, and loads this module

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
    os.kill(os.getpid(), os.WTERMSIG(status))


def main(descriptor: str, *arguments: str) -> None:
    """Run the program `arguments` until it ends or the socket `descriptor` is closed at the command's end.

    The process ends like the program: with its exit code or signal, and with 127 if it can't be started.
    """
    command = socket.socket(fileno=int(descriptor))
    _adopt_orphans()
    try:
        program = subprocess.Popen(arguments, start_new_session=True)  # noqa: S603 - the user's own program
    except OSError as error:
        sys.stderr.write(f"{arguments[0]} can't be started: {error.strerror or error}.\n")
        sys.exit(127)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _leave_streams()
    supervisor = ProgramSupervisor(program.pid, os.environ[MARK])
    supervisor.watch(command)
    left = supervisor.end()
    with suppress(OSError):
        command.sendall(" ".join(map(str, left)).encode())
    command.close()
    _end_like(supervisor.status or 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
