"""The server as `pip install` and `uvx` install it from a clone: one package, in an environment with nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.support.deployment import PATIENT, ROOT, environment, read_assignments
from tests.support.http_client import Client, serves
from tests.support.process import ChildProcess
from tests.support.waiting import LOOPBACK, PATIENCE_S, free_port

# The installation fetches what the server imports.
pytestmark = pytest.mark.sdks

BUILD_FILES = ("setup.py", "pyproject.toml", "MANIFEST.in", "Procfile")
# What a clone has, and the wheel either has in another folder or not at all.
MOVED = {"clients/python/src/": "", "docs/": "app/web/docs/"}
LEFT_OUT = {"app/web/docs", "migrations/script.py.mako"}
# Reads the configuration of the Procfile's web process, and imports the application.
CHECK_WEB = """
import sys
from gunicorn.app.wsgiapp import WSGIApplication
from app.process.serve import procfile
sys.argv = [*procfile()["web"], "--check-config"]
WSGIApplication(prog="gunicorn").run()
"""


def kept_files() -> list[str]:
    """Return the files of the repository below the folders that the wheel is made of, by their paths."""
    listed = subprocess.run(
        ["git", "ls-files", "app", "config", "migrations", "clients/python", "docs", *BUILD_FILES],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def wheel_path(name: str) -> str | None:
    """Return the path in the wheel of a file of the repository; None for one that only a clone has."""
    if name in LEFT_OUT or name in BUILD_FILES:
        return None
    for folder, moved in MOVED.items():
        if name.startswith(folder):
            return moved + name.removeprefix(folder) if folder != "docs/" or name.endswith(".md") else None
    return None if name.startswith("clients/") else name


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files of a clone, with the folder of an earlier build in which a migration is that no longer exists."""
    clone = tmp_path / "clone"
    for name in kept_files():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, clone / name, follow_symlinks=False)
    earlier = clone / "build" / "lib" / "migrations" / "versions"
    earlier.mkdir(parents=True)
    (earlier / "removed.py").write_text("raise SystemExit('This migration was removed.')\n")
    return clone


@pytest.fixture
def programs(clone: Path, tmp_path: Path) -> Path:
    """The folder of the programs of an environment with the package."""
    venv.create(tmp_path / "environment", symlinks=True, with_pip=False)
    python = tmp_path / "environment" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-compile"]
    # pip is configured by variables on some machines.
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    run([*pip, str(clone)], tmp_path, kept)
    return python.parent


def run(argv: list[str], folder: Path, variables: dict[str, str]) -> str:
    """Return the output of a command in `folder`, which must not fail."""
    done = subprocess.run(
        argv, cwd=folder, env=variables, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_one_command_installs_a_server_with_its_pages_its_migrations_and_its_commands(
    clone: Path, programs: Path, tmp_path: Path
) -> None:
    (packages,) = programs.parent.glob("lib/python*/site-packages")
    paths = {path for name in kept_files() if (path := wheel_path(name))}
    assert {path for path in paths if not (packages / path).is_file()} == set()
    assert not (packages / "migrations/versions/removed.py").exists()

    home, port = tmp_path / "home", free_port()
    variables = environment(home, {"PORT": str(port), **PATIENT}) | {"PATH": f"{programs}{os.pathsep}{os.defpath}"}
    run([str(programs / "python"), "-c", CHECK_WEB], tmp_path, variables)
    server = ChildProcess(
        "reprise serve",
        [str(programs / "reprise"), "serve"],
        log=tmp_path / "serve.log",
        env=variables,
        cwd=tmp_path,
        ready=lambda: serves(f"http://{LOOPBACK}:{port}") and (home / "dev.env").exists(),
    )
    with server:
        known = read_assignments(home / "dev.env")
        for page in ("/sign-in", "/api/openapi.json"):
            assert Client(known["BASE_URL"]).get(page).status == 200
        remote = {**variables, "REPRISE_URL": known["BASE_URL"], "REPRISE_API_KEY": known["API_KEY"]}
        assert "demo-agent" in run([str(programs / "reprise"), "models", "list"], tmp_path, remote)
