"""The commands by which docs/data.md backs MySQL up bring it back as it was at any moment, on another server."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.backups import Writer, content, on
from tests.support.deployment import ROOT, environment
from tests.support.everything import everything
from tests.support.mariadb import USER, MariaDB, mariadb_server
from tests.support.process import ChildProcess
from tests.support.redis_server import RedisServer
from tests.support.waiting import LOOPBACK, wait_until
from tests.support.world import World, new_world, running, settings_for

BINARY_LOG = ("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")


@dataclass(frozen=True)
class Moment:
    """The content of the database at a time, with its binary log and the position in the log."""

    content: dict[str, list[tuple[Any, ...]]]
    log: str
    position: int


def documented(command: str) -> str:
    """Return the documentation's block of shell lines that has the command."""
    section = (ROOT / "docs" / "data.md").read_text().partition("### MySQL")[2]
    return next(block for block in re.findall(r"^ *```sh\n(.*?)^ *```$", section, re.M | re.S) if command in block)


def login(server: MariaDB, home: Path) -> dict[str, str]:
    """Return an environment in which MariaDB's programs speak to the server as its superuser."""
    home.mkdir()
    (home / ".my.cnf").write_text(f"[client]\nuser=root\nsocket={server.socket}\n")
    return environment(home) | {"HOME": str(home)}


def new_database(server: MariaDB) -> str:
    server.execute("CREATE DATABASE reprise")
    server.execute(f"GRANT ALL ON reprise.* TO {USER}@'{LOOPBACK}'")
    return server.url("reprise")


def run(lines: str, folder: Path, env: dict[str, str]) -> str:
    """Run lines of shell in a folder; returns what they print."""
    shell = ["bash", "-euo", "pipefail", "-c", lines]
    return subprocess.run(shell, env=env, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def back_up(world: World, source: MariaDB, folder: Path, env: dict[str, str]) -> Moment:
    """Take the backup while others write, with a binary log that ends meanwhile, and then empty a table.

    Returns the moment before that mistake.
    """
    log = folder / "copying.log"
    copying = ChildProcess("copying", ["bash", "-c", documented("--stop-never")], log=log, env=env, cwd=folder)
    with copying:
        with Writer(world, world.prompt()) as writer:
            run(documented("mariadb-dump"), folder, env)
            writer.wait_for_more()
            source.execute("FLUSH BINARY LOGS")
            writer.wait_for_more()
        before = Moment(content(world.container.database), *source.execute("SHOW MASTER STATUS")[0][:2])
        source.execute("DELETE FROM reprise.spans")
        source.execute("FLUSH BINARY LOGS")
        copied = folder / "logs" / before.log
        wait_until(lambda: copied.exists() and copied.stat().st_size > before.position, "the copy of the binary log")
    return before


def restore(target: MariaDB, folder: Path, env: dict[str, str], until: Moment) -> None:
    noted = run("grep --max-count=1 MASTER_LOG_POS reprise.sql", folder, env)
    first_log, start = re.findall(r"MASTER_LOG_FILE='(.*?)', MASTER_LOG_POS=(\d+)", noted)[0]
    logs = [f"logs/{log.name}" for log in sorted((folder / "logs").iterdir()) if first_log <= log.name <= until.log]
    assert len(logs) == 2
    positions = {"FROM": start, "UNTIL": str(until.position), "LOGS": " ".join(logs)}
    run(documented("$UNTIL"), folder, login(target, folder / "target") | positions)


@pytest.mark.services
def test_mysql_is_restored_to_the_moment_before_a_mistake(
    mariadb: MariaDB, redis_server: RedisServer, tmp_path: Path
) -> None:
    if not all(map(shutil.which, ("mariadb", "mariadb-dump", "mariadb-binlog"))):
        pytest.skip("the clients of MariaDB are not installed")
    (tmp_path / "logs").mkdir()
    with mariadb_server(flush_log=2, options=BINARY_LOG) as source, redis_server.database() as redis_url:
        url, env = new_database(source), login(source, tmp_path / "source")
        with running(settings_for(tmp_path, mysql_url=url, redis_url=redis_url)) as container:
            world = new_world(container)
            made = everything(world)
            before = back_up(world, source, tmp_path, env)

    target = new_database(mariadb)
    try:
        restore(mariadb, tmp_path, env, until=before)
        with (
            redis_server.database() as empty,
            running(settings_for(tmp_path, mysql_url=target, redis_url=empty)) as restored,
        ):
            again = on(restored, world)
            assert content(restored.database) == before.content
            assert again.get(f"/api/v1/sessions/{made['session_id']}").json["turns"]
            assert again.get(f"/api/v1/prompts/{made['prompt_id']}").status_code == 200
    finally:
        mariadb.drop_database("reprise")
