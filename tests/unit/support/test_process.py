"""Child processes are waited for, hurt and ended as asked."""

import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.deployment import WORKERS, environment, procfile
from tests.support.process import ChildProcess, is_alive, pause, resume
from tests.support.waiting import NotReady, accepts, free_port, wait_until

# Prints the process id of a child that it starts, then both sleep on.
FORKING = """
import os, subprocess, sys
child = subprocess.Popen(["sleep", "600"])
print(child.pid, flush=True)
child.wait()
"""

# Answers what it reads from its parent in a thread among others, as servers do.
ANSWERING = """
import socket, sys, threading, time
def answer():
    while received := connection.recv(1):
        connection.send(received)
connection = socket.socket(fileno=int(sys.argv[1]))
for _ in range(3):
    threading.Thread(target=lambda: [time.sleep(0.001) for _ in range(600_000)], daemon=True).start()
answering = threading.Thread(target=answer)
answering.start()
answering.join()
"""

OBEYING = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
print("up", flush=True)
time.sleep(600)
"""


def python(source: str, tmp_path: Path) -> ChildProcess:
    return ChildProcess("a program", [sys.executable, "-c", source], log=tmp_path / "log")


def test_a_program_that_dies_at_once_is_reported_with_its_output(tmp_path: Path) -> None:
    child = ChildProcess(
        "a program", [sys.executable, "-c", "exit('no such table')"], log=tmp_path / "log", ready=lambda: False
    )
    with pytest.raises(NotReady, match=r"(?s)a program ended with 1.*no such table"):
        child.start()


def test_a_program_that_is_never_ready_is_ended(tmp_path: Path) -> None:
    child = ChildProcess("a sleeper", ["sleep", "600"], log=tmp_path / "log", ready=lambda: False, start_timeout_s=0.1)
    with pytest.raises(NotReady, match="a sleeper"):
        child.start()
    assert not child.alive


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_kill_reaches_what_the_program_started(tmp_path: Path) -> None:
    with python(FORKING, tmp_path) as child:
        grandchild = int(wait_until(child.output_tail, "the child's line"))
        assert is_alive(grandchild)
        child.kill()
        wait_until(lambda: not is_alive(grandchild), "the end of the grandchild")
    assert not child.alive


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_paused_process_answers_nothing_until_it_is_resumed() -> None:
    ours, theirs = socket.socketpair()
    argv = [sys.executable, "-c", ANSWERING, str(theirs.fileno())]
    with ours, theirs, subprocess.Popen(argv, pass_fds=[theirs.fileno()]) as process:
        try:
            for _ in range(50):
                ours.send(b"?")
                assert ours.recv(1) == b"?"
                pause(process.pid)
                ours.send(b"!")
                assert not select.select([ours], [], [], 0.01)[0]
                resume(process.pid)
                assert ours.recv(1) == b"!"
        finally:
            process.kill()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_pause_stops_what_the_program_started_and_passes_over_what_has_ended(tmp_path: Path) -> None:
    with python(FORKING, tmp_path) as child:
        grandchild = int(wait_until(child.output_tail, "the child's line"))
        child.pause()
        assert {Path(f"/proc/{one}/stat").read_text().split()[2] for one in (child.pid, grandchild)} == {"T"}
        os.kill(grandchild, signal.SIGKILL)
        wait_until(lambda: not is_alive(grandchild), "the end of the grandchild")
        child.pause()


def test_a_program_may_end_in_its_own_way(tmp_path: Path) -> None:
    with python(OBEYING, tmp_path) as child:
        wait_until(child.output_tail, "the child's line")
        assert child.terminate() == 7


def test_a_restarted_program_is_another_process(tmp_path: Path) -> None:
    with python("import time; time.sleep(600)", tmp_path) as child:
        before = child.pid
        child.restart()
        assert child.pid != before
        assert child.alive


def test_a_free_port_is_out_of_reach_of_outgoing_connections() -> None:
    port = free_port()
    assert not accepts(port)
    assert port < 32_768


def test_a_server_gets_no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATABASE_URL", "mysql://production")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    assert {"DATABASE_URL", "OPENAI_API_KEY"}.isdisjoint(environment(tmp_path))


def test_every_queue_has_a_process_in_the_procfile() -> None:
    commands = procfile()
    assert set(commands) == {"release", "web", "clock", *WORKERS}
    assert all(queue in commands[queue] for queue in WORKERS)
