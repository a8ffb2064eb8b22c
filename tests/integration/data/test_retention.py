"""Rows are removed when their time is over, and no other rows with them."""

from __future__ import annotations

import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from app.database.transactions import LockConflict
from app.models import removal
from app.models.removal import TurnScope
from tests.integration.data.conftest import Days, counts, keep
from tests.integration.test_search import found, index, say, stored_words
from tests.support.conversations import export as conversation
from tests.support.exports import export, span
from tests.support.full_project import TURNS, everything
from tests.support.world import World, new_world


def traces(prompt_id: int, *trace_ids: str, spans: int = 2) -> bytes:
    return export(
        *(
            span(
                {"service.prompt.id": prompt_id, "gen_ai.conversation.id": "c"},
                traceId=trace_id,
                spanId=f"{n + 1:016x}",
            )
            for trace_id in trace_ids
            for n in range(spans)
        )
    )


def new_traces(count: int) -> list[str]:
    return [secrets.token_hex(16) for _ in range(count)]


@pytest.mark.parametrize(
    ("policy", "gone"),
    [
        ({"spans_days": 30}, {"spans", "turns", "sessions", "findings"}),
        ({"runs_days": 30}, {"runs"}),
        ({"replays_days": 30}, {"replays", "calibrations"}),
        ({"rejected_days": 30}, {"rejected_spans"}),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_each_kind_goes_when_its_days_are_over_and_no_other(
    world: World, days: Days, policy: dict[str, int], gone: set[str]
) -> None:
    everything(world)
    world.send(export(span({"service.prompt.id": 2**62})))
    before = counts(world)
    assert 0 not in before.values()
    keep(world, **policy)

    days.pass_by(29)
    assert counts(world) == before
    days.pass_by(31)
    assert {table for table, left in counts(world).items() if left == 0} == gone
    assert {table: left for table, left in counts(world).items() if left} == {
        table: count for table, count in before.items() if table not in gone
    }


def test_without_a_policy_everything_stays(world: World, days: Days) -> None:
    everything(world)
    before = counts(world)
    days.pass_by(100_000)
    assert counts(world) == before


def test_another_project_keeps_what_it_keeps(world: World, days: Days) -> None:
    other = new_world(world.container)
    for each in (world, other):
        everything(each)
    keep(world, spans_days=1, runs_days=1, replays_days=1, rejected_days=1)
    before = counts(other)
    days.pass_by(2)
    assert counts(other) == before
    assert counts(world)["spans"] == 0


def test_a_test_case_keeps_its_copy_of_a_session_that_is_gone(world: World, days: Days) -> None:
    made = everything(world)
    keep(world, spans_days=1)
    days.pass_by(2)
    assert world.get(f"/api/v1/sessions/{made['session_id']}").status_code == 404
    case = world.get(f"/api/v1/test-cases/{made['test_case_id']}").json
    assert case["turns"][0]["user"] == TURNS[0].user
    assert world.post(f"/api/v1/test-cases/{made['test_case_id']}/replays", json={}).status_code == 202


def test_a_turn_counts_from_its_last_span_and_a_session_shrinks_to_what_is_left(world: World, days: Days) -> None:
    prompt_id = world.prompt()
    old, touched = new_traces(2)
    world.send(traces(prompt_id, old, touched))
    aged(world, timedelta(days=20))
    world.send(traces(prompt_id, touched, spans=3))
    keep(world, spans_days=10)

    days.pass_by(0)

    assert (world.count("spans"), world.count("turns"), world.count("sessions")) == (3, 1, 1)


def test_the_words_of_old_turns_leave_the_index_and_those_of_others_stay(world: World, days: Days) -> None:
    prompt_id = world.prompt()
    say(world, prompt_id, "an ancient secret")
    aged(world, timedelta(days=20))
    say(world, prompt_id, "a recent remark")
    index(world)
    assert {"ancient", "secret", "recent"} <= stored_words(world)
    keep(world, spans_days=10)

    days.pass_by(0)
    assert (found(world, "ancient"), found(world, "recent")) == ([], ["a recent remark"])
    index(world)

    assert ({"ancient", "secret"} & stored_words(world), "recent" in stored_words(world)) == (set(), True)


def test_a_trace_of_two_prompts_loses_only_the_part_of_the_old_one(world: World, days: Days) -> None:
    one, two = world.prompt(), world.prompt()
    shared, other = new_traces(2)
    world.send(traces(one, shared))
    aged(world, timedelta(days=20))
    world.send(export(span({"service.prompt.id": two}, traceId=shared, spanId="f" * 16)))
    world.send(traces(two, other))
    keep(world, spans_days=10)

    days.pass_by(0)

    assert world.count("spans") == 3
    assert world.get(f"/api/v1/prompts/{one}/logs").json["entries"] == []


def test_what_is_in_work_stays(world: World, days: Days) -> None:
    everything(world)
    with world.container.database.write() as connection:
        for table in ("runs", "replays"):
            connection.exec_driver_sql(f"UPDATE {table} SET status = 'queued' WHERE project_id = {world.project_id}")
    keep(world, runs_days=1, replays_days=1)
    before = counts(world)
    days.pass_by(30)
    assert counts(world) == before
    with world.container.database.write() as connection:
        for table in ("runs", "replays"):
            connection.exec_driver_sql(f"UPDATE {table} SET status = 'done' WHERE project_id = {world.project_id}")


def test_spans_that_arrive_for_turns_being_removed_leave_whole_sessions(world: World) -> None:
    """Removal and ingest of the same traces at once: every session is what the spans that are left make of it."""
    prompt_id = world.prompt()
    ids = new_traces(20)
    stop = threading.Event()

    def remove() -> None:
        database, before = world.container.database, world.container.now() + timedelta(days=1)
        scope = TurnScope(world.project_id, before=before)
        while not stop.is_set():
            # MySQL may choose it as the victim again and again, and the clock would try later.
            with suppress(LockConflict):
                database.retrying(lambda connection: removal.remove_turns(connection, scope, limit=5))

    def send(place: int) -> list[int]:
        return [world.send(traces(prompt_id, *ids[place::2], spans=n + 1)).status_code for n in range(10)]

    with ThreadPoolExecutor(3) as pool:
        removing = pool.submit(remove)
        statuses = [status for sent in pool.map(send, (0, 1)) for status in sent]
        stop.set()
        removing.result()

    assert set(statuses) == {200}
    with world.container.database.read() as connection:
        orphans = connection.exec_driver_sql(
            "SELECT COUNT(*) FROM spans s WHERE NOT EXISTS"
            " (SELECT 1 FROM turns t WHERE t.prompt_id = s.prompt_id AND t.trace_id = s.trace_id)"
            f" AND s.project_id = {world.project_id}"
        ).scalar_one()
    shown = [
        len(turn["spans"])
        for entry in world.get(f"/api/v1/prompts/{prompt_id}/logs?include=all").json["entries"]
        for turn in world.get(f"/api/v1/sessions/{entry['id']}").json["turns"]
    ]
    assert orphans == 0
    assert sum(shown) == world.count("spans")
    assert bool(world.count("turns")) == bool(world.count("sessions"))


@pytest.mark.usefixtures("no_policies_of_others")
def test_the_clock_stops_in_time_and_goes_on_where_it_stopped(world: World) -> None:
    from app.services.data.removal import RetentionService
    from app.work.remover import Remover

    world.send(conversation(world.prompt(), "c", TURNS, start_ns=1_760_000_000_000_000_000))
    keep(world, spans_days=1)
    aged(world, timedelta(days=2))
    database = world.container.database
    ticks = iter(range(1000))
    hurried = RetentionService(
        database=database,
        now=world.container.now,
        remover=Remover(database=database, at_once=1, pause_s=0, monotonic=lambda: next(ticks)),
        budget_s=1,
    )
    before = world.count("spans")
    hurried.apply()
    assert 0 < world.count("spans") < before
    while hurried.apply():
        pass
    assert counts(world)["spans"] == counts(world)["sessions"] == 0


@pytest.mark.usefixtures("no_policies_of_others")
def test_a_clock_that_jumps_ahead_removes_nothing_early(world: World) -> None:
    world.send(conversation(world.prompt(), "c", TURNS, start_ns=1_760_000_000_000_000_000))
    keep(world, spans_days=1)
    ahead = replace(world.container.services.retention, now=lambda: world.container.now() + timedelta(days=2))
    before = world.count("spans")

    ahead.apply()

    assert world.count("spans") == before > 0


def aged(world: World, by: timedelta) -> None:
    """Make the project's turns and spans so much older than they are."""
    milliseconds = int(by.total_seconds() * 1000)
    with world.container.database.write() as connection:
        for table in ("spans", "turns"):
            connection.exec_driver_sql(
                f"UPDATE {table} SET batch_id = batch_id - {milliseconds << 21} WHERE project_id = {world.project_id}"
            )
