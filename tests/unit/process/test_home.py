"""The home folder: one server at a time, secrets for the owner, variables for the shell."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from app.errors import Conflict, Forbidden
from app.process import home
from tests.support.deployment import ROOT


def test_a_folder_serves_one_at_a_time(tmp_path: Path) -> None:
    with home.lock(tmp_path), pytest.raises(Conflict, match="Another `reprise serve` uses"):
        home.lock(tmp_path, wait_s=0)
    home.lock(tmp_path, wait_s=0).close()


def test_the_secret_key_is_made_once_and_readable_only_by_the_owner(tmp_path: Path) -> None:
    key = home.secret_key(tmp_path / "new" / "folder")
    assert len(key) >= 43
    assert home.secret_key(tmp_path / "new" / "folder") == key
    assert (tmp_path / "new" / "folder" / home.SECRET_KEY).stat().st_mode & 0o777 == 0o600


def test_no_variables_before_the_first_start(tmp_path: Path) -> None:
    assert home.read_dev_env(tmp_path) == {}


@pytest.mark.parametrize("value", ["plain", "two words", "it's", '"$HOME"', "#no comment", ""])
def test_variables_reach_a_shell_as_they_were_written(tmp_path: Path, value: str) -> None:
    file = home.write_dev_env(tmp_path, {"API_KEY": value, "PROMPT_ID": "7"})
    shown = subprocess.run(
        ["sh", "-c", '. "$1" && printf "%s|%s" "$API_KEY" "$PROMPT_ID"', "sh", str(file)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == f"{value}|7"
    assert home.read_dev_env(tmp_path) == {"API_KEY": value, "PROMPT_ID": "7"}


def test_writing_variables_again_narrows_a_file_that_others_could_read(tmp_path: Path) -> None:
    (tmp_path / home.DEV_ENV).touch(0o644)
    assert home.write_dev_env(tmp_path, {"A": "1"}).stat().st_mode & 0o777 == 0o600


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_and_its_database_are_readable_only_by_the_owner(tmp_path: Path) -> None:
    home.claim(tmp_path / "new" / "folder", with_database=True)
    assert mode(tmp_path / "new" / "folder") == 0o700
    assert mode(tmp_path / "new" / "folder" / home.DATABASE) == 0o600


def test_a_folder_that_others_could_read_is_narrowed_with_its_files(tmp_path: Path) -> None:
    for name in home.PRIVATE_FILES:
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o664)
    (tmp_path / "notes.txt").touch()
    (tmp_path / "notes.txt").chmod(0o644)
    tmp_path.chmod(0o755)
    home.claim(tmp_path, with_database=True)
    assert mode(tmp_path) == 0o700
    assert {mode(tmp_path / name) for name in home.PRIVATE_FILES} == {0o600}
    assert mode(tmp_path / "notes.txt") == 0o644, "it is not ours"


def test_the_target_of_a_link_keeps_its_permissions(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.touch()
    outside.chmod(0o644)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / home.DEV_ENV).symlink_to(outside)
    home.claim(tmp_path / "home", with_database=True)
    assert mode(outside) == 0o644


@pytest.fixture
def somebody_elses(tmp_path: Path) -> Path:
    """A folder that does not belong to the user who runs the tests."""
    if os.geteuid() != 0:
        return Path("/")
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o777)
    os.chown(folder, 12345, 12345)
    return folder


def test_no_database_is_made_in_a_folder_of_somebody_else(somebody_elses: Path) -> None:
    before = mode(somebody_elses)
    with pytest.raises(Forbidden, match="belongs to somebody else"):
        home.claim(somebody_elses, with_database=True)
    assert mode(somebody_elses) == before
    assert not (somebody_elses / home.DATABASE).exists()


def test_without_a_database_in_it_the_folder_may_be_the_containers(somebody_elses: Path) -> None:
    before = mode(somebody_elses)
    home.claim(somebody_elses, with_database=False)
    assert mode(somebody_elses) == before


def test_a_folder_that_can_not_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(Forbidden, match=r"REPRISE_HOME: .*file/home can't be made: Not a directory"):
        home.claim(tmp_path / "file" / "home", with_database=True)


SHOW = 'printf "%s|%s|%s" "$REPRISE_AGENT" "$OTEL_EXPORTER_OTLP_ENDPOINT" "$OTEL_EXPORTER_OTLP_HEADERS"'


def shown(file: Path, script: str) -> str:
    """Return what a shell prints that runs `script` after the variables of an agent."""
    command = ["bash", "-euc", f'. "$1"; {script}', "bash", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_variables_of_an_agent_send_its_traces_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home.write_agent_variables(tmp_path, url="http://127.0.0.1:8001", api_key="rp_it's", clone=tmp_path)

    default = shown(file, SHOW)
    monkeypatch.setenv("REPRISE_AGENT", "shop")

    address = "http://127.0.0.1:8001/api/public/agents/{}/otel"
    assert default == f"my-agent|{address.format('my-agent')}|Authorization=Bearer rp_it's"
    assert shown(file, SHOW) == f"shop|{address.format('shop')}|Authorization=Bearer rp_it's"
    assert mode(file) == 0o600


def test_the_variables_of_an_agent_find_the_command_of_a_clone_only(tmp_path: Path) -> None:
    clone = tmp_path / "a clone"
    (clone / "bin").mkdir(parents=True)
    (clone / "bin" / "reprise").touch(0o755)

    of_clone = home.write_agent_variables(tmp_path, url="http://x", api_key="k", clone=clone)
    assert shown(of_clone, 'command -v reprise; echo "$REPRISE_CLONE"') == f"{clone}/bin/reprise\n{clone}\n"

    of_package = home.write_agent_variables(tmp_path, url="http://x", api_key="k", clone=tmp_path)
    assert "CLONE" not in of_package.read_text()


@pytest.mark.parametrize(
    ("served", "own", "variable", "home_of_command"),
    [
        (True, False, None, "clone/var"),
        (True, True, None, ""),
        (False, False, None, ""),
        (True, False, "elsewhere", "elsewhere"),
    ],
)
def test_the_command_of_a_clone_finds_the_clones_data_from_a_folder_without_any(
    tmp_path: Path, served: bool, own: bool, variable: str | None, home_of_command: str
) -> None:
    clone, agent = tmp_path / "clone", tmp_path / "agent"
    shutil.copytree(ROOT / "bin", clone / "bin")
    for folder in (clone / ".venv" / "bin", clone / "var", agent / "var"):
        folder.mkdir(parents=True)
    command = clone / ".venv" / "bin" / "reprise"
    command.write_text('#!/bin/sh\necho "$REPRISE_HOME"\n')
    command.chmod(0o755)
    for has_data, folder in ((served, clone), (own, agent)):
        if has_data:
            (folder / "var" / "reprise.db").touch()
    variables = {"PATH": os.environ["PATH"]} | ({"REPRISE_HOME": variable} if variable else {})

    done = subprocess.run(
        [clone / "bin" / "reprise"], cwd=agent, env=variables, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip().removeprefix(f"{tmp_path}/") == home_of_command
