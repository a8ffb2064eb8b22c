"""The home folder: its permissions, its lock, the secret key, and two files of variables.

`dev.env` has those for a first try, and `agent.sh` those with which an agent's program sends its traces.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shlex
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from app.errors import Conflict, Forbidden

DATABASE = "reprise.db"
DEV_ENV = "dev.env"
AGENT_VARIABLES = "agent.sh"
SECRET_KEY = "secret.key"  # noqa: S105 - a file's name
LOCK = "serve.lock"
# The last child of a killed server ends a moment later.
LOCK_WAIT_S = 5.0
PRIVATE_FILES = (
    *(DATABASE + suffix for suffix in ("", "-wal", "-shm", "-journal", "-turns")),
    *(DEV_ENV, AGENT_VARIABLES, SECRET_KEY, LOCK),
)
# The command of a clone, which shadows no other; an installed package has its command on PATH.
CLONE = Path(__file__).parents[2]
_AGENT_LINES = """\
# Variables that send the traces of the agent REPRISE_AGENT here. Use them with `. agent.sh` in the agent's terminal.
export REPRISE_AGENT="${{REPRISE_AGENT:-my-agent}}"
export REPRISE_URL={url} REPRISE_API_KEY={key}
export OTEL_EXPORTER_OTLP_ENDPOINT="$REPRISE_URL/api/public/agents/$REPRISE_AGENT/otel"
export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer $REPRISE_API_KEY"
export OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf"
# Reprise accepts no metrics, and a long conversation has more attributes than the SDK's limit.
export OTEL_METRICS_EXPORTER="none" OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT="2000"
# These record message contents: OpenTelemetry's instrumentations in Python, and Anthropic's client.
export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="SPAN_ONLY"
export ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE="content"
"""
_CLONE_LINES = """\
export REPRISE_CLONE={clone}
export PATH="$REPRISE_CLONE/bin:$PATH"
"""


def claim(home: Path, *, with_database: bool, make_database: bool = True) -> None:
    """Make the folder unless it exists, and remove all access to it and its files for others than its owner.

    `with_database`: refuse a folder in which others may add or replace files (`Forbidden`), and make an empty database
    unless there is one. Without `make_database` make neither a database nor a folder.
    """
    if not make_database and not home.exists():
        return
    _make(home)
    status = home.stat()
    # A folder of another user, or one that root shares among all users, such as /tmp: root may run this command, too.
    if status.st_uid != os.geteuid() or (status.st_mode & stat.S_ISVTX and status.st_uid == 0):
        if with_database:
            raise Forbidden(
                f"REPRISE_HOME: {home} belongs to somebody else, or to everybody: its data must be private. "
                "Run Reprise as the folder's owner, or set REPRISE_HOME to a folder of your own."
            )
        return
    if with_database and make_database and os.access(home, os.W_OK):
        # SQLite creates its further files with the mode of this one.
        (home / DATABASE).touch(mode=0o600)
    _keep_others_out(home)
    for name in PRIVATE_FILES:
        _keep_others_out(home / name)


def _make(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise Forbidden(
            f"REPRISE_HOME: {home} can't be made: {error.strerror}. Set REPRISE_HOME to a folder that you may write."
        ) from error


def _keep_others_out(path: Path) -> None:
    try:
        mode = stat.S_IMODE(path.stat(follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return
    if mode & (stat.S_IRWXG | stat.S_IRWXO) and not path.is_symlink():
        import structlog  # Imported here because it is slow, and `reprise --help` does not need it.

        path.chmod(mode & stat.S_IRWXU)
        structlog.get_logger(__name__).warning("made_private", path=str(path), mode_before=oct(mode))


def lock(home: Path, wait_s: float = LOCK_WAIT_S) -> IO[str]:
    """Lock the folder until this process and all its children have closed the returned file.

    Raises `Conflict` when another server has it locked for longer than `wait_s`.
    """
    _make(home)
    (home / LOCK).touch(mode=0o600)
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
    """Return the folder's secret key; make it at the first call."""
    if not kept_secret_key(home):
        keep_secret_key(home, secrets.token_urlsafe(32))
    return kept_secret_key(home)


def kept_secret_key(home: Path) -> str:
    """Return the folder's secret key, "" before the first start."""
    file = home / SECRET_KEY
    return file.read_text().strip() if file.exists() else ""


def keep_secret_key(home: Path, key: str) -> None:
    _write(home / SECRET_KEY, key + "\n")


def read_dev_env(home: Path) -> dict[str, str]:
    """Return the variables of the last start, none before the first start."""
    file = home / DEV_ENV
    if not file.exists():
        return {}
    assignments = shlex.split(file.read_text(), comments=True)
    return dict(assignment.split("=", 1) for assignment in assignments if "=" in assignment)


def write_dev_env(home: Path, variables: Mapping[str, str]) -> Path:
    """Write shell assignments that only the owner can read. The file is replaced atomically."""
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in variables.items()]
    _write(home / DEV_ENV, "".join(lines))
    return home / DEV_ENV


def write_agent_variables(home: Path, *, url: str, api_key: str, clone: Path = CLONE) -> Path:
    """Write the shell script `agent.sh`, which only the owner can read. The file is replaced atomically.

    It sets variables of OpenTelemetry and of the command `reprise`, and puts the command of a `clone` on PATH.
    """
    lines = _AGENT_LINES.format(url=shlex.quote(url), key=shlex.quote(api_key))
    if (clone / "bin" / "reprise").exists():
        lines += _CLONE_LINES.format(clone=shlex.quote(str(clone)))
    _write(home / AGENT_VARIABLES, lines)
    return home / AGENT_VARIABLES


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    scratch = file.with_name(f".{file.name}.{os.getpid()}")
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as output:
        output.write(text)
    scratch.replace(file)
