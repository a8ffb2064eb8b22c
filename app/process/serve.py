"""The services mode of `reprise serve`: runs the Procfile's processes as children, and restarts them when they die."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

import dramatiq.cli  # noqa: F401 - imported once, for all copies of this process
import structlog

from app.process import clock, copies  # noqa: F401 - the clock imports most of what workers need
from app.process.bootstrap import freeze_gc

log = structlog.get_logger(__name__)

# A link to the Procfile of the repository; packages include the file.
PROCFILE = Path(__file__).with_name("Procfile")
# Run once before the others, not kept running.
RELEASE = "release"
# After SIGHUP gunicorn imports the application again, so its master must not be a copy that has already imported it.
RELOADS = "gunicorn"
STOP_S = 45.0
TICK_S = 0.2
# A child that ends earlier than this is restarted after a pause, which doubles each time.
STABLE_S = 10.0
PAUSES_BEFORE_RESTART_S = (0.5, 30.0)


def procfile(path: Path = PROCFILE) -> dict[str, list[str]]:
    """Return the command of each process that is kept running, by its name."""
    lines = (line.partition(":") for line in path.read_text().splitlines() if line.strip())
    return {name: shlex.split(command) for name, _, command in lines if name != RELEASE}


def environment(environ: Mapping[str, str], secret_key: str) -> dict[str, str]:
    """Return the children's environment: this interpreter's programs first on PATH, and the shared secret key."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{environ.get('PATH', os.defpath)}"
    return {**environ, "PATH": path, "REPRISE_SECRET_KEY": secret_key}


def answers(url: str) -> bool:
    """Return whether `url` answers 2xx within a second."""
    try:
        with urllib.request.urlopen(url, timeout=1):  # noqa: S310 - our own http address
            return True
    except (urllib.error.URLError, OSError):
        return False


@dataclass(slots=True)
class Child:
    """A process that is kept running. It has its own process group, so that Ctrl-C only reaches the supervisor."""

    name: str
    argv: list[str]
    env: Mapping[str, str]
    copied: bool = False
    process: BaseProcess | None = None
    started: float = 0.0
    pause: float = field(default=PAUSES_BEFORE_RESTART_S[0])
    start_at: float = 0.0

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.exitcode is None

    def tend(self, now: float) -> None:
        """Start the process when it is due; after its end decide when to restart it. `now` is in monotonic seconds."""
        if self.running:
            return
        if self.process is not None:
            lived = now - self.started
            self.pause = (
                PAUSES_BEFORE_RESTART_S[0] if lived > STABLE_S else min(self.pause * 2, PAUSES_BEFORE_RESTART_S[1])
            )
            log.error("process_died", name=self.name, status=self.process.exitcode, again_in_s=self.pause)
            self.process, self.start_at = None, now + self.pause
        if now >= self.start_at:
            self.process = copies.start(self.name, self.argv, self.env, copied=self.copied)
            self.started = now
            log.info("process_started", name=self.name, pid=self.process.pid)

    def send(self, number: int) -> None:
        if self.process is not None and self.process.pid and self.running:
            os.kill(self.process.pid, number)

    def kill(self) -> None:
        """Send SIGKILL to the whole group, so that no children of the process remain."""
        if self.process is not None and self.process.pid:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                return
            self.process.join()


class Supervisor:
    """Keeps the processes of `commands` (argv by name) running, with the environment `env`."""

    def __init__(self, commands: Mapping[str, list[str]], env: Mapping[str, str]) -> None:
        self._children = [Child(name, argv, env, copied=argv[0] != RELOADS) for name, argv in commands.items()]
        self._stopping = False
        self._reloading = False

    def run(self, *, ready: Callable[[], bool], on_ready: Callable[[], None]) -> None:
        """Keep all children running until SIGTERM or SIGINT, then end them together.

        `on_ready` is called once, when `ready` first returns True. SIGHUP is forwarded to the children, which reload.
        It may follow the installation of a new release, so children that start later are not copies of this process.
        """
        # Copies share memory until one of them writes to it, and garbage collection writes to every object.
        freeze_gc()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGHUP, self._ask_to_reload)
        try:
            announced = False
            while not self._stopping:
                if self._reloading:
                    self._reload()
                for child in self._children:
                    child.tend(time.monotonic())
                if not announced and ready():
                    announced = True
                    on_ready()
                time.sleep(TICK_S)
        finally:
            self._end()

    def _stop(self, _number: int, _frame: object) -> None:
        self._stopping = True

    def _ask_to_reload(self, _number: int, _frame: object) -> None:
        # Only a note: a child that is just being started could not be sent the signal yet.
        self._reloading = True

    def _reload(self) -> None:
        self._reloading = False
        for child in self._children:
            child.copied = False
        self._send(signal.SIGHUP)

    def _send(self, number: int) -> None:
        for child in self._children:
            child.send(number)

    def _end(self) -> None:
        self._send(signal.SIGTERM)
        deadline = time.monotonic() + STOP_S
        while any(child.running for child in self._children) and time.monotonic() < deadline:
            time.sleep(TICK_S / 4)
        for child in self._children:
            child.kill()
