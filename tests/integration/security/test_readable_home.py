"""Other users of the machine read nothing of the embedded mode: no database, no keys, and no file next to them."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.deployment import EmbeddedServer, environment, run_to_end
from tests.support.waiting import NotReady

# What the server made itself; its log is the test's.
LOG = "serve.log"


def readable(home: Path) -> dict[str, str]:
    """The modes of all that others can reach, by name; "." is the folder."""
    found = {".": home, **{path.name: path for path in home.iterdir() if path.name != LOG}}
    modes = {name: stat.S_IMODE(path.stat().st_mode) for name, path in found.items()}
    return {name: oct(mode) for name, mode in modes.items() if mode & 0o077}


@pytest.fixture
def open_umask() -> Iterator[None]:
    """Files are readable for all unless their maker prevents it."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_a_running_server_leaves_nothing_to_read(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "home") as server:
        server.client().post("/api/v1/prompts", {"name": "Private", "value": "Be discreet."})
        made = {path.name for path in server.home.iterdir()}
        assert {"reprise.db", "reprise.db-wal", "reprise.db-shm", "secret.key", "dev.env", "serve.lock"} <= made
        assert readable(server.home) == {}


@pytest.mark.usefixtures("open_umask")
def test_what_an_earlier_version_left_readable_is_narrowed_at_the_next_start(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        server.process.terminate()
        for path in tmp_path.iterdir():
            path.chmod(0o644)
        tmp_path.chmod(0o755)
        server.process.start()
        assert readable(tmp_path) == {}
        assert "made_private" in server.process.log.read_text()


@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("command", [["db", "upgrade"], ["init"], ["doctor"], ["keys", "list"]], ids=" ".join)
def test_commands_leave_nothing_to_read_either(tmp_path: Path, command: list[str]) -> None:
    home = tmp_path / "home"
    if command[0] in {"doctor", "keys"}:  # which make nothing themselves
        run_to_end(["reprise", "init"], environment(home))
        (home / "reprise.db").chmod(0o644)
    try:
        run_to_end(["reprise", *command], environment(home))
    except NotReady:
        assert command == ["doctor"], "it finds no workers"
    assert (home / "reprise.db").exists()
    assert readable(home) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("command", ["serve", "init"])
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, command: str) -> None:
    os.chown(tmp_path, 12345, 12345)
    with pytest.raises(NotReady, match="belongs to somebody else"):
        run_to_end(["reprise", command], environment(tmp_path))
    assert list(tmp_path.iterdir()) == []
