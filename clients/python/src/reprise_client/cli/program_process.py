"""Starts a user's program for one replay, keeps its last lines, and ends it with all that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from typing import IO

from reprise_client.cli.failures import CouldNotRun

LINES_KEPT = 20
LINE_MAX = 2_000
ANSWER_MAX = 4_000_000
GRACE_S = 5.0
LOOK_S = 0.05
MARK = "REPRISE_REPLAY_TOKEN"
"""The variable of a program that only its replay has: what has it in its environment belongs to the program."""


@dataclass(slots=True)
class ProgramProcess:
    """A running program in a process group. `answers` are the lines of its standard output, if they are read."""

    process: subprocess.Popen[bytes]
    token: str
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=LINES_KEPT))
    answers: Queue[str] = field(default_factory=Queue)
    _readers: list[threading.Thread] = field(default_factory=list)

    @classmethod
    def start(cls, command: Sequence[str], variables: Mapping[str, str], *, answers_on_stdout: bool) -> ProgramProcess:
        """Start the command; raises `CouldNotRun` where that is not possible."""
        if os.name != "posix":
            raise CouldNotRun("A program can be replayed on Linux and macOS only: its processes can't be ended here.")
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own program
                list(command),
                env={**os.environ, **variables},
                stdin=subprocess.PIPE if answers_on_stdout else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise CouldNotRun(f"{command[0]} can't be started: {error.strerror or error}.") from error
        program = cls(process, variables[MARK])
        for stream, is_answer in ((process.stdout, answers_on_stdout), (process.stderr, False)):
            reader = threading.Thread(target=program._read, args=(stream, is_answer), daemon=True)
            reader.start()
            program._readers.append(reader)
        return program

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def send(self, line: str) -> None:
        """Write a line to the program; raises `CouldNotRun` if it does not read any more."""
        stdin = self.process.stdin
        try:
            assert stdin  # noqa: S101 - it was started with one
            stdin.write(line.encode() + b"\n")
            stdin.flush()
        except OSError as error:
            raise self.failed("The program does not read its standard input any more.") from error

    def next_answer(self) -> str | None:
        """Return the next line of standard output; None if there is none at this moment."""
        with suppress(Empty):
            return self.answers.get(timeout=LOOK_S)
        return None

    def failed(self, problem: str) -> CouldNotRun:
        """Return the failure with the program's last lines."""
        code = self.process.poll()
        ended = "" if code is None else f" It ended with {'signal' if code < 0 else 'code'} {abs(code)}."
        for reader in self._readers if code is not None else ():
            reader.join(1)
        last = "".join(f"\n  | {line}" for line in self.lines)
        return CouldNotRun(f"{problem}{ended}{f' Its last lines:{last}' if last else ' It printed nothing.'}")

    def end(self) -> None:
        """End the program and all processes that it started, also in other groups, by SIGTERM and then SIGKILL.

        Raises `CouldNotRun`, with their ids, for processes that can't be ended.
        """
        self._signal(signal.SIGTERM)
        self._wait_for_end()
        deadline = time.monotonic() + GRACE_S
        while (left := self._left()) and time.monotonic() < deadline:
            self._signal(signal.SIGKILL)
            time.sleep(LOOK_S)
        self._close()
        if left:
            raise CouldNotRun(f"The program can't be ended: kill the processes {', '.join(map(str, left))}.")

    def _wait_for_end(self) -> None:
        deadline = time.monotonic() + GRACE_S
        while self._left() and time.monotonic() < deadline:
            time.sleep(LOOK_S)

    def _left(self) -> list[int]:
        """Return the processes that are left of the program."""
        return [self.process.pid] if self.is_running else marked(self.token)

    def _close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(OSError, ValueError):
                if stream:
                    stream.close()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)
        for pid in marked(self.token):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def _read(self, stream: IO[bytes], is_answer: bool) -> None:
        most = ANSWER_MAX if is_answer else LINE_MAX
        with suppress(OSError, ValueError):
            while line := stream.readline(most):
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                self.lines.append(text[:LINE_MAX])
                if is_answer:
                    self.answers.put(text)


def marked(token: str) -> list[int]:
    """Return the processes that have the token in their environment, without ended ones."""
    proc = Path("/proc")
    if not (proc / "self" / "environ").exists():
        return _listed(token)
    entry, found = f"{MARK}={token}".encode(), []
    for folder in proc.iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with suppress(OSError):
                if entry in (folder / "environ").read_bytes().split(b"\0") and not _is_dead(folder):
                    found.append(int(folder.name))
    return found


def _is_dead(folder: Path) -> bool:
    """Return whether the process has ended, and only waits for its parent."""
    return (folder / "stat").read_bytes().rpartition(b")")[2].split()[:1] == [b"Z"]


def _listed(token: str) -> list[int]:
    """Do the same where `ps` shows environments, as on macOS."""
    shown = subprocess.run(["/bin/ps", "axeww", "-o", "pid=,stat=,command="], capture_output=True, check=False).stdout
    rows = (row.split(None, 2) for row in shown.decode("utf-8", "replace").splitlines() if f"{MARK}={token}" in row)
    return [int(pid) for pid, state, _ in rows if "Z" not in state and int(pid) != os.getpid()]
