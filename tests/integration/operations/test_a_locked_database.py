"""The file of the embedded mode, locked by another program: changes end at the deadline, and reads go on."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from app.process.home import DATABASE
from tests.support.deployment import EmbeddedServer, read_assignments
from tests.support.exports import export, span
from tests.support.http_client import Answer
from tests.support.waiting import wait_until

DEADLINE_S = 1
# Far less than SQLite's own patience; a request has its deadline and a second more, the rest is for a busy machine.
IN_TIME_S = 10.0
CALLERS = 64
SETTINGS = {"REPRISE_REQUEST_S": str(DEADLINE_S), "REPRISE_INGEST_WAIT_S": str(DEADLINE_S)}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("locked"), SETTINGS) as server:
        yield server


@contextmanager
def locked(file: Path) -> Iterator[None]:
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")


def change(server: EmbeddedServer, number: int) -> tuple[Answer, float]:
    """Make a prompt, or store a batch; the answer, and the seconds that it took."""
    began, client = time.monotonic(), server.client()
    if number % 2:
        return client.post("/api/v1/prompts", {"name": f"Prompt {number}", "value": "x"}), time.monotonic() - began
    prompt_id = int(read_assignments(server.home / "dev.env")["PROMPT_ID"])
    body = export(span({"service.prompt.id": prompt_id}, traceId=secrets.token_hex(16)))
    headers = {"Content-Type": "application/json"}
    return client.post("/api/public/otel/v1/traces", body=body, headers=headers), time.monotonic() - began


@pytest.mark.parametrize("callers", [1, CALLERS])
def test_changes_end_at_their_deadline_and_are_made_when_the_lock_is_gone(server: EmbeddedServer, callers: int) -> None:
    with locked(server.home / DATABASE):
        with ThreadPoolExecutor(callers) as pool:
            answered = list(pool.map(lambda number: change(server, number), range(1, callers + 1)))
        assert {(answer.status, answer.headers["Retry-After"]) for answer, _ in answered} == {(503, "1")}
        assert max(took_s for _, took_s in answered) < IN_TIME_S
        assert server.client().get("/api/v1/prompts").status == 200
    for number in (0, 1):
        wait_until(lambda number=number: change(server, number)[0].status in (200, 201), "a change")  # type: ignore[misc]
