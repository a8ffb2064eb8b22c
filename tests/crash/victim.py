"""A process that performs requests and work and may be killed in the middle: `python -m tests.crash.victim`.

The first line of its input has the settings, each further line a request, or work, and the call at which it dies. For
each it forks a process that serves as a whole instance does, or that only does the work, and prints a line: whether the
request was acknowledged, or the work done, and how many calls were counted. A process that was to die later dies then.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from base64 import b64decode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dramatiq
from falcon.testing import TestClient
from sqlalchemy import Connection

from app.models import experiment_replays, sessions
from app.process.application import build_app
from app.process.bootstrap import bootstrap
from app.wiring.container import Container
from tests.crash.works import PERFORMED
from tests.support.world import settings_for

_CALLS = ctypes.CDLL(None)
BETWEEN_HALVES = 60
"""Calls between the two halves of torn work, so that a sample of all calls has some of them."""


def main() -> None:
    chosen = json.loads(sys.stdin.readline())
    if chosen.pop("torn"):
        sessions.put = _after_commit(sessions.put)
        experiment_replays.add_replays = _after_commit(experiment_replays.add_replays)
    settings = replace(settings_for(Path(chosen.pop("home")), **chosen), log_level="critical", ingest_wait_s=20)
    for line in sys.stdin:
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            _perform(settings, json.loads(line), write)
        os.close(write)
        with os.fdopen(read) as pipe:
            lines = pipe.read().splitlines()
        os.waitpid(child, 0)
        print(lines[-1] if lines else '{"acknowledged": false}', flush=True)


def _after_commit(put: Callable[..., None]) -> Callable[..., None]:
    """A fault: commit the turns of a batch, or the replays of an experiment, long before what refers to them."""

    def torn(connection: Connection, rows: Any, **which: Any) -> None:
        connection.connection.commit()
        for _ in range(BETWEEN_HALVES):
            os.write(sys.stdout.fileno(), b"\0")
        put(connection, rows, **which)

    return torn


def _perform(settings: Any, order: dict[str, Any], pipe: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    container = bootstrap(settings)
    perform = _working(container, order) if "work" in order else _serving(container, order)
    _CALLS.crash_arm(ctypes.c_long(order["at"]))
    acknowledged, text = perform()
    calls = _CALLS.crash_counted()
    _CALLS.crash_arm(ctypes.c_long(-1))
    os.write(pipe, json.dumps({"acknowledged": acknowledged, "calls": calls, "text": text[:500]}).encode())
    os.kill(os.getpid(), signal.SIGKILL)


def _working(container: Container, order: dict[str, Any]) -> Callable[[], tuple[bool, str]]:
    def perform() -> tuple[bool, str]:
        PERFORMED[order["work"]](container, *order["ids"])
        return True, ""

    return perform


def _serving(container: Container, order: dict[str, Any]) -> Callable[[], tuple[bool, str]]:
    worker = dramatiq.Worker(container.broker, worker_threads=2)
    worker.start()
    client = TestClient(build_app(container))
    body = b64decode(order["body"]) if order["body"] else None
    of_request = {name: order[name] for name in ("method", "path", "json", "headers")}

    def perform() -> tuple[bool, str]:
        answer = client.simulate_request(**of_request, body=body)
        return answer.status_code < 300, answer.text

    return perform


if __name__ == "__main__":
    main()
