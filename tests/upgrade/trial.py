"""Upgrades an installation of an earlier release that is used, checks it, and goes back by its backup."""

from __future__ import annotations

import secrets
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from app.process.home import DATABASE
from tests.support.deployment import WORKERS, Deployment, EmbeddedServer, environment, run_to_end
from tests.support.mariadb import MariaDB, mariadb_server
from tests.support.process import ChildProcess
from tests.support.redis_server import redis_server
from tests.support.releases import Release
from tests.support.remote_project import RemoteProject
from tests.support.waiting import wait_until
from tests.upgrade.answers import Answers, differences, paths_of, read_all
from tests.upgrade.kinds import Used, keyed_run, use
from tests.upgrade.load import Load, lost, own_project

SETTINGS = {"REPRISE_RATE_LIMIT": "100000000", "REPRISE_PAGE_RATE_LIMIT": "100000000"}
READY_WORKER = "ready for action"
_IDLE = (
    "SELECT NOT EXISTS (SELECT 1 FROM {0}sessions WHERE uncounted IS NOT NULL)"
    " AND NOT EXISTS (SELECT 1 FROM {0}webhook_deliveries WHERE answer IS NULL)"
)
"""Whether the clock has counted all sessions, and each delivery was tried; {} is for the database with a point."""


@dataclass(frozen=True)
class Trial:
    """What happened to the requests of an upgrade, and what was wrong. `answers` is the number of compared answers."""

    database: str
    answers: int
    acknowledged: int
    requests: int
    refused: int
    longest_s: float
    wrong: tuple[str, ...]

    HEADINGS = ("answers compared", "acknowledged", "requests", "refused once", "longest request", "wrong")

    def cells(self) -> tuple[str, ...]:
        numbers = (self.answers, self.acknowledged, self.requests, self.refused)
        return (*(f"{number:,}" for number in numbers), f"{self.longest_s:.1f} s", str(len(self.wrong)))


@dataclass(frozen=True)
class Before:
    """A used installation, and its answers before the upgrade."""

    used: Used
    answers: Answers
    key: str

    def unlike(self, project: RemoteProject) -> list[str]:
        """Return what the API answers differently now, and keys of runs that are not known any more."""
        changed = list(differences(self.answers, read_all(project, list(self.answers))))
        for key, run_id in self.used.keyed_runs.items():
            if (again := keyed_run(project, self.used.prompts[-1], key)) != run_id:
                changed.append(f"the key of run {run_id} made run {again}")
        return changed


def used_before(project: RemoteProject, release: Release, is_idle: Callable[[], bool]) -> Before:
    """Use an installation, and read its answers when its background work no longer changes them."""
    used = use(project, release)
    wait_until(is_idle, "the sessions to be counted and the deliveries to be tried")
    return Before(used, read_all(project, paths_of(project, used)), project.key)


def is_idle(home: Path) -> bool:
    """Return whether an embedded server has counted all sessions and tried all deliveries."""
    with closing(sqlite3.connect(f"file:{home / DATABASE}?mode=ro", uri=True, timeout=60)) as database:
        return bool(database.execute(_IDLE.format("")).fetchone() == (1,))


def upgrade_services(folder: Path, earlier: Release) -> Trial:
    """Upgrade MariaDB's schema, then replace one process after the other, under load."""
    settings = {**SETTINGS, "REPRISE_SECRET_KEY": secrets.token_urlsafe(32)}
    with mariadb_server() as mariadb, mariadb.database() as url, redis_server() as redis, redis.database() as redis_url:
        servers = {"mysql_url": url, "redis_url": redis_url}
        new = Deployment(folder / "new", **servers, settings=settings, processes=1)
        dump = folder / "reprise.sql"
        with ExitStack() as stack:
            old = stack.enter_context(
                Deployment(folder / "old", **servers, settings=settings, processes=1, release=earlier)
            )
            project = RemoteProject.administering(old)
            worker = own_project(project)
            idle = _IDLE.format(f"{_name(url)}.")
            before = used_before(project, earlier, lambda: [*mariadb.execute(idle)] == [(1,)])
            stack.enter_context(stopped_at_the_end(new))
            with Load(old.urls, worker) as load:
                load.go_on()
                mariadb.dump(_name(url), dump)
                load.go_on()
                run_to_end(["reprise", "db", "upgrade"], new.env)
                load.go_on()
                replace(old, new, load)
                load.go_on()
            wrong = load.failures + lost(RemoteProject(new.url, worker.key), load)
            wrong += before.unlike(RemoteProject(new.url, project.key)) + doctor(new.env)
        wrong += _returned(mariadb, dump, redis_url, folder / "back", settings, earlier, before)
    return _trial("MariaDB", before, load, wrong)


def replace(old: Deployment, new: Deployment, load: Load) -> None:
    """Workers, then web, then the clock, as docs/operations.md describes."""
    for queue in WORKERS:
        for child, successor in zip(old.workers[queue], new.workers[queue], strict=True):
            _start_worker(successor)
            assert child.terminate() == 0, child.output_tail()
            load.go_on()
    for child, url, successor, its_url in zip(old.webs, old.urls, new.webs, new.urls, strict=True):
        successor.start()
        load.rotation.add(its_url)
        load.rotation.drain(url)
        assert child.terminate() == 0, child.output_tail()
        load.go_on()
    old.clock.terminate()
    new.clock.start()


def start(deployment: Deployment) -> None:
    for child in deployment.processes():
        child.launch()
    for child in deployment.processes():
        child.wait_ready()


@contextmanager
def stopped_at_the_end(deployment: Deployment) -> Iterator[None]:
    try:
        yield
    finally:
        for child in deployment.processes():
            child.kill()


def _start_worker(worker: ChildProcess) -> None:
    worker.start()
    wait_until(lambda: READY_WORKER in worker.log.read_text(), f"{worker.name} to be ready")


def doctor(env: dict[str, str]) -> list[str]:
    done = subprocess.run(["reprise", "doctor", "--deep"], env=env, capture_output=True, text=True, check=False)
    return [f"doctor: {done.stdout}{done.stderr}"] if done.returncode else []


def _name(url: str) -> str:
    return urlsplit(url).path.strip("/")


def _returned(
    mariadb: MariaDB,
    dump: Path,
    redis_url: str,
    home: Path,
    settings: dict[str, str],
    earlier: Release,
    before: Before,
) -> list[str]:
    """Restore the backup, empty Redis, and start the earlier release."""
    with mariadb.database() as url:
        mariadb.load(dump, _name(url))
        deployment = Deployment(
            home, mysql_url=url, redis_url=redis_url, settings=settings, processes=1, release=earlier
        )
        run_to_end(["redis-cli", "-u", redis_url, "FLUSHDB"], deployment.env)
        with stopped_at_the_end(deployment):
            start(deployment)
            return [f"back: {change}" for change in before.unlike(RemoteProject(deployment.url, before.key))]


def upgrade_embedded(folder: Path, earlier: Release) -> Trial:
    """Back up, stop, and start this release in the same folder; the load begins again after the start."""
    home, backup = folder / "home", folder / "reprise-backup.db"
    with EmbeddedServer(home, SETTINGS, release=earlier) as old:
        project = RemoteProject.administering(old)
        worker = own_project(project)
        before = used_before(project, earlier, partial(is_idle, home))
        with Load([old.url], worker) as load:
            load.go_on()
            run_to_end(["reprise", "backup", str(backup)], environment(home), release=earlier)
            load.go_on()
        assert old.process.terminate() == 0, old.process.output_tail()
    with EmbeddedServer(home, SETTINGS) as new:
        upgraded = RemoteProject(new.url, worker.key)
        wrong = load.failures + lost(upgraded, load)
        with Load([new.url], upgraded) as later:
            later.go_on()
        wrong += later.failures + lost(upgraded, later)
        wrong += before.unlike(RemoteProject(new.url, project.key)) + doctor(environment(home))
    back = folder / "back"
    run_to_end(["reprise", "restore", str(backup)], environment(back), release=earlier)
    with EmbeddedServer(back, SETTINGS, release=earlier) as restored:
        wrong += [f"back: {change}" for change in before.unlike(RemoteProject(restored.url, project.key))]
    return _trial("SQLite", before, load, wrong)


def _trial(database: str, before: Before, load: Load, wrong: list[str]) -> Trial:
    requests = sum(load.requests.values())
    acknowledged = load.acknowledged.count()
    return Trial(
        database, len(before.answers), acknowledged, requests, load.refused, load.longest_s, tuple(dict.fromkeys(wrong))
    )
