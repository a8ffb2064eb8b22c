"""A signal ends a command with exit code 2, and nothing that it has started goes on."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from reprise_client.cli.interruption import Interrupted, interruptible

from tests.fakes.json_server import serving
from tests.fakes.one_text import answers_of, replay_of
from tests.support import programs
from tests.support.deployment import ROOT, environment
from tests.support.experiments import experiment
from tests.support.waiting import PATIENCE_S, wait_until

COMMANDS = {
    "gate --prompt 3": "/api/v1/experiments/",
    "replay --prompt 3": "/api/v1/replays/",
    "bisect --prompt 3 --test-case 12 --repeats 2": "/api/v1/replays/",
    "calibrate --prompt 3": "/api/v1/calibrations/",
    "judge audit --prompt 3": "/api/v1/judge-audits/",
    "guard-map --prompt 3": "/api/v1/guard-maps/",
}
STARTS = ("/experiments", "/replays", "/calibrations", "/judge-audits", "/guard-maps")
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


class EndlessWork:
    """An instance on which nothing that is started ends before it is cancelled."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.followed: set[str] = set()
        self.cancelled: list[str] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.refuses_first_cancel = False

    def answer(self, method: str, path: str, _headers: Mapping[str, str], _body: Any) -> tuple[int, Any]:
        path = path.partition("?")[0]
        if method == "POST" and path.endswith(STARTS):
            work = f"/api/v1{path[path.rindex('/') :]}/{len(self.started) + 1}"
            self.started.append(work)
            self.may_answer.wait(PATIENCE_S)
            return 202, {"id": int(work.rpartition("/")[2]), "status": "queued"}
        if path.endswith("/guard-maps/forecast"):
            bounds = {"min": 4, "max": 8}
            return 200, {"sentences": 1, "mutants": 1, "testCases": 1, "replays": bounds, "cost": None}
        if path.endswith("/cancel"):
            if self.refuses_first_cancel:
                self.refuses_first_cancel = False
                return 429, {"error": "Too many requests."}
            self.cancelled.append(path.removesuffix("/cancel"))
            return 200, {}
        if path in self.started:
            self.followed.add(path)
            status = "cancelled" if path in self.cancelled else "running"
            shown = {"id": int(path.rpartition("/")[2]), "status": status}
            return 200, replay_of("Where?") | experiment(verdict=None) | shown
        answers = answers_of("Where?")
        return 200, answers[max((end for end in answers if path.endswith(end)), key=len)]


@pytest.fixture
def instance() -> EndlessWork:
    return EndlessWork()


@pytest.fixture
def url(instance: EndlessWork) -> Iterator[str]:
    with serving(instance.answer) as url:
        yield url
        instance.may_answer.set()


def start(url: str, folder: Path, command: str) -> programs.Running:
    env = environment(folder, {"REPRISE_URL": url, "REPRISE_API_KEY": "rp_key"})
    return programs.start(["reprise", *command.split()], env=env, cwd=ROOT, out=folder / "out", err=folder / "err")


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(("command", "path"), COMMANDS.items())
def test_a_signal_cancels_what_runs(
    instance: EndlessWork, url: str, tmp_path: Path, command: str, path: str, number: signal.Signals
) -> None:
    running = start(url, tmp_path, command)
    wait_until(lambda: instance.followed, "the work to be followed")
    os.kill(running.pid, number)

    assert running.wait(PATIENCE_S) == 2
    assert instance.cancelled
    assert sorted(instance.cancelled) == sorted(instance.started)
    assert all(work.startswith(path) for work in instance.cancelled)
    assert "nterrupted" in (tmp_path / "out").read_text() + (tmp_path / "err").read_text()


@pytest.mark.parametrize(("command", "path"), COMMANDS.items())
def test_a_signal_before_the_answer_to_the_start_leaves_nothing_behind(
    instance: EndlessWork, url: str, tmp_path: Path, command: str, path: str
) -> None:
    instance.may_answer.clear()
    running = start(url, tmp_path, command)
    wait_until(lambda: instance.started, "the start")
    # As a forge sends them: the second while the command cancels.
    os.kill(running.pid, signal.SIGINT)
    os.kill(running.pid, signal.SIGTERM)
    instance.may_answer.set()

    assert running.wait(PATIENCE_S) == 2
    assert sorted(instance.cancelled) == sorted(instance.started)
    assert all(work.startswith(path) for work in instance.cancelled)


def test_a_refused_cancellation_is_tried_again(instance: EndlessWork, url: str, tmp_path: Path) -> None:
    instance.refuses_first_cancel = True
    running = start(url, tmp_path, "calibrate --prompt 3")
    wait_until(lambda: instance.followed, "the work to be followed")
    os.kill(running.pid, signal.SIGTERM)

    assert running.wait(PATIENCE_S) == 2
    assert instance.cancelled == instance.started


def test_the_reports_of_interrupted_replays_are_written(instance: EndlessWork, url: str, tmp_path: Path) -> None:
    running = start(url, tmp_path, f"replay --prompt 3 --junit {tmp_path / 'r.xml'} --json {tmp_path / 'r.json'}")
    wait_until(lambda: instance.followed, "the replay to be followed")
    os.kill(running.pid, signal.SIGTERM)

    assert running.wait(PATIENCE_S) == 2
    assert 'errors="1"' in (tmp_path / "r.xml").read_text()
    assert '"problem": "interrupted"' in (tmp_path / "r.json").read_text()


def test_a_signal_that_the_command_was_started_to_ignore_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            stop.check()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_handlers_are_put_back_and_sleep_ends_at_once() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with interruptible() as stop:
        stop.sleep(0)
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Interrupted):
            stop.sleep(3600)
        with pytest.raises(Interrupted):
            stop.check()
    assert [signal.getsignal(number) for number in SIGNALS] == before
