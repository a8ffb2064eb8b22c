"""The home folder: who serves from it, the secret key it keeps, and `dev.env` for whoever tries Reprise out."""

from __future__ import annotations

import fcntl
import os
import secrets
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from app.errors import Conflict

DEV_ENV = "dev.env"
SECRET_KEY = "secret.key"  # noqa: S105 - a file's name
LOCK = "serve.lock"
# A killed server's last child takes a moment to notice.
LOCK_WAIT_S = 5.0


def lock(home: Path, wait_s: float = LOCK_WAIT_S) -> IO[str]:
    """Take the folder for this process and its children; held until the file that is returned is closed everywhere."""
    home.mkdir(parents=True, exist_ok=True)
    file = (home / LOCK).open("a")
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                file.close()
                message = f"Another `reprise serve` uses {home}: stop it, or set REPRISE_HOME to another folder."
                raise Conflict(message) from None
            time.sleep(0.1)
        else:
            return file


def secret_key(home: Path) -> str:
    """The key kept in the folder, made at the first call."""
    file = home / SECRET_KEY
    if not file.exists():
        _write(file, secrets.token_urlsafe(32) + "\n")
    return file.read_text().strip()


def read_dev_env(home: Path) -> dict[str, str]:
    """The variables of the last start; none before the first."""
    file = home / DEV_ENV
    if not file.exists():
        return {}
    words = shlex.split(file.read_text(), comments=True)
    return dict(word.split("=", 1) for word in words if "=" in word)


def write_dev_env(home: Path, variables: Mapping[str, str]) -> Path:
    """Write shell assignments that only the owner can read, all of them or none."""
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in variables.items()]
    _write(home / DEV_ENV, "".join(lines))
    return home / DEV_ENV


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    scratch = file.with_name(f".{file.name}.{os.getpid()}")
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as output:
        output.write(text)
    scratch.replace(file)
