"""A child process in a new process group, with its output in a file and methods that harm it."""

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
        for member in _group(self.pid):
            _wait_for_stop(member)

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


def pause(*pids: int) -> None:
    """Stop processes where they are, as SIGSTOP does, and wait until they have stopped.

    The signal is taken by one thread; until that thread has its turn on a processor, the others go on and answer.
    """
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        _wait_for_stop(pid)


def resume(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def is_alive(pid: int) -> bool:
    """Return whether a process runs, which need not be a child of this one; a zombie does not."""
    try:
        return _state(Path(f"/proc/{pid}")) != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started, by any of its threads, and that it has not waited for."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def stat_of(task: Path) -> list[str]:
    """Return the fields of a process or a thread after its name, which may hold anything."""
    return (task / "stat").read_text().rpartition(")")[2].split()


def _wait_for_stop(pid: int) -> None:
    threads = Path(f"/proc/{pid}/task")
    wait_until(lambda: all(_is_still(thread) for thread in threads.iterdir()), f"process {pid} to stop")


def _is_still(thread: Path) -> bool:
    """Return whether a thread is stopped, or has ended."""
    try:
        return _state(thread) in "TZ"
    except (FileNotFoundError, ProcessLookupError):
        return True


def _group(leader: int) -> list[int]:
    """Return the processes of a group; proc_pid_stat(5) gives the group two fields after the state."""
    members = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if int(stat_of(process)[2]) == leader:
                members.append(int(process.name))
    return members


def _state(task: Path) -> str:
    """Return the state of a process or a thread: a letter, "T" where it is stopped."""
    return stat_of(task)[0]
