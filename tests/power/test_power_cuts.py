"""A power cut loses nothing that was acknowledged: only synced writes are on the disk, and a part of the others."""

from __future__ import annotations

import random
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from app.process.home import DATABASE
from tests.support import written
from tests.support.command_line import reprise
from tests.support.deployment import EmbeddedServer
from tests.support.exports import export, span
from tests.support.written import Record, Recorder

TRACES = "/api/public/otel/v1/traces"
CUTS, CUTS_WITH_SERVER = 60, 2
CHANGES, SPANS = 40, 5

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(written.missing()), reason=str(written.missing())),
]


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    """The writes of an embedded server that stores batches and commits versions."""
    folder = tmp_path_factory.mktemp("power")
    recorder = Recorder(folder / "home", folder)
    server = EmbeddedServer(folder / "home", recorder.environment)
    recorder.begin()
    with server:
        client = server.client()
        made = client.post("/api/v1/prompts", {"name": "A", "value": "0"})
        prompt_id = made.json()["prompt"]["id"]
        path = f"/api/v1/prompts/{prompt_id}"
        for _ in range(CHANGES):
            trace = secrets.token_hex(16)
            stored = client.post(TRACES, body=batch_of(trace, prompt_id), headers={"Content-Type": "application/json"})
            assert stored.status == 200
            recorder.note(f"trace {trace}")
            message = secrets.token_hex(8)
            assert client.patch(path, {"value": message}).status == 200
            assert client.post(f"{path}/commit", {"message": message}).status == 201
            recorder.note(f"commit {message}")
    return recorder


def batch_of(trace: str, prompt_id: int) -> bytes:
    attributes = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat", "gen_ai.conversation.id": trace}
    return export(*(span(attributes, traceId=trace, spanId=f"{n + 1:016x}") for n in range(SPANS)))


def wrong_after(home: Path, acknowledged: set[str], sent: set[str]) -> Iterator[str]:
    """Yield what is wrong with the database in a folder."""
    try:
        yield from _wrong_rows(home / DATABASE, acknowledged, sent)
    except sqlite3.DatabaseError as error:
        yield str(error)


def _wrong_rows(database: Path, acknowledged: set[str], sent: set[str]) -> Iterator[str]:
    with closing(sqlite3.connect(database)) as connection:
        [state] = connection.execute("PRAGMA integrity_check").fetchone()
        spans = dict(connection.execute("SELECT lower(hex(trace_id)), COUNT(*) FROM spans GROUP BY 1"))
        turns = {trace for (trace,) in connection.execute("SELECT lower(hex(trace_id)) FROM turns")}
        messages = {message for (message,) in connection.execute("SELECT message FROM prompt_versions")}
    if state != "ok":
        yield str(state)
    # The demo project has other traces.
    ours = {trace: count for trace, count in spans.items() if trace in sent}
    if set(spans) != turns or set(ours.values()) - {SPANS}:
        yield "a batch is torn"
    stored = {f"trace {trace}" for trace in spans} | {f"commit {message}" for message in messages}
    yield from (f"lost {change}" for change in acknowledged - stored)


def traces_of(records: Sequence[Record]) -> set[str]:
    """Return the traces that were sent."""
    notes = (record.data.decode() for record in records if record.kind == "N")
    return {note.removeprefix("trace ") for note in notes if note.startswith("trace ")}


def cuts(recorder: Recorder, records: Sequence[Record], count: int, target: Path) -> Iterator[tuple[Path, set[str]]]:
    """Yield folders as power cuts at random moments leave them, with the notes until then."""
    for seed in range(count):
        chooser = random.Random(seed)
        folder = target / str(seed)
        yield folder, recorder.cut(records[: chooser.randrange(len(records))], chooser, folder)


def test_what_was_acknowledged_is_there_after_a_power_cut(recorder: Recorder, tmp_path: Path) -> None:
    records, most = list(recorder.records()), 0
    for home, acknowledged in cuts(recorder, records, CUTS, tmp_path):
        assert list(wrong_after(home, acknowledged, traces_of(records))) == [], home
        most = max(most, len(acknowledged))
    assert most > CHANGES


def test_the_server_starts_after_a_power_cut_and_the_doctor_finds_nothing(recorder: Recorder, tmp_path: Path) -> None:
    for home, _ in cuts(recorder, list(recorder.records()), CUTS_WITH_SERVER, tmp_path):
        with EmbeddedServer(home) as server:
            examined = reprise(server.client(), home, "doctor", "--deep")
            assert examined.returncode == 0, examined.stdout


def test_a_database_that_does_not_sync_is_noticed(recorder: Recorder, tmp_path: Path) -> None:
    unsynced = [record for record in recorder.records() if record.kind != "S"]

    assert any(
        list(wrong_after(home, acknowledged, traces_of(unsynced)))
        for home, acknowledged in cuts(recorder, unsynced, CUTS, tmp_path)
    )
