"""A program that is started as a copy does what it does in a new process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.deployment import ROOT, environment, worker_command
from tests.support.waiting import PATIENCE_S, free_port

pytestmark = pytest.mark.slow

SERVICES = {"DATABASE_URL": "mysql://u:p@127.0.0.1:1/r", "REDIS_URL": "redis://127.0.0.1:1", "PORT": "none"}


def start(tmp_path: Path, *argv: str, **settings: str) -> programs.Running:
    log = tmp_path / "log"
    return programs.start(argv, env=environment(tmp_path, settings), cwd=ROOT, out=log, err=log)


@pytest.mark.parametrize(
    "argv",
    [
        ["reprise", "--help"],
        ["reprise", "nonsense"],
        ["reprise", "keys", "list"],
        worker_command("webhooks"),
        ["gunicorn", "--version"],
        ["python", "-m", "app.process.clock"],
    ],
    ids=" ".join,
)
def test_a_copy_prints_what_a_new_process_prints_and_ends_as_it_does(
    argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = environment(tmp_path, SERVICES)
    copied = programs.run(argv, env=env, cwd=tmp_path, timeout_s=PATIENCE_S)
    monkeypatch.delenv("PYTEST_VERSION")
    new = programs.run(argv, env=env, cwd=tmp_path, timeout_s=PATIENCE_S)

    assert (copied.returncode, copied.stdout) == (new.returncode, new.stdout)
    assert _lines(copied.stderr) == _lines(new.stderr)


def _lines(said: str) -> list[str]:
    """Return the lines without those of Dramatiq, which writes more or less about a worker's early end."""
    return [line for line in said.splitlines() if "[dramatiq." not in line]


def test_only_what_needs_no_new_interpreter_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_copied(*argv: str, **settings: str) -> bool:
        running = start(tmp_path, *argv, **settings)
        running.wait(PATIENCE_S)
        return not isinstance(running, subprocess.Popen)

    assert is_copied("reprise", "--help")
    assert not is_copied("true")
    assert not is_copied(sys.executable, "-c", "")
    assert not is_copied("reprise", "--help", PYTHONUTF8="1")
    assert not is_copied("reprise", "--help", LD_BIND_NOW="1")
    monkeypatch.delenv("PYTEST_VERSION")
    assert not is_copied("reprise", "--help")


def test_what_is_copied_has_read_no_settings() -> None:
    env = {**os.environ, **SERVICES}
    subprocess.run([sys.executable, "-m", "tests.support.preloaded"], cwd=ROOT, env=env, check=True)


def test_a_copy_has_a_separate_session_and_its_end_is_known_to_all_who_ask(tmp_path: Path) -> None:
    server = start(tmp_path, "reprise", "serve", PORT=str(free_port()))
    assert os.getsid(server.pid) == server.pid
    assert server.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        server.wait(0.01)

    told: list[int] = []
    asking = [threading.Thread(target=lambda: told.append(server.wait(PATIENCE_S))) for _ in range(8)]
    for one in asking:
        one.start()
    os.killpg(server.pid, signal.SIGKILL)
    for one in asking:
        one.join()
    assert told == [-signal.SIGKILL] * 8
    assert server.poll() == -signal.SIGKILL


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
@pytest.mark.parametrize("argv", [["sleep", "600"], ["reprise", "serve"]], ids=" ".join)
def test_a_program_that_lasts_too_long_is_ended(argv: list[str], tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        programs.run(argv, env=environment(tmp_path / "home"), cwd=tmp_path, timeout_s=0.01)
    assert tmp_path not in _folders_of_processes()


def _folders_of_processes() -> set[Path]:
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found.add((process / "cwd").readlink())
    return found
