"""`reprise serve` on MySQL and Redis: one command, processes apart, ended together; and what the doctor sees."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from app.redis_store import keys
from tests.support.deployment import ROOT, WORKERS, environment, read_assignments
from tests.support.http_client import Client, serves
from tests.support.process import ChildProcess, is_alive
from tests.support.waiting import LOOPBACK, PATIENCE_S, free_port, wait_until

KINDS = {"web", *WORKERS, "clock"}


class Served:
    """`reprise serve` with a log of JSON lines."""

    def __init__(self, home: Path, mysql_url: str, redis_url: str) -> None:
        port = free_port()
        services = {"DATABASE_URL": mysql_url, "REDIS_URL": redis_url, "REPRISE_SECRET_KEY": "the same for all"}
        self.home, self.url = home, f"http://{LOOPBACK}:{port}"
        self.env = environment(home, {"PORT": str(port), **services})
        self.process = ChildProcess(
            "reprise serve",
            ["reprise", "serve"],
            log=home / "serve.log",
            env=self.env,
            cwd=ROOT,
            ready=lambda: "Reprise is ready." in self.process.log.read_text(),
        )

    def pids(self) -> dict[str, list[int]]:
        """Of every process started so far, by kind, the last one last."""
        found: dict[str, list[int]] = {}
        for line in self.process.log.read_text().splitlines():
            if '"process_started"' in line:
                event = json.loads(line)
                found.setdefault(event["name"], []).append(event["pid"])
        return found

    def client(self) -> Client:
        return Client(self.url, read_assignments(self.home / "dev.env")["API_KEY"])

    def reprise(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["reprise", *arguments],
            env=self.env,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )


@pytest.fixture
def served(tmp_path: Path, mysql_url: str, redis_url: str) -> Iterator[Served]:
    server = Served(tmp_path, mysql_url, redis_url)
    with server.process:
        yield server
        server.process.terminate()


def test_every_kind_of_process_runs_one_that_dies_is_started_again_and_all_end_together(served: Served) -> None:
    assert set(served.pids()) == KINDS
    assert {name_of(pid) for (pid,) in served.pids().values()} >= {"reprise runs", "reprise clock"}
    assert open_sockets(served.process.pid) == [], "what is copied must not have a connection"
    healthy = served.reprise("doctor")
    assert healthy.returncode == 0, healthy.stdout
    assert_no_secret_is_printed(served)

    os.killpg(served.pids()["web"][0], signal.SIGKILL)
    wait_until(lambda: len(served.pids()["web"]) == 2, "another web process")
    wait_until(lambda: serves(served.url), "its answer")
    assert served.client().get("/api/v1/prompts").status == 200

    pids = served.pids()
    assert served.process.terminate() == 0
    assert not any(is_alive(pid) for kind in pids.values() for pid in kind)

    forget_workers(served)
    ill = served.reprise("doctor")
    assert ill.returncode == 1
    assert "PROBLEM\tworkers of runs\t0\tStart the process `runs` of the Procfile" in ill.stdout


def assert_no_secret_is_printed(served: Served) -> None:
    file = served.home / "dev.env"
    printed, variables = served.process.log.read_text(), read_assignments(file)
    token = variables["SIGN_IN_LINK"].partition("token=")[2]
    assert file.stat().st_mode & 0o777 == 0o600
    assert str(file) in printed
    assert [secret for secret in (variables["API_KEY"], variables["ADMIN_PASSWORD"], token) if secret in printed] == []
    assert token


def name_of(pid: int) -> str:
    """What `ps -e` calls a process."""
    return Path(f"/proc/{pid}/comm").read_text().strip()


def open_sockets(pid: int) -> list[str]:
    opened = [str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir()]
    return [name for name in opened if name.startswith("socket:")]


def forget_workers(served: Served) -> None:
    """Let the time pass for which a dead worker is remembered, as it may just be slow."""
    with redis.Redis.from_url(served.env["REDIS_URL"]) as client:
        for queue in WORKERS:
            client.delete(keys.workers(queue))
