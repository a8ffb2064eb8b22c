"""Reprise as users deploy it, in real processes: embedded in one, or what the Procfile lists on real servers."""

import contextlib
import os
import secrets
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from app.process.home import DATABASE
from tests.support import programs
from tests.support.backends import empty_servers
from tests.support.http_client import Client, serves
from tests.support.process import ChildProcess
from tests.support.releases import CURRENT, Release
from tests.support.waiting import LOOPBACK, PATIENCE_S, NotReady, free_port

ROOT = CURRENT.root
WORKERS = ("runs", "spans", "replays", "webhooks")
# Of each process that executes runs: the hundreds of the Procfile need as much processor time idle as the tests.
RUN_THREADS = 40
# A busy machine may need longer than the default's seconds: callers then send their requests again. Most tests send
# them once.
PATIENT_REQUESTS = {"REPRISE_REQUEST_S": str(PATIENCE_S)}
PATIENT = {**PATIENT_REQUESTS, "REPRISE_INGEST_WAIT_S": str(PATIENCE_S)}
# Of the caller's environment: no settings, no vendor's keys.
PASSED_ON = ("HOME", "LANG", "LC_ALL", "TMPDIR", "TZ")


def environment(home: Path, settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """A child's environment: `settings`, `home` as REPRISE_HOME, and this interpreter's programs first on PATH."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {**kept, "PATH": path, "REPRISE_HOME": str(home), **(settings or {})}


def procfile(root: Path = ROOT) -> dict[str, list[str]]:
    """The command of each kind of process."""
    lines = (line.partition(":") for line in (root / "Procfile").read_text().splitlines() if line.strip())
    return {name.strip(): shlex.split(command) for name, _, command in lines}


def worker_command(
    queue: str, *, processes: int | None = None, threads: int | None = None, root: Path = ROOT
) -> list[str]:
    """The Procfile's, with few threads for runs; `processes` and `threads` where not the Procfile's."""
    command, few = procfile(root)[queue], RUN_THREADS if queue == "runs" else None
    for option, number in (("--processes", processes), ("--threads", threads or few)):
        if number:
            command[command.index(option) + 1] = str(number)
    return command


def read_assignments(path: Path) -> dict[str, str]:
    """The variables of a file of shell assignments, such as `dev.env`."""
    words = shlex.split(path.read_text(), comments=True)
    return dict(word.split("=", 1) for word in words if "=" in word)


def run_to_end(
    argv: list[str], env: Mapping[str, str], timeout_s: float = PATIENCE_S, *, release: Release = CURRENT
) -> str:
    """Run a command that ends; its output. `NotReady` with it when the command fails."""
    done = programs.run(argv, env={**env, **release.variables}, cwd=release.root, timeout_s=timeout_s)
    if done.returncode:
        raise NotReady(f"{shlex.join(argv)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


_HOME = tempfile.TemporaryDirectory(prefix="reprise-home-")


@cache
def _made_home() -> Path:
    """Return a folder that `reprise init` has made, so that servers need not make schema, demo and administrator."""
    home = Path(_HOME.name)
    run_to_end(["reprise", "init", "--demo"], environment(home))
    return home


class EmbeddedServer:
    """`reprise serve` with only `PATIENT`: SQLite in `home`, HTTP server and actors in one process.

    In a run of pytest a new `home` is one that `reprise init --demo` of this release has made.
    """

    name = "embedded"

    def __init__(self, home: Path, settings: Mapping[str, str] | None = None, *, release: Release = CURRENT) -> None:
        home.mkdir(parents=True, exist_ok=True)
        if programs.runs_in_pytest() and release == CURRENT and not (home / DATABASE).exists():
            shutil.copytree(_made_home(), home, dirs_exist_ok=True)
        port = free_port()
        self.home, self.release, self.url = home, release, f"http://{LOOPBACK}:{port}"
        self.process = ChildProcess(
            "reprise serve",
            ["reprise", "serve"],
            log=home / "serve.log",
            env=environment(home, {"PORT": str(port), **PATIENT, **(settings or {}), **release.variables}),
            cwd=release.root,
            ready=lambda: serves(self.url) and (home / "dev.env").exists(),
        )

    def client(self, api_key: str | None = None) -> Client:
        """Speaks as the demo project unless given another key."""
        return Client(self.url, read_assignments(self.home / "dev.env")["API_KEY"] if api_key is None else api_key)

    def __enter__(self) -> Self:
        self.process.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()


class Deployment:
    """The Procfile's processes on MySQL and Redis: `web` servers, each on its port, `workers` for every queue, a clock.

    They share no folder but `home`, which they only log to; kill, pause and restart them through `webs`, `workers`
    and `clock`. `of_kind` has further variables for `web`, for the workers of a queue, or for the `clock`, and for one
    web server by its name, "web.1"; `processes` are those of each worker, of all queues or by queue, and of each web
    server, as "web"; `threads` are those of each process of a queue's workers. Where neither has a number, it is the
    default or `worker_command`'s.
    """

    name = "services"

    def __init__(
        self,
        home: Path,
        *,
        mysql_url: str,
        redis_url: str,
        web: int = 2,
        workers: int = 2,
        settings: Mapping[str, str] | None = None,
        of_kind: Mapping[str, Mapping[str, str]] | None = None,
        threads: Mapping[str, int] | None = None,
        processes: Mapping[str, int] | int | None = None,
        release: Release = CURRENT,
    ) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        services = {"DATABASE_URL": mysql_url, "REDIS_URL": redis_url, "REPRISE_SECRET_KEY": secrets.token_urlsafe(32)}
        of_each = processes if isinstance(processes, Mapping) else dict.fromkeys(("web", *WORKERS), processes)
        of_web = {"REPRISE_WEB_PROCESSES": str(number)} if (number := of_each.get("web")) else {}
        self.env = environment(home, {**services, **PATIENT_REQUESTS, **of_web, **(settings or {})})
        self.release, self._of_kind = release, of_kind or {}
        self._commands = procfile(release.root)
        for queue in WORKERS:
            self._commands[queue] = worker_command(
                queue, processes=of_each.get(queue), threads=(threads or {}).get(queue), root=release.root
            )
        self._started = contextlib.ExitStack()
        ports = [free_port() for _ in range(web)]
        self.urls = [f"http://{LOOPBACK}:{port}" for port in ports]
        self.webs = [self._web(number, port) for number, port in enumerate(ports)]
        self.workers = {queue: [self._child(queue, number) for number in range(workers)] for queue in WORKERS}
        self.clock = self._child("clock", 0)

    @property
    def url(self) -> str:
        return self.urls[0]

    def client(self, api_key: str | None = None, web: int = 0) -> Client:
        """Speaks to one of the web servers, as the demo project unless given another key."""
        key = read_assignments(self.home / "dev.env")["API_KEY"] if api_key is None else api_key
        return Client(self.urls[web], key)

    def processes(self) -> list[ChildProcess]:
        """All of them, in the order in which they start: who is ready last has waited for the others."""
        return [*(child for queue in self.workers.values() for child in queue), self.clock, *self.webs]

    def __enter__(self) -> Self:
        # It does what the Procfile's `release` does, too.
        run_to_end(["reprise", "init"], self.env, release=self.release)
        with self._started:
            for child in self.processes():
                self._started.callback(child.kill)
                child.launch()
            for child in self.processes():
                child.wait_ready()
            self._started = self._started.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._started.close()

    def _web(self, number: int, port: int) -> ChildProcess:
        name = f"web.{number}"
        of_kind = {**self._of_kind.get("web", {}), **self._of_kind.get(name, {})}
        return ChildProcess(
            name,
            self._commands["web"],
            log=self.home / f"{name}.log",
            env={**self.env, **of_kind, "PORT": str(port), **self.release.variables},
            cwd=self.release.root,
            ready=lambda: serves(f"http://{LOOPBACK}:{port}"),
        )

    def _child(self, kind: str, number: int) -> ChildProcess:
        name = f"{kind}.{number}"
        env = {**self.env, **self._of_kind.get(kind, {}), **self.release.variables}
        return ChildProcess(name, self._commands[kind], log=self.home / f"{name}.log", env=env, cwd=self.release.root)


Server = EmbeddedServer | Deployment


@contextlib.contextmanager
def server_on(
    request: pytest.FixtureRequest,
    home: Path,
    settings: Mapping[str, str],
    *,
    web: int,
    workers: int,
    processes: int | None = None,
    threads: Mapping[str, int] | None = None,
) -> Iterator[Server]:
    """Start the server that the fixture's parameter names; the numbers are a deployment's."""
    if request.param == "embedded":
        with EmbeddedServer(home, settings) as embedded:
            yield embedded
        return
    with (
        empty_servers(request) as urls,
        Deployment(
            home, **urls, web=web, workers=workers, settings=settings, threads=threads, processes=processes
        ) as deployment,
    ):
        yield deployment
