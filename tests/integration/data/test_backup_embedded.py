"""`reprise backup` copies what is stored while it is served, and `reprise restore` brings it back in another folder."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from reprise_client.cli import with_extensions

from app.database.engines import build_engine
from app.database.transactions import Database
from app.models import schema
from app.process import home
from app.services.data import backup
from config.settings import declared
from tests.support.backups import TURNS, Writer, content
from tests.support.deployment import EmbeddedServer, environment, run_to_end
from tests.support.full_project import everything
from tests.support.remote_project import RemoteProject
from tests.support.world import World, new_world, running, settings_for

Reprise = Callable[..., Result]


@pytest.fixture
def reprise(monkeypatch: pytest.MonkeyPatch) -> Reprise:
    """Run a command on the instance in a folder."""
    for field in declared():
        monkeypatch.delenv(field.metadata["env"], raising=False)

    def run(folder: Path, *arguments: object) -> Result:
        monkeypatch.setenv("REPRISE_HOME", str(folder))
        return CliRunner().invoke(with_extensions(), [str(argument) for argument in arguments])

    return run


@pytest.fixture
def served(tmp_path: Path) -> Iterator[World]:
    """A project of an instance in the folder `served`."""
    home.claim(tmp_path / "served", with_database=True)
    with running(settings_for(tmp_path / "served")) as container:
        yield new_world(container)


@pytest.fixture(scope="module")
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an instance that has stored nothing yet; tests share it, as none changes it."""
    folder = tmp_path_factory.mktemp("empty")
    home.claim(folder, with_database=True)
    home.secret_key(folder)
    database = Database(build_engine(f"sqlite:///{folder / home.DATABASE}"))
    schema.upgrade(database)
    database.dispose()
    return folder


def nothing(*_: int) -> None:
    """Collects the progress messages."""


def stored(project: RemoteProject, prompt_id: int) -> list[str]:
    """Return the names of a prompt's stored conversations, each of which must be there as a whole."""
    lines = project.get(f"/api/v1/prompts/{prompt_id}/exports/sessions").text.splitlines()
    sessions = [json.loads(line) for line in lines]
    for session in sessions:
        assert [len(turn["spans"]) for turn in session["turns"]] == [1] * len(TURNS), session["conversationId"]
    return sorted(session["conversationId"] for session in sessions)


def test_a_backup_of_a_server_under_load_restores_all_that_was_acknowledged_before(tmp_path: Path) -> None:
    file, target = tmp_path / "backup.db", tmp_path / "restored"
    with EmbeddedServer(tmp_path / "served") as server, ExitStack() as load:
        made = everything(project := RemoteProject.administering(server))
        prompt_id = project.post("/api/v1/prompts", json={"name": "Under load", "value": "Help."}).json["prompt"]["id"]
        exporters = [load.enter_context(Writer(RemoteProject.of(server), prompt_id, prefix)) for prefix in "abc"]
        acknowledged = names(exporters)
        run_to_end(["reprise", "backup", str(file)], environment(server.home))
        for exporter in exporters:
            exporter.wait_for_more()
        before = names(exporters)
    assert file.stat().st_mode & 0o777 == 0o600

    run_to_end(["reprise", "restore", str(file)], environment(target))

    with closing(sqlite3.connect(target / home.DATABASE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with EmbeddedServer(target) as restored:
        again = RemoteProject(restored.url, project.key)
        assert again.get(f"/api/v1/sessions/{made['session_id']}").status_code == 200
        assert again.get(f"/api/v1/prompts/{made['prompt_id']}").status_code == 200
        there = stored(again, prompt_id)
        assert len(there) == len(set(there))
        assert acknowledged <= set(there) <= before
        for name in before:
            Writer(again, prompt_id).send(name)
        assert stored(again, prompt_id) == sorted(before), "what is sent again is stored once"


def names(exporters: list[Writer]) -> set[str]:
    return {name for exporter in exporters for name in exporter.stored}


def test_what_is_stored_while_pages_are_copied_is_no_part_of_the_backup(
    served: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "PAGES_AT_ONCE", 10)
    writer, copied, file = Writer(served, served.prompt()), [0], tmp_path / "backup.db"
    writer.send("before")
    before = content(served.container.database)

    def write(done: int, _total: int) -> None:
        copied.append(done)
        writer.send(f"meanwhile-{done}")

    backup.back_up(tmp_path / "served" / home.DATABASE, file, secret_key="", on_progress=write)

    assert copied == sorted(set(copied)), "the copy started again"
    backup.restore(file, tmp_path / home.DATABASE, keep_key=print, on_progress=nothing)
    with running(settings_for(tmp_path)) as container:
        assert content(container.database) == before


def test_an_interrupted_command_leaves_nothing_behind(empty_home: Path, tmp_path: Path) -> None:
    file, database, target = tmp_path / "b" / "backup.db", empty_home / home.DATABASE, tmp_path / "target"
    file.parent.mkdir()
    target.mkdir()

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backup.back_up(database, file, secret_key="", on_progress=interrupt)
    assert list(file.parent.iterdir()) == []

    backup.back_up(database, file, secret_key="", on_progress=nothing)
    with pytest.raises(KeyboardInterrupt):
        backup.restore(file, target / home.DATABASE, keep_key=print, on_progress=interrupt)
    assert list(target.iterdir()) == []


def test_a_backup_overwrites_nothing(empty_home: Path, tmp_path: Path, reprise: Reprise) -> None:
    file = tmp_path / "backup.db"
    file.write_text("precious")
    refused = reprise(empty_home, "backup", file)
    assert (refused.exit_code, file.read_text()) == (1, "precious")
    assert f"Error: {file} already exists" in refused.output


def test_an_instance_without_a_database_has_no_backup(tmp_path: Path, reprise: Reprise) -> None:
    refused = reprise(tmp_path, "backup", tmp_path / "backup.db")
    assert refused.exit_code == 1
    assert "There is nothing to back up" in refused.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rest", ["", "-wal", "-journal"])
def test_a_restore_overwrites_nothing(empty_home: Path, tmp_path: Path, reprise: Reprise, rest: str) -> None:
    file, target = tmp_path / "backup.db", tmp_path / "target"
    reprise(empty_home, "backup", file)
    target.mkdir()
    present = target / f"{home.DATABASE}{rest}"
    present.write_text("precious")

    refused = reprise(target, "restore", file)

    assert (refused.exit_code, present.read_text()) == (1, "precious")
    assert f"Error: {present} already exists" in refused.output


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("DROP TABLE alembic_version", "is not a database of Reprise, or is damaged"),
        ("DELETE FROM alembic_version", "is damaged: its schema has no revision"),
        ("UPDATE alembic_version SET version_num = '9999'", "is from a newer release of Reprise"),
    ],
)
def test_another_database_is_not_restored(
    empty_home: Path, tmp_path: Path, reprise: Reprise, damage: str, message: str
) -> None:
    file, target = tmp_path / "backup.db", tmp_path / "target"
    reprise(empty_home, "backup", file)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(damage)
    check_refused(reprise(target, "restore", file), target, message)


def test_a_damaged_file_is_not_restored(empty_home: Path, tmp_path: Path, reprise: Reprise) -> None:
    file, target = tmp_path / "backup.db", tmp_path / "target"
    reprise(empty_home, "backup", file)
    with file.open("r+b") as pages:
        pages.truncate(file.stat().st_size // 4096 // 2 * 4096)
    check_refused(reprise(target, "restore", file), target, "damaged")
    file.write_bytes(b"No database at all. " * 1000)
    check_refused(reprise(target, "restore", file), target, "can't be read: file is not a database")
    check_refused(reprise(target, "restore", tmp_path / "none.db"), target, "There is no file")


def check_refused(refused: Result, target: Path, message: str) -> None:
    assert refused.exit_code == 1
    assert message in refused.output
    assert (target / home.DATABASE).stat().st_size == 0
    assert {file.name for file in target.iterdir()} == {home.DATABASE, home.LOCK}


def test_the_secret_key_comes_back_with_the_database(empty_home: Path, tmp_path: Path, reprise: Reprise) -> None:
    file, key = tmp_path / "backup.db", home.kept_secret_key(empty_home)
    reprise(empty_home, "backup", file)
    for target in (tmp_path / "fresh", tmp_path / "same"):
        if target.name == "same":
            home.keep_secret_key(target, key)
        assert reprise(target, "restore", file).exit_code == 0
        assert home.kept_secret_key(target) == key
        assert (target / home.SECRET_KEY).stat().st_mode & 0o777 == 0o600
        assert key.encode() not in (target / home.DATABASE).read_bytes()


def test_a_restore_keeps_another_secret_key_and_warns(empty_home: Path, tmp_path: Path, reprise: Reprise) -> None:
    file, target = tmp_path / "backup.db", tmp_path / "target"
    reprise(empty_home, "backup", file)
    mine = home.secret_key(target)

    refused = reprise(target, "restore", file)

    assert (refused.exit_code, home.kept_secret_key(target)) == (1, mine)
    assert "another secret key" in refused.output
    assert (target / home.DATABASE).stat().st_size == 0


def test_restoring_a_backup_without_the_secret_key_warns(empty_home: Path, tmp_path: Path, reprise: Reprise) -> None:
    file, target = tmp_path / "backup.db", tmp_path / "target"
    key = home.kept_secret_key(empty_home)
    reprise(empty_home, "backup", file, "--no-secret-key")
    assert key.encode() not in file.read_bytes()

    done = reprise(target, "restore", file)

    assert done.exit_code == 0
    assert "The backup has no secret key: set REPRISE_SECRET_KEY" in done.output


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_mysql_is_not_backed_up_by_the_commands(
    tmp_path: Path, reprise: Reprise, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", "mysql://nobody@127.0.0.1:9/none")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:9/0")
    refused = reprise(tmp_path, command, tmp_path / "backup.db")
    assert refused.exit_code == 1
    assert "docs/data.md explains how MySQL is backed up" in refused.output
