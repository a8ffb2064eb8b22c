"""A process that performs requests and may be killed in the middle of one: `python -m tests.crash.victim`.

The first line of its input has the settings, each further line a request and the call at which it dies. For each it
forks a process that serves as a whole instance does, and prints a line: whether the request was acknowledged, and how
many calls were counted. A process that was to die later dies after the acknowledgement.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import dramatiq
from falcon.testing import TestClient
from sqlalchemy import Connection

from app.models import sessions
from app.process.application import build_app
from app.process.bootstrap import bootstrap
from tests.support.world import settings_for

_CALLS = ctypes.CDLL(None)
_PUT = sessions.put
BETWEEN_HALVES = 60
"""Calls between the two halves of a torn batch, so that a sample of all calls has some of them."""


def main() -> None:
    chosen = json.loads(sys.stdin.readline())
    if chosen.pop("torn"):
        sessions.put = _put_after_commit
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


def _put_after_commit(connection: Connection, rows: Any, *, project_id: int) -> None:
    """A fault: commit the turns of a batch long before their sessions are stored."""
    connection.connection.commit()
    for _ in range(BETWEEN_HALVES):
        os.write(sys.stdout.fileno(), b"\0")
    _PUT(connection, rows, project_id=project_id)


def _perform(settings: Any, order: dict[str, Any], pipe: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    container = bootstrap(settings)
    worker = dramatiq.Worker(container.broker, worker_threads=2)
    worker.start()
    client = TestClient(build_app(container))
    body = b64decode(order["body"]) if order["body"] else None
    headers = order["headers"]
    _CALLS.crash_arm(ctypes.c_long(order["at"]))
    answer = client.simulate_request(order["method"], order["path"], json=order["json"], body=body, headers=headers)
    calls = _CALLS.crash_counted()
    _CALLS.crash_arm(ctypes.c_long(-1))
    acknowledged = answer.status_code < 300
    os.write(pipe, json.dumps({"acknowledged": acknowledged, "calls": calls, "text": answer.text[:500]}).encode())
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
