"""The JavaScript client as its users have it: built, packed and installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from reprise_client import __version__

from tests.support.deployment import ROOT
from tests.support.exclusive import alone

HERE = Path(__file__).parent
SOURCE = ROOT / "clients" / "js"
TSC = SOURCE / "node_modules" / ".bin" / "tsc"


def run_command(argv: list[str], folder: Path, variables: Mapping[str, str] | None = None) -> str:
    """Return the output of a command in `folder`, which must not fail."""
    env = {**os.environ, **(variables or {})}
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def needs_node(require: Callable[[str | None], None]) -> None:
    """For tests that run what `make test` installs into clients/js/node_modules."""
    missing = [name for name in ("node", "npm") if not shutil.which(name)]
    require(f"{missing[0]} is not installed" if missing else None if TSC.exists() else "`make test-js` has not run")


@pytest.fixture(scope="session")
def tarball(needs_node: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as `make clients` builds it; parallel processes of a test run build it one after another."""
    name, folder = f"reprise-client-{__version__}.tgz", tmp_path_factory.mktemp("tarball")
    built = ROOT / "build" / "clients" / name
    with alone(ROOT / "build" / "clients.lock"):
        run_command(["make", "clients-js"], ROOT)
        return Path(shutil.copy(built, folder))


@pytest.fixture(scope="session")
def project(tarball: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty project with the package, and nothing else, installed in it."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    run_command(["npm", "install", "--offline", "--no-audit", "--no-fund", str(tarball)], folder)
    return folder
