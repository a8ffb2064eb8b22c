"""The commands by which docs/data.md backs MySQL up bring it back as it was at any moment, on another server."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis

from app.database.engines import build_engine
from app.database.transactions import Database
from tests.support.backups import Writer, content, on
from tests.support.deployment import ROOT, environment
from tests.support.full_project import everything
from tests.support.mariadb import USER, MariaDB, mariadb_server
from tests.support.process import ChildProcess
from tests.support.redis_server import RedisServer
from tests.support.waiting import LOOPBACK, wait_until
from tests.support.world import World, new_world, running, settings_for

BINARY_LOG = ("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")


@dataclass(frozen=True)
class Mistake:
    """A table that was emptied: the content of the database before, the log that has the mistake, and the time."""

    content: dict[str, list[tuple[Any, ...]]]
    log: str
    at: str


def documented(words: str) -> str:
    """Return the documentation's block of shell lines or of statements that has the words."""
    section = (ROOT / "docs" / "data.md").read_text().partition("### MySQL")[2]
    return next(
        block for block in re.findall(r"^ *```(?:sh|sql)\n(.*?)^ *```$", section, re.M | re.S) if words in block
    )


def login(server: MariaDB, home: Path, statements: str) -> dict[str, str]:
    """Run documented statements; returns an environment in which MariaDB's programs are the user that they make."""
    for statement in statements.strip().removesuffix(";").split(";"):
        server.execute(statement)
    user, password = re.findall(r"CREATE USER (\w+) IDENTIFIED BY '(.*)'", statements)[0]
    home.mkdir(mode=0o700)
    (home / ".my.cnf").write_text(f"[client]\nuser={user}\npassword={password}\nhost={LOOPBACK}\nport={server.port}\n")
    return environment(home) | {"HOME": str(home)}


def url_of(server: MariaDB) -> str:
    """Grant Reprise's user access to the database that this test creates."""
    server.execute(f"GRANT ALL ON reprise.* TO {USER}@'{LOOPBACK}'")
    return server.url("reprise")


def run(lines: str, folder: Path, env: dict[str, str]) -> str:
    """Run lines of shell in a folder; returns what they print."""
    shell = ["bash", "-euo", "pipefail", "-c", lines]
    done = subprocess.run(shell, env=env, cwd=folder, check=True, stdout=subprocess.PIPE)
    # A decoded log has the bytes of what is no text.
    return done.stdout.decode(errors="replace")


def back_up(world: World, source: MariaDB, folder: Path, env: dict[str, str]) -> Mistake:
    """Make the backup while others write and the binary log is rotated, then empty a table."""
    copying = ChildProcess(
        "copying",
        ["bash", "-c", documented("--stop-never")],
        log=folder / "copying.log",
        env=env,
        cwd=folder,
        ready=lambda: any((folder / "logs").iterdir()),
    )
    with copying:
        with Writer(world, world.prompt()) as writer:
            run(documented("mariadb-dump"), folder, env)
            writer.wait_for_more()
            run(documented("FLUSH BINARY LOGS"), folder, env)
            writer.wait_for_more()
        # A log has the times of whole seconds.
        last = int(time.time())
        wait_until(lambda: time.time() >= last + 1, "the next second")
        before = content(world.container.database)
        mistake = Mistake(before, source.execute("SHOW MASTER STATUS")[0][0], time.strftime("%Y-%m-%d %H:%M:%S"))
        source.execute("DELETE FROM reprise.spans")
        run(documented("FLUSH BINARY LOGS"), folder, env)
        size, copied = dict(source.execute("SHOW BINARY LOGS"))[mistake.log], folder / "logs" / mistake.log
        wait_until(lambda: copied.exists() and copied.stat().st_size == size, "the copy of the binary log")
    return mistake


def position(folder: Path, env: dict[str, str]) -> tuple[str, str]:
    """Return the log and the position in it that a backup notes."""
    log, start = re.findall(r"_LOG_FILE='(.*?)', ?\w+_LOG_POS=(\d+);", run(documented("grep"), folder, env))[0]
    return log, start


@contextmanager
def restored(server: MariaDB, folder: Path, mistake: Mistake, stop: str) -> Iterator[dict[str, str]]:
    """Bring the database back, by the command that has the option `stop`; yields an environment for it."""
    env = login(server, folder / stop, documented("TO restore"))
    try:
        first_log, start = position(folder, env)
        copies = sorted((folder / "logs").iterdir())
        logs = [f"logs/{log.name}" for log in copies if first_log <= log.name <= mistake.log]
        assert len(logs) == 2
        env |= {"FROM": start, "LOGS": " ".join(logs), "LAST": logs[-1]}
        done, mistaken, _ = run(documented("DECODE-ROWS"), folder, env).partition("### DELETE FROM `reprise`.`spans`")
        assert mistaken
        env["UNTIL"] = re.findall(r"end_log_pos (\d+) .*\tXid = ", done)[-1]
        backup, replay = documented("--stop-position").splitlines()
        if stop == "--stop-datetime":
            replay = documented(stop).replace("2026-01-31 14:05:00", mistake.at)
        run(f"{backup}\n{replay}", folder, env)
        yield env | {"DATABASE_URL": url_of(server)}
    finally:
        server.drop_database("reprise")
        server.execute("DROP USER restore")


def content_at(url: str) -> dict[str, list[tuple[Any, ...]]]:
    database = Database(build_engine(url))
    try:
        return content(database)
    finally:
        database.dispose()


@pytest.mark.parametrize(
    "noted",
    [
        "-- CHANGE MASTER TO MASTER_LOG_FILE='binlog.000002', MASTER_LOG_POS=1610;",
        # As MySQL's manual shows it, and as its program writes it.
        "-- CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='binlog.000002',SOURCE_LOG_POS=1610;",
        "-- CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='binlog.000002', SOURCE_LOG_POS=1610;",
    ],
)
def test_the_position_is_found_in_what_mariadb_and_mysql_note(noted: str, tmp_path: Path) -> None:
    title = "-- Position to start replication or point-in-time recovery from"
    (tmp_path / "reprise.sql").write_text(f"--\n{title}\n--\n\n{noted}\n\nCREATE TABLE `spans` (\n")
    assert position(tmp_path, environment(tmp_path)) == ("binlog.000002", "1610")


@pytest.mark.services
def test_mysql_is_restored_to_the_moment_before_a_mistake(
    mariadb: MariaDB, redis_server: RedisServer, require: Callable[[str | None], None], tmp_path: Path
) -> None:
    has_all = all(map(shutil.which, ("mariadb", "mariadb-dump", "mariadb-binlog")))
    require(None if has_all else "the clients of MariaDB are not installed")
    (tmp_path / "logs").mkdir()
    with mariadb_server(flush_log=2, options=BINARY_LOG) as source, redis_server.database() as redis_url:
        source.execute("CREATE DATABASE reprise")
        with running(settings_for(tmp_path, mysql_url=url_of(source), redis_url=redis_url)) as container:
            world = new_world(container)
            made = everything(world)
            mistake = back_up(world, source, tmp_path, login(source, tmp_path / "source", documented("TO backup")))

    with restored(mariadb, tmp_path, mistake, "--stop-datetime") as env:
        assert content_at(env["DATABASE_URL"]) == mistake.content
    with (
        restored(mariadb, tmp_path, mistake, "--stop-position") as env,
        redis_server.database() as redis_url,
        redis.Redis.from_url(redis_url) as client,
    ):
        url = env["DATABASE_URL"]
        assert content_at(url) == mistake.content
        client.set("of", "another state")
        run(documented("FLUSHDB"), tmp_path, env | {"REDIS_URL": redis_url})
        assert client.dbsize() == 0
        with running(settings_for(tmp_path, mysql_url=url, redis_url=redis_url)) as container:
            again = on(container, world)
            assert again.get(f"/api/v1/sessions/{made['session_id']}").json["turns"]
            assert again.get(f"/api/v1/prompts/{made['prompt_id']}").status_code == 200
