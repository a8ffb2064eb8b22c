"""Copies of a program that play an experiment: an error that ends one is an error of the command."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.interruption import Interruption
from reprise_client.cli.program_asking import Asking
from reprise_client.cli.program_experiment import _Copies
from reprise_client.cli.program_process import ANSWER_MAX, ProgramProcess
from reprise_client.cli.program_run import ProgramRunner
from reprise_client.cli.remote import Remote

TURN: Mapping[str, Any] = {"user": "Hi", "turn": 0, "files": []}


class Instance:
    """Always has a replay to play."""

    def post_for(self, _path: str, _body: Any) -> dict[str, Any]:
        return {"id": 1}


class Runner:
    tools, offline = "endpoint", False

    def __init__(self, error: Exception) -> None:
        self._error = error

    def play(self, _path: str, _replay: Any) -> None:
        raise self._error


class Program:
    is_running = True

    def failed(self, problem: str) -> CouldNotRun:
        return CouldNotRun(problem)


@pytest.mark.parametrize("error", [KeyError("gemini"), OSError("no file is left"), CouldNotRun("It crashed.")])
def test_an_error_that_ends_a_copy_ends_the_command(error: Exception) -> None:
    instance, runner = cast(Remote, Instance()), cast(ProgramRunner, Runner(error))
    copies = _Copies(instance, runner, "/api/v1/experiments/1", Interruption(), Interruption())

    with ThreadPoolExecutor(1) as pool:
        pool.submit(copies.play).add_done_callback(copies.note)

    with pytest.raises(CouldNotRun, match=str(error.args[0])):
        copies.sleep(0)


def test_a_body_that_can_not_be_sent_is_an_error_of_the_program() -> None:
    asking = Asking("http://127.0.0.1:9/", {"text": "\ud800{{user}}"}, None, 1, 1, time.sleep)

    with pytest.raises(CouldNotRun, match=r"did not answer at http://127.0.0.1:9/: .*surrogates not allowed"):
        asking.ask(cast(ProgramProcess, Program()), TURN, "1")


class _Endless(BaseHTTPRequestHandler):
    """Answers with text that has no end."""

    def do_POST(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        with suppress(OSError):
            while True:
                self.wfile.write(b"x" * 65_536)

    def log_message(self, *_: object) -> None: ...


def test_an_answer_without_end_is_an_error_of_the_program() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Endless) as server, ThreadPoolExecutor(1) as pool:
        pool.submit(server.serve_forever)
        asking = Asking(f"http://127.0.0.1:{server.server_port}/", {}, None, 1, 60, time.sleep)
        try:
            with pytest.raises(CouldNotRun, match=f"more than {ANSWER_MAX} bytes"):
                asking.ask(cast(ProgramProcess, Program()), TURN, "1")
        finally:
            server.shutdown()
