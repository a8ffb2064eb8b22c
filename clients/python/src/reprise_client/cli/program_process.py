"""Starts a user's program for one replay under a supervisor, exchanges lines with it, and ends it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, Queue
from typing import IO, Any

from reprise_client.cli import program_supervisor
from reprise_client.cli.failures import BEGIN_OF_QUOTE, CouldNotRun
from reprise_client.cli.program_supervisor import GRACE_S, LOOK_S, MARK, kill_marked

LINES_KEPT = 20
LINE_MAX = 2_000
ANSWER_MAX = 4_000_000
ANSWERS_KEPT = 2
"""A turn has one line of standard output: a second one is enough to refuse the turn."""
END_S = 3 * GRACE_S
"""How long the supervisor may need to end a program; it gives `GRACE_S` each to SIGTERM and SIGKILL."""


@dataclass(slots=True)
class ProgramProcess:
    """A running program. `answers` are the lines of its standard output that were not taken yet, if they are read.

    A thread writes the `questions`, because a program that does not read would hold the command. `is_deaf` is set when
    it has closed its standard input.

    `process` is its supervisor, which ends with its code. `lifeline` is held by this process only: when it closes,
    also because this process is killed, the supervisor ends the program.
    """

    process: subprocess.Popen[bytes]
    lifeline: socket.socket
    token: str = field(default="", repr=False)
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=LINES_KEPT))
    answers: Queue[str] = field(default_factory=Queue)
    questions: Queue[bytes | None] = field(default_factory=Queue)
    is_deaf: bool = False
    _threads: list[tuple[threading.Thread, IO[bytes]]] = field(default_factory=list)

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
        program = cls(process, lifeline, variables[MARK])
        for stream, is_answer in ((process.stdout, answers_on_stdout), (process.stderr, False)):
            assert stream  # noqa: S101 - it was started with one
            program._begin(program._read, stream, is_answer)
        if process.stdin:
            program._begin(program._write, process.stdin)
        return program

    def _begin(self, work: Callable[..., None], stream: IO[bytes], *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=(stream, *arguments), daemon=True)
        thread.start()
        self._threads.append((thread, stream))

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def send(self, line: str) -> None:
        """Write a line to the program when it reads the earlier ones. Raises `CouldNotRun` for output in between."""
        self.check_quiet()
        self.questions.put(line.encode() + b"\n")

    def next_answer(self) -> str | None:
        """Return the next line of standard output; None if there is none at this moment.

        Raises `CouldNotRun` if the program does not read any more.
        """
        with suppress(Empty):
            return self.answers.get(timeout=LOOK_S)
        if self.is_deaf:
            raise self.failed("The program does not read its standard input any more.")
        return None

    def check_quiet(self) -> None:
        """Raise `CouldNotRun` if there is a line of standard output that answers no question."""
        with suppress(Empty):
            line = self.answers.get_nowait()
            raise self.failed(
                f"The program printed a line that is no answer to a turn: {line[:200]!r}. "
                "Each turn has one line there: print all else to standard error."
            )

    def failed(self, problem: str) -> CouldNotRun:
        """Return the failure with the program's last lines."""
        code = self.process.poll()
        ended = "" if code is None else f" It ended with {'signal' if code < 0 else 'code'} {abs(code)}."
        for thread, stream in self._threads if code is not None else ():
            if stream is not self.process.stdin:
                thread.join(1)
        last = "".join(f"{BEGIN_OF_QUOTE}{line}" for line in self.lines)
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
        if self.process.returncode is not None and self.process.returncode < 0:
            kill_marked(self.token)  # the supervisor was killed, or ended as its program did
        self._close()
        if left:
            raise CouldNotRun(f"The program can't be ended: kill the processes {', '.join(left.decode().split())}.")

    def _close(self) -> None:
        """Close the streams, but not one that a process which can't be ended still holds: that would wait for it."""
        self.lifeline.close()
        self.questions.put(None)
        for thread, stream in self._threads:
            thread.join(1)
            if not thread.is_alive():
                with suppress(OSError):
                    stream.close()

    def _write(self, stream: IO[bytes]) -> None:
        try:
            while line := self.questions.get():
                stream.write(line)
                stream.flush()
        except (OSError, ValueError):
            self.is_deaf = True

    def _read(self, stream: IO[bytes], is_answer: bool) -> None:
        most = ANSWER_MAX if is_answer else LINE_MAX
        with suppress(OSError, ValueError):
            while line := stream.readline(most):
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                self.lines.append(text[:LINE_MAX])
                if is_answer and self.answers.qsize() < ANSWERS_KEPT:
                    self.answers.put(text)


def _environment() -> dict[str, str]:
    """Return the environment of this command without the settings of Reprise, as its key is worth more than a replay.

    The address stays: it is no secret.
    """
    return {
        name: value for name, value in os.environ.items() if name == "REPRISE_URL" or not name.startswith("REPRISE_")
    }
