"""Starts programs; in a run of pytest, Reprise's own as copies of a process that has imported what they need.

These imports need more than a second of a processor, and a run of all tests starts some hundreds of programs. A copy
calls the function that the installed program calls, with its arguments, environment, folder and outputs, in a session
of its own.
"""

from __future__ import annotations

import atexit
import multiprocessing
import multiprocessing.util
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from app.process import copies

# The installed programs that `tests.support.preloaded` imports for.
OURS = ("dramatiq", "gunicorn", "reprise")
# Variables that matter before a program's first line.
_OF_NEW_PROCESSES = ("LD_", "PYTHON")
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.support.preloaded"])
# multiprocessing makes this folder when it starts the process that is copied: maybe on a disk that a test has made.
multiprocessing.util.get_temp_dir()
# The end of a copy can be read once, and multiprocessing looks for it whenever a copy is started.
_lock = threading.Lock()


class Running(Protocol):
    """What copies have of `subprocess.Popen`."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...


def start(argv: Sequence[str], *, env: Mapping[str, str] | None, cwd: Path | None, out: Path, err: Path) -> Running:
    """Start a program in a new session, without input; its outputs are appended to the files `out` and `err`."""
    if env is not None and cwd is not None and _can_be_copied(argv, env):
        return _Copy(argv, env, cwd, out, err)
    with ExitStack() as files:
        stdout, stderr = (files.enter_context(path.open("ab")) for path in (out, err))
        return subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=env, cwd=cwd, start_new_session=True
        )


def run(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """Run a program until it ends; raises `subprocess.TimeoutExpired` after `timeout_s`."""
    with TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        running = start(argv, env=env, cwd=cwd, out=out, err=err)
        try:
            status = running.wait(timeout_s)
        except BaseException:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            raise
        return subprocess.CompletedProcess(argv, status, out.read_text(), err.read_text())


def runs_in_pytest() -> bool:
    """Return whether this process is pytest; benchmarks start programs as users do."""
    return "PYTEST_VERSION" in os.environ


def _can_be_copied(argv: Sequence[str], env: Mapping[str, str]) -> bool:
    if not runs_in_pytest() or any(name.startswith(_OF_NEW_PROCESSES) for name in env):
        return False
    program = shutil.which(argv[0], path=env.get("PATH", os.defpath))
    here = program is not None and Path(program).parent == Path(sys.executable).parent
    return here and (argv[0] in OURS or argv[:2] == ["python", "-m"])


class _Copy:
    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, out: Path, err: Path) -> None:
        self._argv = list(argv)
        has_begun, begins = multiprocessing.Pipe(duplex=False)
        with has_begun:
            with begins, _lock:
                self._process = _context.Process(target=_copy, args=(argv, dict(env), cwd, (out, err), begins))
                self._process.start()
            with suppress(EOFError):
                has_begun.recv()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        with _lock:
            return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        if not wait([self._process.sentinel], timeout):
            assert timeout is not None
            raise subprocess.TimeoutExpired(self._argv, timeout)
        status = self.poll()
        assert status is not None
        return status


def _copy(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path, outputs: tuple[Path, Path], begins: Connection
) -> None:
    """Be the program: make what a new process has, then do what its first lines do."""
    os.setsid()
    # A run of tests in the background may ignore these, and the process that is copied has inherited that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for number, path in enumerate((Path(os.devnull), *outputs)):
        opened = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    begins.close()
    # As in a process that multiprocessing has not started.
    multiprocessing.set_start_method(None, force=True)
    try:
        copies.run(argv)
    finally:
        # multiprocessing ends processes without them.
        atexit._run_exitfuncs()
