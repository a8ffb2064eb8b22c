"""The home folder: one server at a time, secrets for the owner, variables for the shell."""

import subprocess
from pathlib import Path

import pytest

from app import home
from app.errors import Conflict


def test_a_folder_serves_one_at_a_time(tmp_path: Path) -> None:
    with home.lock(tmp_path), pytest.raises(Conflict, match="Another `reprise serve` uses"):
        home.lock(tmp_path, wait_s=0)
    home.lock(tmp_path, wait_s=0).close()


def test_the_secret_key_is_made_once_and_read_by_the_owner_alone(tmp_path: Path) -> None:
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
