"""Starts a user's program for one replay under a supervisor, keeps its last lines, and ends it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, Queue
from typing import IO

from reprise_client.cli import program_supervisor
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.program_supervisor import GRACE_S, LOOK_S

LINES_KEPT = 20
LINE_MAX = 2_000
ANSWER_MAX = 4_000_000
END_S = 3 * GRACE_S
"""How long the supervisor may need to end a program; it gives `GRACE_S` each to SIGTERM and SIGKILL."""


@dataclass(slots=True)
class ProgramProcess:
    """A running program. `answers` are the lines of its standard output, if they are read.

    `process` is its supervisor, which ends with its code. `lifeline` is held by this process only: when it closes,
    also because this process is killed, the supervisor ends the program.
    """

    process: subprocess.Popen[bytes]
    lifeline: socket.socket
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=LINES_KEPT))
    answers: Queue[str] = field(default_factory=Queue)
    _readers: list[tuple[threading.Thread, IO[bytes]]] = field(default_factory=list)

    @classmethod
    def start(cls, command: Sequence[str], variables: Mapping[str, str], *, answers_on_stdout: bool) -> ProgramProcess:
        """Start the command; raises `CouldNotRun` where that is not possible."""
        if os.name != "posix":
            raise CouldNotRun("A program can be replayed on Linux and macOS only: its processes can't be ended here.")
        lifeline, end = socket.socketpair()
        with end:
            process = subprocess.Popen(  # noqa: S603 - the user's own program
                [sys.executable, "-I", "-S", program_supervisor.__file__, str(end.fileno()), *command],
                env={**_environment(), **variables},
                stdin=subprocess.PIPE if answers_on_stdout else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=[end.fileno()],
            )
        program = cls(process, lifeline)
        for stream, is_answer in ((process.stdout, answers_on_stdout), (process.stderr, False)):
            assert stream  # noqa: S101 - it was started with one
            reader = threading.Thread(target=program._read, args=(stream, is_answer), daemon=True)
            reader.start()
            program._readers.append((reader, stream))
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
        for reader, _ in self._readers if code is not None else ():
            reader.join(1)
        last = "".join(f"\n  | {line}" for line in self.lines)
        return CouldNotRun(f"{problem}{ended}{f' Its last lines:{last}' if last else ' It printed nothing.'}")

    def end(self) -> None:
        """End the program and all processes that it started, also in other groups, by SIGTERM and then SIGKILL.

        Raises `CouldNotRun`, with their ids, for processes that can't be ended.
        """
        left = b""
        self.lifeline.settimeout(END_S)
        try:
            self.lifeline.shutdown(socket.SHUT_WR)
            left = self.lifeline.recv(LINE_MAX)
            self.process.wait(END_S)
        except (OSError, subprocess.TimeoutExpired):
            # The supervisor was killed, or hangs.
            if self.is_running:
                left = str(self.process.pid).encode()
        self._close()
        if left:
            raise CouldNotRun(f"The program can't be ended: kill the processes {', '.join(left.decode().split())}.")

    def _close(self) -> None:
        """Close the streams, but not one that a process which can't be ended still holds: that would wait for it."""
        self.lifeline.close()
        with suppress(OSError):
            if self.process.stdin:
                self.process.stdin.close()
        for reader, stream in self._readers:
            reader.join(1)
            if not reader.is_alive():
                stream.close()

    def _read(self, stream: IO[bytes], is_answer: bool) -> None:
        most = ANSWER_MAX if is_answer else LINE_MAX
        with suppress(OSError, ValueError):
            while line := stream.readline(most):
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                self.lines.append(text[:LINE_MAX])
                if is_answer:
                    self.answers.put(text)


def _environment() -> dict[str, str]:
    """Return the environment of this command without the settings of Reprise, as its key is worth more than a replay.

    The address stays: it is no secret.
    """
    return {
        name: value for name, value in os.environ.items() if name == "REPRISE_URL" or not name.startswith("REPRISE_")
    }
