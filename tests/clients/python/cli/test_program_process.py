"""What is left of a program after a replay: nothing, however its processes hide, and however the command ends."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.program_process import ProgramProcess
from reprise_client.cli.program_supervisor import MARK

from tests.support.waiting import wait_until

# A process of a program writes its id, then lives for longer than a test may.
LIVE = "echo $$ >>pids; exec sleep 600"
DEAF = "trap '' TERM; echo $$ >>pids; while :; do sleep 1; done"
HIDDEN = {
    "cleaned environment": f'env -i sh -c "{LIVE}" & {LIVE}',
    "cleaned environment and deaf": f'env -i sh -c "{DEAF.replace("$$", chr(92) + "$$")}" & {LIVE}',
    "cleaned environment and another session": f"env -i setsid sh -c '{LIVE}' & {LIVE}",
    "orphan in another session": f"(env -i setsid setsid sh -c '{LIVE}' &) ; {LIVE}",
    "another session": f"setsid sh -c '{LIVE}' & {LIVE}",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Start programs in a folder, and kill what is left of them."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for pid in pids():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def pids() -> list[int]:
    file = Path("pids")
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def living() -> list[int]:
    return [pid for pid in pids() if Path(f"/proc/{pid}").exists()]


def start(script: str) -> ProgramProcess:
    return ProgramProcess.start(["sh", "-c", script], {MARK: secrets.token_hex(8)}, answers_on_stdout=False)


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux gives orphans to another process than the first one.")
@pytest.mark.parametrize("script", HIDDEN.values(), ids=HIDDEN)
def test_all_processes_end_however_they_hide(script: str) -> None:
    program = start(script)
    wait_until(lambda: len(pids()) == 2, "both processes")

    program.end()

    assert living() == []
    assert not any(reader.is_alive() for reader, _ in program._threads)


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux gives orphans to another process than the first one.")
def test_what_a_program_leaves_behind_ends_with_it() -> None:
    program = start(f"env -i setsid sh -c '{LIVE}' & sleep 1; exit 3")

    wait_until(lambda: not program.is_running, "the end of the program")

    assert len(pids()) == 1
    assert living() == []
    assert "ended with code 3" in program.failed("It is over.").message
    program.end()


@pytest.mark.parametrize(
    ("script", "ending"), [("exit 7", "code 7"), ("kill -9 $$", "signal 9"), ("kill -11 $$", "signal 11")]
)
def test_the_end_of_a_program_is_reported_as_it_was(script: str, ending: str) -> None:
    program = start(script)
    wait_until(lambda: not program.is_running, "the end of the program")
    assert f"It ended with {ending}." in program.failed("It is over.").message
    program.end()


def close(program: ProgramProcess) -> None:
    """Close the streams after the end of their readers."""
    for reader, stream in program._threads:
        reader.join(30)
        stream.close()


def test_a_stream_that_another_process_holds_does_not_hold_the_command() -> None:
    program = start(f"exec env -i sh -c '{LIVE}'")
    wait_until(pids, "the program")
    program.process.kill()  # as if a process had escaped from the supervisor, without the token

    program.end()

    assert [(reader.is_alive(), stream.closed) for reader, stream in program._threads] == [(True, False)] * 2
    os.kill(pids()[0], signal.SIGKILL)
    close(program)


def test_what_can_not_be_ended_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    program = start(LIVE)
    wait_until(pids, "the program")
    program.process.send_signal(signal.SIGSTOP)
    monkeypatch.setattr("reprise_client.cli.program_process.END_S", 0.1)

    with pytest.raises(CouldNotRun, match=rf"kill the processes {program.process.pid}\."):
        program.end()

    program.process.send_signal(signal.SIGCONT)
    program.process.wait(30)
    close(program)


def test_a_program_ends_when_the_command_is_killed() -> None:
    source = (
        "import sys, time\nfrom reprise_client.cli.program_process import ProgramProcess\n"
        f"ProgramProcess.start(['sh', '-c', {LIVE!r}], {{{MARK!r}: 'a'}}, answers_on_stdout=True)\ntime.sleep(600)"
    )
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = subprocess.Popen([sys.executable, "-c", source], env=variables)
    wait_until(pids, "the program")

    command.kill()
    command.wait()

    wait_until(lambda: not living(), "the end of the program")


def test_a_program_that_kills_its_supervisor_ends_all_the_same() -> None:
    program = start(f"{LIVE} & kill -KILL $PPID; {LIVE}")
    program.process.wait(30)
    wait_until(lambda: len(pids()) == 2, "the program")

    program.end()

    wait_until(lambda: not living(), "the end of the program")


def test_the_program_gets_no_secret_of_reprise(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REPRISE_API_KEY", "REPRISE_SECRET_KEY", "REPRISE_URL", "OTHER"):
        monkeypatch.setenv(name, "here")
    printing = "import json, os; print(json.dumps([*os.environ]))"
    program = ProgramProcess.start([sys.executable, "-c", printing], {MARK: "t"}, answers_on_stdout=True)
    wait_until(lambda: not program.is_running, "the end of the program")
    program.end()

    names = set(json.loads(program.answers.get_nowait()))
    assert names & {"REPRISE_API_KEY", "REPRISE_SECRET_KEY"} == set()
    assert names >= {"REPRISE_URL", "OTHER", MARK}


def test_of_endless_output_two_lines_are_kept() -> None:
    program = ProgramProcess.start(["sh", "-c", f"yes {'y' * 1000}"], {MARK: "t"}, answers_on_stdout=True)
    wait_until(lambda: program.answers.qsize() == 2, "two lines")
    with pytest.raises(CouldNotRun, match="is no answer to a turn: 'yyyy"):
        program.send("{}")
    program.end()
    assert program.answers.qsize() <= 2


def test_a_long_question_to_a_program_that_does_not_read_does_not_hold_the_command() -> None:
    program = ProgramProcess.start(["sh", "-c", LIVE], {MARK: "t"}, answers_on_stdout=True)

    program.send("x" * 10_000_000)

    assert program.next_answer() is None
    program.end()


def test_a_program_that_closed_its_standard_input_is_named() -> None:
    program = ProgramProcess.start(["sh", "-c", f"exec <&-; {LIVE}"], {MARK: "t"}, answers_on_stdout=True)
    wait_until(pids, "the program")
    program.send("x")
    wait_until(lambda: program.is_deaf, "the end of the writer")
    with pytest.raises(CouldNotRun, match="does not read its standard input any more"):
        program.next_answer()
    program.end()


def test_a_command_that_does_not_exist_is_named() -> None:
    program = ProgramProcess.start(["no-such-program"], {MARK: "t"}, answers_on_stdout=True)
    wait_until(lambda: not program.is_running, "the end of the program")
    assert "no-such-program can't be started" in program.failed("It is over.").message
    program.end()
