"""Rows that break a rule are found by the clock and by `reprise doctor --deep`, and no others."""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import (
    Column,
    ColumnElement,
    Delete,
    Table,
    Text,
    Update,
    delete,
    func,
    insert,
    literal,
    select,
    text,
    type_coerce,
    update,
)
from structlog.testing import capture_logs

from app.database.engines import build_engine
from app.database.transactions import Database
from app.metrics.registry import INVARIANT_VIOLATIONS
from app.models import invariants
from app.models.cases import test_cases
from app.models.compression import MARK, ZSTD_1, Compressed, compress, decompress_text, raw_of
from app.models.experiments import experiments
from app.models.invariants import RowRef, broken_of
from app.models.judge_audits import judge_audits
from app.models.log_records import log_records
from app.models.prompt_versions import prompt_versions
from app.models.prompts import prompts
from app.models.replays import replays
from app.models.runs import runs
from app.models.sessions import sessions
from app.models.spans import spans
from app.models.turns import turns
from app.models.usage import usage_daily
from app.services.data.invariants import RULES, InvariantService
from tests.support.command_line import reprise
from tests.support.conversations import export as conversation
from tests.support.deployment import EmbeddedServer
from tests.support.full_project import TURNS, everything
from tests.support.world import World

Made = dict[str, Any]
Plant = Callable[[World, Made], Update | Delete | None]
"""Plants a fault; returns the statement that undoes it where other tests could not read the row."""
BEGAN_NS = 1_760_000_000_000_000_000


def broken(world: World) -> dict[str, set[int]]:
    """Return the project's rows that break a rule, by its name."""
    now = world.container.now()
    with world.container.database.read() as connection:
        names = {
            rule.name: broken_of(rule, connection, world.project_id, ids_of(world, rule.table), now) for rule in RULES
        }
    return {name: ids for name, ids in names.items() if ids}


def ids_of(world: World, table: Table) -> list[int]:
    column = table.c.id if table.name == "projects" else table.c.project_id
    with world.container.database.read() as connection:
        return list(connection.scalars(select(table.c.id).where(column == world.project_id).order_by(table.c.id)))


def write(world: World, statement: Any) -> None:
    with world.container.database.write() as connection:
        connection.execute(statement)


def a_wrong_sum(world: World, made: Made) -> None:
    write(world, update(sessions).where(sessions.c.project_id == world.project_id).values(tool_calls=7))


def a_wrong_time(world: World, made: Made) -> None:
    write(world, update(sessions).where(sessions.c.project_id == world.project_id).values(last_ns=7))


def a_lost_span(world: World, made: Made) -> None:
    with world.container.database.write() as connection:
        first = connection.scalar(select(spans.c.id).where(spans.c.project_id == world.project_id).limit(1))
        connection.execute(delete(spans).where(spans.c.id == first))


def a_lost_turn(world: World, made: Made) -> None:
    write(world, delete(turns).where(turns.c.project_id == world.project_id))


def a_lost_version(world: World, made: Made) -> None:
    write(world, delete(prompt_versions).where(prompt_versions.c.prompt_id == made["prompt_id"]))


def a_prompt_erased_in_part(world: World, made: Made) -> None:
    long_ago = world.container.now() - timedelta(days=3)
    write(world, update(prompts).where(prompts.c.id == made["prompt_id"]).values(erased_at=long_ago))


def a_silent_worker(table: Table, id_name: str) -> Plant:
    def plant(world: World, made: Made) -> None:
        long_ago = world.container.now() - timedelta(hours=1)
        in_work = {"status": "running", "claim": "a worker", "alive_at": long_ago, "finished_at": None}
        write(world, update(table).where(table.c.id == made[id_name]).values(in_work))

    return plant


def an_open_replay(world: World, made: Made) -> None:
    """The experiment has ended, and one of its replays waits again."""
    linked = text("SELECT replay_id FROM experiment_replays WHERE experiment_id = :id LIMIT 1")
    with world.container.database.write() as connection:
        replay_id = connection.scalar(linked, {"id": made["experiment_id"]})
        connection.execute(update(replays).where(replays.c.id == replay_id).values(status="queued"))
        ended = update(experiments).where(experiments.c.id == made["experiment_id"])
        connection.execute(ended.values(status="finished"))


def two_days_ago(world: World) -> datetime:
    return (world.container.now() - timedelta(days=2)).replace(hour=12)


def a_run_that_was_not_counted(world: World, made: Made) -> None:
    """The run is of a day that has no usage."""
    then = two_days_ago(world)
    write(world, update(runs).where(runs.c.project_id == world.project_id).values(created_at=then, finished_at=then))


def with_a_flipped_bit(body: bytes) -> bytes:
    """Return the compressed form of a body with one bit changed behind the frame's header."""
    damaged = bytearray(compress(body + b" " * 1000))
    assert damaged[:1] == ZSTD_1
    chosen = random.Random(bytes(damaged))
    damaged[chosen.randrange(10, len(damaged))] ^= 1 << chosen.randrange(8)
    return bytes(damaged)


def with_another_text(world: World, column: Column[Any], of_row: ColumnElement[bool], text_: Any) -> Update:
    """Store another text unchanged; returns the statement that stores the earlier text again."""
    with world.container.database.read() as connection:
        before = connection.scalar(select(type_coerce(column, Text)).where(of_row))
    write(world, update(column.table).where(of_row).values({column: literal(text_, Text())}))
    return update(column.table).where(of_row).values({column: literal(before, Text())})


def a_damaged_body(column: Column[Any], id_name: str) -> Plant:
    """Damage a text that is stored compressed, as a disk may."""

    def plant(world: World, made: Made) -> Update:
        of_row = column.table.c.id == made[id_name]
        with world.container.database.read() as connection:
            stored = connection.scalar(select(raw_of(column)).where(of_row))
        assert stored
        damaged = MARK + b64encode(with_a_flipped_bit(decompress_text(stored).encode())).decode()
        return with_another_text(world, column, of_row, damaged)

    return plant


def a_damaged_text(column: Column[Any], id_name: str, *, key: str = "id") -> Plant:
    """Replace the first character of a text that is stored uncompressed."""

    def plant(world: World, made: Made) -> Update:
        of_row = column.table.c[key] == made[id_name]
        with world.container.database.read() as connection:
            stored = connection.scalar(select(type_coerce(column, Text)).where(of_row))
        assert stored
        return with_another_text(world, column, of_row, "#" + stored[1:])

    return plant


def a_damaged_log_record(world: World, _made: Made) -> Delete:
    ids = {"trace_id": b"t" * 16, "span_id": b"s" * 8, "digest": b"d" * 16}
    body = with_a_flipped_bit(b'{"body": "a record"}')
    write(world, insert(log_records).values(project_id=world.project_id, time_ns=0, body=body, **ids))
    return delete(log_records).where(log_records.c.project_id == world.project_id)


PLANTED: dict[str, tuple[str, Plant]] = {
    "a wrong sum": ("session sums", a_wrong_sum),
    "a wrong time": ("session sums", a_wrong_time),
    "a lost turn": ("session sums", a_lost_turn),
    "a lost span": ("turn spans", a_lost_span),
    "a lost version": ("labels", a_lost_version),
    "a prompt that was erased in part": ("erased prompts", a_prompt_erased_in_part),
    "a run of a silent worker": ("runs in work", a_silent_worker(runs, "run_id")),
    "a replay of a silent worker": ("replays in work", a_silent_worker(replays, "replay_id")),
    "an audit of a silent worker": ("judge_audits in work", a_silent_worker(judge_audits, "audit_id")),
    "a replay of an experiment that has ended": ("replays of experiments", an_open_replay),
    "a run that was not counted": ("usage", a_run_that_was_not_counted),
    "a damaged run": ("contents of runs", a_damaged_body(runs.c.request, "run_id")),
    "a damaged replay": ("contents of replays", a_damaged_body(replays.c.result, "replay_id")),
    "a damaged log record": ("contents of log_records", a_damaged_log_record),
    "a damaged test case": ("contents of test_cases", a_damaged_text(test_cases.c.document, "test_case_id")),
    "a damaged draft": ("contents of prompts", a_damaged_text(prompts.c.config, "prompt_id")),
    "a damaged experiment": ("contents of experiments", a_damaged_text(experiments.c.design, "experiment_id")),
    "a damaged audit": ("contents of judge_audits", a_damaged_text(judge_audits.c.basis, "audit_id")),
    "a damaged version": ("versions", a_damaged_text(prompt_versions.c.value, "prompt_id", key="prompt_id")),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_fault_is_found(world: World, planted: str) -> None:
    made = everything(world)
    name, plant = PLANTED[planted]
    assert broken(world) == {}

    undo = plant(world, made)
    found = broken(world)
    if undo is not None:
        write(world, undo)

    # A lost turn has no spans, and the replay is a part of an experiment that has ended.
    assert {name} <= set(found) <= {name, "turn spans", "replays of experiments"}


def test_runs_that_were_counted_break_no_rule(world: World) -> None:
    a_run_that_was_not_counted(world, everything(world))
    day = two_days_ago(world).date()
    write(world, update(usage_daily).where(usage_daily.c.project_id == world.project_id).values(day=day))

    assert broken(world) == {}


def put_body(world: World, id_: int, body: bytes) -> None:
    statement = text("UPDATE spans SET body = :body WHERE project_id = :project AND id = :id")
    write(world, statement.bindparams(body=body, project=world.project_id, id=id_))


def test_a_span_with_a_flipped_bit_is_noticed_and_the_others_are_not_blamed(world: World) -> None:
    prompt_id = world.prompt()
    for number in range(3):
        long = [replace(turn, user=turn.user * 50) for turn in TURNS]
        world.send(conversation(prompt_id, f"c-{number}", long, start_ns=BEGAN_NS + number))
    raw = type_coerce(spans.c.body, Compressed.raw)
    with world.container.database.read() as connection:
        held = select(spans.c.id, spans.c.trace_id, raw).where(spans.c.project_id == world.project_id)
        id_, trace_id, body = max(connection.execute(held).all(), key=lambda row: len(row[2]))
        of_trace = turns.c.project_id == world.project_id, turns.c.trace_id == trace_id
        turn_id = connection.scalar(select(turns.c.id).where(*of_trace))
    random.seed(id_)
    damaged = bytearray(body)
    damaged[random.randrange(20, len(body))] ^= 1 << random.randrange(8)

    put_body(world, id_, bytes(damaged))
    try:
        assert broken(world) == {"span bodies": {turn_id}}
    finally:
        # Other tests read the spans of all projects.
        put_body(world, id_, body)


@pytest.fixture
def watch(world: World, monkeypatch: pytest.MonkeyPatch) -> InvariantService:
    """A watch over the rows of one project: other tests leave broken rows behind."""

    def row_refs(rule: Any, _connection: Any, *, after: int, limit: int) -> list[RowRef]:
        ids = [id_ for id_ in ids_of(world, rule.table) if id_ > after][:limit]
        return [RowRef(world.project_id, id_) for id_ in ids]

    monkeypatch.setattr(invariants.Invariant, "row_refs", row_refs)
    container = world.container
    return InvariantService(database=container.database, metrics=container.metrics, now=container.now)


def test_a_row_is_reported_at_the_second_look(world: World, watch: InvariantService) -> None:
    made = everything(world)
    a_wrong_sum(world, made)

    with capture_logs() as first:
        watch.sweep()
    with capture_logs() as second:
        watch.sweep()

    reported = [entry for entry in second if entry["event"] == "invariant_violated"]
    assert "invariant_violated" not in [entry["event"] for entry in first]
    assert {(entry["rule"], entry["project_id"]) for entry in reported} == {("session sums", world.project_id)}
    assert {entry["id"] for entry in reported} == set(ids_of(world, sessions))


def test_a_row_that_was_in_the_middle_of_a_change_is_not_reported(world: World, watch: InvariantService) -> None:
    made = everything(world)
    a_wrong_sum(world, made)
    watch.sweep()
    write(world, update(sessions).where(sessions.c.project_id == world.project_id).values(tool_calls=0))

    with capture_logs() as logs:
        watch.sweep()

    assert [entry for entry in logs if entry["event"] == "invariant_violated"] == []


def test_sweeps_examine_every_row_in_turn(
    world: World, watch: InvariantService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.data.invariants.ROWS_AT_ONCE", 2)
    prompt_id = world.prompt()
    for number in range(5):
        world.send(conversation(prompt_id, f"c-{number}", TURNS, start_ns=BEGAN_NS + number))
    a_wrong_sum(world, {})

    with capture_logs() as logs:
        for _ in range(4):
            watch.sweep()

    assert {entry["id"] for entry in logs if entry["event"] == "invariant_violated"} == set(ids_of(world, sessions))


def test_violations_are_counted_in_the_metrics(world: World, watch: InvariantService) -> None:
    a_wrong_sum(world, everything(world))
    counted: list[tuple[Any, ...]] = []
    metrics = type("Counting", (), {"count": lambda self, *labels, by=1: counted.append((*labels, by))})()
    counting = replace(watch, metrics=metrics)

    counting.sweep()
    counting.sweep()

    (labels,) = [labels for labels in counted if labels[0] is INVARIANT_VIOLATIONS]
    assert labels[1:] == ("session sums", len(ids_of(world, sessions)))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path) as running:
        yield running


def test_the_doctor_names_broken_rows_with_a_remedy_while_the_service_runs(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    client = server.client()
    prompt_id = client.post("/api/v1/prompts", {"name": "A", "value": "B"}).json()["prompt"]["id"]
    sent = client.post(
        "/api/public/otel/v1/traces",
        body=conversation(prompt_id, "c", TURNS, start_ns=BEGAN_NS),
        headers={"Content-Type": "application/json"},
    )
    assert sent.status == 200
    healthy = reprise(client, tmp_path, "doctor", "--deep")
    assert healthy.returncode == 0, healthy.stdout
    assert "ok\tsession sums\t" in healthy.stdout

    database = Database(build_engine(f"sqlite:///{tmp_path}/reprise.db"))
    with database.write() as connection:
        session_id = connection.scalar(select(func.max(sessions.c.id)))
        connection.execute(update(sessions).where(sessions.c.id == session_id).values(tool_calls=7))
    database.engine.dispose()

    ill = reprise(client, tmp_path, "doctor", "--deep")
    assert ill.returncode == 1
    assert f"PROBLEM\tsession sums\tsessions {session_id}: not as it must be." in ill.stdout
