"""A setting that can't be used ends every process with one line that explains what to do."""

import shlex
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.deployment import ROOT, environment, procfile
from tests.support.waiting import PATIENCE_S

# One of each kind: gunicorn, Dramatiq, a plain module, and the command line's checks of settings.
COMMANDS = [procfile()[name] for name in ("release", "web", "runs", "clock")] + [["reprise", "serve"]]
SERVICES = {
    "DATABASE_URL": "mysql://reprise:hush-hush@127.0.0.1:3306/reprise",
    "REDIS_URL": "redis://127.0.0.1:6379/0",
    "REPRISE_SECRET_KEY": "secret",
}

every_command = pytest.mark.parametrize("command", COMMANDS, ids=shlex.join)


def failing(command: list[str], home: Path, settings: dict[str, str]) -> str:
    """Standard error of a command that must fail."""
    env = environment(home, settings)
    ended = programs.run(command, env=env, cwd=ROOT, timeout_s=PATIENCE_S)
    assert ended.returncode not in {0, -15}, ended.stdout + ended.stderr
    return ended.stderr


@every_command
def test_a_missing_mysql_driver_is_one_line_that_names_what_to_install(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "MySQLdb.py").write_text("raise ModuleNotFoundError(\"No module named 'MySQLdb'\")")
    said = failing(command, tmp_path, SERVICES | {"PYTHONPATH": str(tmp_path)})
    assert "DATABASE_URL: the MySQL driver can't be loaded (No module named 'MySQLdb'): pip install" in said
    assert "Traceback" not in said
    assert "hush-hush" not in said


@every_command
def test_a_bad_number_is_one_line_that_names_its_variable(command: list[str], tmp_path: Path) -> None:
    said = failing(command, tmp_path, {"PORT": "eighty"})
    assert "PORT: 'eighty' can't be used" in said
    assert "Traceback" not in said
