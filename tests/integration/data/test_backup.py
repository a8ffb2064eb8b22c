"""The backups that docs/data.md describes bring everything back, on another server or in another file."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Connection, select

from app.db import Database, build_engine
from app.models import metadata
from tests.support import mariadb as mariadb_support
from tests.support.everything import everything
from tests.support.mariadb import MariaDB
from tests.support.redis_server import RedisServer
from tests.support.world import World, new_world, running, settings_for

DUMP = ("--single-transaction", "--quick", "--hex-blob", "--skip-lock-tables")


def content(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    with database.read() as connection:
        return {table.name: _rows(connection, table) for table in metadata.sorted_tables}


def _rows(connection: Connection, table: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]


def check_works(world: World, made: dict[str, Any]) -> None:
    assert world.get(f"/api/v1/sessions/{made['session_id']}").status_code == 200
    assert world.get(f"/api/v1/prompts/{made['prompt_id']}").status_code == 200


def test_sqlite_is_backed_up_while_it_is_served(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    with running(settings_for(tmp_path)) as container:
        world = new_world(container)
        made = everything(world)
        with sqlite3.connect(tmp_path / "reprise.db") as connection:
            connection.execute("VACUUM INTO ?", (str(copy / "reprise.db"),))
        connection.close()
        before = content(container.database)
    with running(settings_for(copy)) as restored:
        after = content(restored.database)
        check_works(World(restored, new_world(restored).client, 0, 0, world.key), made)
    assert after == before


@pytest.mark.services
def test_mysql_is_backed_up_under_load_and_restored_elsewhere(
    mariadb: MariaDB, redis_server: RedisServer, tmp_path: Path
) -> None:
    dump, client = shutil.which("mariadb-dump"), shutil.which("mariadb")
    if not (dump and client):
        pytest.skip("the clients of MariaDB are not installed")
    with mariadb.database() as source, mariadb.database() as target, redis_server.database() as redis_url:
        with running(settings_for(tmp_path, mysql_url=source, redis_url=redis_url)) as container:
            world = new_world(container)
            made = everything(world)
            with container.database.write() as connection:
                # An open transaction is no part of the backup, and does not hold it up.
                connection.exec_driver_sql("UPDATE projects SET name = 'not committed'")
                taken = subprocess.run(
                    [dump, *_login(mariadb, source), *DUMP, _name(source)], capture_output=True, check=True
                )
                connection.rollback()
            before = content(container.database)
        subprocess.run([client, *_login(mariadb, target), _name(target)], input=taken.stdout, check=True)
        database = Database(build_engine(target))
        assert content(database) == before
        database.engine.dispose()
        with (
            redis_server.database() as empty,
            running(settings_for(tmp_path, mysql_url=target, redis_url=empty)) as new,
        ):
            check_works(World(new, new_world(new).client, 0, 0, world.key), made)


def _login(server: MariaDB, url: str) -> list[str]:
    where = [f"--host={urlsplit(url).hostname}", f"--port={server.port}"]
    return ["--no-defaults", *where, f"--user={mariadb_support.USER}", f"--password={mariadb_support.PASSWORD}"]


def _name(url: str) -> str:
    return urlsplit(url).path.strip("/")
