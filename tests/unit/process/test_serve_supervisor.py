"""The supervisor keeps children running, with growing pauses for failing ones, and ends them together."""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from app.process.copies import COPIES
from app.process.serve import PAUSES_BEFORE_RESTART_S, Child, answers, environment, procfile
from tests.support.process import ChildProcess, children_of, is_alive
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]
# Starts a child, writes its number into a file, and stays.
STARTER = f"""
import os, sys, time
from pathlib import Path
from app.process.serve import Child
child = Child("sleeper", {SLEEPER!r}, os.environ)
child.tend(now=0)
Path(sys.argv[1]).write_text(f"{{child.process.pid}}\\n")
time.sleep(600)
"""
# Keeps a sleeper running, which SIGHUP ends.
RELOADER = """
import os
from app.process.serve import Supervisor
Supervisor({"sleeper": ["python", "-m", "tests.support.self_report", "sleep"]}, os.environ).run(
    ready=lambda: False, on_ready=print
)
"""
# Asks the supervisor to reload before it knows the process that it has just begun.
EARLY_RELOADER = f"""
import os, signal
from app.process import copies
start = copies.start

def start_and_reload(*args, copied):
    process = start(*args, copied=copied)
    if copied:
        os.kill(os.getpid(), signal.SIGHUP)
    return process

copies.start = start_and_reload
{RELOADER}"""
FAILER = [sys.executable, "-c", "raise SystemExit(3)"]


@pytest.fixture
def failing() -> Child:
    return Child("failing", FAILER, os.environ)


def test_the_procfile_names_what_is_kept_running(tmp_path: Path) -> None:
    file = tmp_path / "Procfile"
    file.write_text('release: once\nweb: serve --name "two words"\n\nclock: tick\n')
    assert procfile(file) == {"web": ["serve", "--name", "two words"], "clock": ["tick"]}


def test_the_own_procfile_lists_every_kind_of_process() -> None:
    assert set(procfile()) == {"web", "runs", "spans", "replays", "webhooks", "clock"}


def test_children_find_this_interpreters_programs_first_and_share_the_secret_key() -> None:
    env = environment({"PATH": "/usr/bin", "OTHER": "kept"}, "key")
    assert env == {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin",
        "OTHER": "kept",
        "REPRISE_SECRET_KEY": "key",
    }


def test_a_running_child_is_not_touched_and_killed_with_its_group() -> None:
    child = Child("sleeper", SLEEPER, os.environ)
    child.tend(now=0)
    assert child.running
    first = child.process
    child.tend(now=1)
    assert child.process is first
    child.kill()
    assert not child.running


def test_a_child_that_dies_at_once_is_started_again_after_growing_pauses(failing: Child) -> None:
    now, pauses = 0.0, []
    for _ in range(10):
        failing.tend(now)
        assert failing.process is not None
        failing.process.join()
        failing.tend(now)
        assert failing.process is None, "not again before its pause is over"
        pauses.append(failing.start_at - now)
        now = failing.start_at
    assert pauses[:3] == [1.0, 2.0, 4.0]
    assert pauses[-1] == PAUSES_BEFORE_RESTART_S[1]


def test_a_child_that_lived_long_is_started_again_soon(failing: Child) -> None:
    failing.tend(0)
    assert failing.process is not None
    failing.process.join()
    failing.pause = PAUSES_BEFORE_RESTART_S[1]
    failing.tend(3600)
    assert failing.start_at == 3600 + PAUSES_BEFORE_RESTART_S[0]


def test_there_is_no_answer_where_no_server_listens() -> None:
    assert not answers("http://127.0.0.1:9/health/ready")


def test_a_child_does_not_outlive_a_killed_supervisor(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    pid.touch()
    command = [sys.executable, "-c", STARTER, str(pid)]
    with ChildProcess("a supervisor", command, log=tmp_path / "log", ready=lambda: "\n" in pid.read_text()):
        child = int(pid.read_text())
        assert is_alive(child)
    wait_until(lambda: not is_alive(child), "the end of the child")


def child_of(supervisor: ChildProcess) -> str:
    """Return what the supervisor's child is: a "copy" of it, a "program", or "" while it begins."""
    found = ""
    with suppress(FileNotFoundError):
        for pid in children_of(supervisor.pid):
            process = Path(f"/proc/{pid}")
            if process.joinpath("comm").read_text() == "reprise sleeper\n":
                found = "copy"
            elif process.joinpath("cmdline").read_bytes().startswith(b"python\0-m\0"):
                found = "program"
    return found


def supervisor_of(program: str, log: Path, kind: str) -> ChildProcess:
    """Return a supervisor that is ready once its child is of this kind."""
    supervisor = ChildProcess(
        "a supervisor",
        [sys.executable, "-c", program],
        log=log,
        env=environment(os.environ, ""),
        ready=lambda: child_of(supervisor) == kind,
    )
    return supervisor


@pytest.mark.skipif(not COPIES, reason="copies are made on Linux")
def test_what_starts_after_a_reload_is_no_copy(tmp_path: Path) -> None:
    with supervisor_of(RELOADER, tmp_path / "log", "copy") as supervisor:
        os.kill(supervisor.pid, signal.SIGHUP)
        wait_until(lambda: child_of(supervisor) == "program", "a new program")
        assert supervisor.terminate() == 0


@pytest.mark.skipif(not COPIES, reason="copies are made on Linux")
def test_a_process_that_is_being_started_is_reloaded_too(tmp_path: Path) -> None:
    with supervisor_of(EARLY_RELOADER, tmp_path / "log", "program") as supervisor:
        assert supervisor.terminate() == 0
