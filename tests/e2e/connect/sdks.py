"""Installs the SDKs that the pages of docs/connect pin, once per set of pins, outside of the repository."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.deployment import ROOT

DOCS = ROOT / "docs" / "connect"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reprise-connect"
INSTALL_TIMEOUT_S = 240
PIP = ["-m", "pip", "--disable-pip-version-check"]
NPM = ["npm", "install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]


class NotInstalled(Exception):
    """An SDK can't be had here; the message says which and why."""


def pins(page: Path) -> Path:
    return next(path for path in (page / "requirements.txt", page / "package.json") if path.exists())


def installed(page: Path) -> Path:
    """A folder with `bin/python` or `node_modules` as `page` pins them. Raises NotInstalled."""
    wanted = pins(page)
    if wanted.name == "package.json" and not (shutil.which("node") and shutil.which("npm")):
        raise NotInstalled(f"node and npm are not installed, which {page.name} needs")
    digest = hashlib.sha256(wanted.read_bytes() + sys.version.encode()).hexdigest()[:16]
    home = CACHE / f"{page.name}-{digest}"
    if home.exists():
        return home
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix=f"{page.name}.") as making:
        install = _install_python if wanted.name == "requirements.txt" else _install_node
        install(wanted, Path(making) / "made")
        _keep(Path(making) / "made", home)
    return home


def _install_python(wanted: Path, home: Path) -> None:
    _run([sys.executable, "-m", "venv", "--without-pip", str(home)])
    # The imports that a program does are fewer than the modules it gets: they compile themselves.
    options = ["--python", str(home / "bin" / "python"), "install", "--quiet", "--no-compile"]
    _run([sys.executable, *PIP, *options, "--requirement", str(wanted)])


def _install_node(wanted: Path, home: Path) -> None:
    home.mkdir()
    shutil.copy(wanted, home)
    _run([*NPM, "--prefix", str(home)])


def _run(argv: list[str]) -> None:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as slow:
        raise NotInstalled(f"{argv[0]} did not end in {INSTALL_TIMEOUT_S} s") from slow
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "rror" in line] or done.stderr.splitlines() or ["no word"]
        raise NotInstalled(f"{Path(argv[0]).name} could not install: {said[-1].strip()}")


def _keep(made: Path, home: Path) -> None:
    """Move it to its place, unless another test run was faster."""
    try:
        made.rename(home)
    except OSError:
        if not home.exists():
            raise
