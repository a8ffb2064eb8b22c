"""Installs the SDKs that the pages of docs/connect pin, once per set of pins, outside of the repository."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.support.deployment import ROOT
from tests.support.exclusive import alone

DOCS = ROOT / "docs" / "connect"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reprise-connect"
INSTALL_TIMEOUT_S = 400
# Few retries: where there is no network, ten pages would wait for it one after the other.
UV = [str(Path(sys.executable).with_name("uv")), "pip"]
UV_VARIABLES = {"UV_HTTP_RETRIES": "1"}
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries", "1"]
# One installation serves the pages of a group, each of which pins a part of it.
TOGETHER = (
    ("anthropic-js", "langgraph-js", "openai-agents-js", "openinference-js"),
    ("anthropic", "autogen", "openai", "openai-agents", "semantic-kernel"),
)
NPM = ["npm", "install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"]
NPM += ["--loglevel=error", "--fetch-retries=1", "--fetch-retry-mintimeout=1000"]


class NotInstalled(Exception):
    """An SDK can't be installed here; the message names it and the reason."""


def pins(page: Path) -> Path:
    return next(path for path in (page / "requirements.txt", page / "package.json") if path.exists())


def installed(page: Path, cache: Path = CACHE) -> Path:
    """A folder in `cache` with `bin/python` or `node_modules` as `page` pins them. Raises NotInstalled."""
    wanted = pins(page)
    group = next((names for names in TOGETHER if page.parent == DOCS and page.name in names), ())
    content = pinned_together(group) if group else wanted.read_bytes()
    digest = hashlib.sha256(content + sys.version.encode()).hexdigest()[:16]
    home = cache / f"{'together' if group else page.name}-{digest}"
    with alone(home.with_suffix(".lock")):
        if not home.exists():
            try:
                _make(wanted.name, content, home)
            except NotInstalled as missing:
                raise NotInstalled(f"what docs/connect/{page.name} pins could not be installed ({missing})") from None
    return home


def pinned_together(group: Iterable[str]) -> bytes:
    """The requirements.txt or package.json of the pages of a group, which pin the same versions of what they share."""
    pages = [pins(DOCS / name) for name in group]
    if pages[0].name == "requirements.txt":
        return "\n".join(sorted({line for page in pages for line in page.read_text().splitlines()})).encode()
    read = [json.loads(page.read_text()) for page in pages]
    dependencies = {name: version for page in read for name, version in page["dependencies"].items()}
    return json.dumps(read[0] | {"dependencies": dependencies}).encode()


def _make(name: str, content: bytes, home: Path) -> None:
    """Install aside and move it to its place, so that it is whole or not there."""
    install = _install_python if name == "requirements.txt" else _install_node
    with tempfile.TemporaryDirectory(dir=home.parent, prefix="making.") as aside:
        wanted, made = Path(aside) / name, Path(aside) / "made"
        wanted.write_bytes(content)
        install(wanted, made)
        made.rename(home)


def _install_python(wanted: Path, home: Path) -> None:
    _run([sys.executable, "-m", "venv", "--without-pip", str(home)])
    # The imports that a program does are fewer than the modules it gets: they compile themselves.
    python, pinned = ["--python", str(home / "bin" / "python")], ["--quiet", "--requirement", str(wanted)]
    try:
        _run([*UV, "install", *python, *pinned])
    except NotInstalled:
        # Only pip's configuration may name an index that can be reached.
        _run([*PIP, *python, "install", "--no-compile", *pinned])
    # The commands name the folder that they were installed in, which is moved.
    for command in home.joinpath("bin").iterdir():
        if not command.is_symlink() and (content := command.read_bytes()).startswith(b"#!"):
            command.write_bytes(content.replace(f"#!{home}/bin/python".encode(), b"#!/usr/bin/env python", 1))


def _install_node(wanted: Path, home: Path) -> None:
    if not (shutil.which("node") and shutil.which("npm")):
        raise NotInstalled("there is no node or no npm")
    home.mkdir()
    shutil.copy(wanted, home)
    _run([*NPM, "--prefix", str(home)])


def _run(argv: list[str]) -> None:
    try:
        env = os.environ | UV_VARIABLES
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as slow:
        raise NotInstalled(f"{argv[0]} did not end in {INSTALL_TIMEOUT_S} s") from slow
    if done.returncode:
        said = [line.strip() for line in done.stderr.splitlines() if line.lower().startswith(("error", "npm error"))]
        raise NotInstalled(", ".join(said[:2]) or done.stderr[-200:])
