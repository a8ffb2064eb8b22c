"""A child process in a group of its own, with its output in a file and hands to hurt it."""

import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support import programs
from tests.support.waiting import PATIENCE_S, NotReady, wait_until

TAIL_BYTES = 4000


class ChildProcess:
    """Starts `argv`, waits until `ready` answers True, and ends with the `with` block.

    Signals reach the whole process group, so those of servers that fork reach their workers too.
    """

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        log: Path,
        ready: Callable[[], bool] = lambda: True,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        start_timeout_s: float = PATIENCE_S,
    ) -> None:
        self.name, self.argv, self.log = name, list(argv), log
        self._ready, self._env, self._cwd, self._start_timeout_s = ready, env, cwd, start_timeout_s
        self._process: programs.Running | None = None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} was never started"
        return self._process.pid

    def launch(self) -> None:
        """Start the program without waiting for it, its output appended to `log`."""
        self._process = programs.start(self.argv, env=self._env, cwd=self._cwd, out=self.log, err=self.log)

    def wait_ready(self) -> None:
        """Wait until the program serves; `NotReady` with the end of its output when it dies or stays mute."""
        try:
            wait_until(lambda: not self.alive or self._ready(), self.name, self._start_timeout_s)
        except NotReady as slow:
            self.kill()
            raise NotReady(f"{slow}\n{self.output_tail()}") from None
        if not self.alive:
            raise NotReady(f"{self.name} ended with {self._returncode()}\n{self.output_tail()}")

    def start(self) -> Self:
        self.launch()
        self.wait_ready()
        return self

    def terminate(self, timeout_s: float = PATIENCE_S) -> int:
        """Ask the program to end (SIGTERM to its leader, as an init system does); its exit status."""
        if self.alive:
            os.kill(self.pid, signal.SIGTERM)
        try:
            self._wait(timeout_s)
        finally:
            self.kill()
        return self._returncode()

    def kill(self) -> None:
        """SIGKILL to the whole group, orphans of a dead leader included."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._wait(PATIENCE_S)

    def pause(self) -> None:
        """Stop the group where it is: its connections stay open and answer nothing."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def restart(self) -> None:
        """Kill it if it still lives, then start it as before: same port, same folder."""
        self.kill()
        self.start()

    def output_tail(self) -> str:
        """The end of what the program wrote, for error messages."""
        return self.log.read_bytes()[-TAIL_BYTES:].decode(errors="replace") if self.log.exists() else ""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def _wait(self, timeout_s: float) -> None:
        assert self._process is not None
        self._process.wait(timeout_s)

    def _returncode(self) -> int:
        assert self._process is not None
        status = self._process.poll()
        assert status is not None, f"{self.name} still runs"
        return status


def is_alive(pid: int) -> bool:
    """Return whether a process runs, which need not be a child of this one; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started, by any of its threads, and that it has not waited for."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]
