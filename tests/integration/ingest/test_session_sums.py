"""The sums kept with a session are those of its turns, whenever they came and whichever release stored them."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, update

from app.models import removal, session_log, sessions, turns
from app.models.removal import TurnScope
from app.models.sessions import SessionRow
from app.services.sessions import sums
from app.services.sessions.sums import ATTEMPTS, TurnBlocks
from app.sessions.facts import TurnFacts
from app.sessions.model_calls import calls_in
from app.sessions.sums import SessionSums, names_in
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.exports import export, span
from tests.support.statements import executed
from tests.support.sweeping import add_up_sessions
from tests.support.world import World

NOT_ADDED_UP: dict[str, Any] = {
    **dict.fromkeys(("turns", "tool_calls", "tool_errors", "input_tokens", "output_tokens", "duration_ns"), 0),
    **dict.fromkeys(("errors", "user_id", "names")),
}
LATER = {"tool_calls", "tool_errors", "tools", "failed_tools", "user", "calls", "edition"}


def chat(prompt_id: int, trace_id: str, **recorded: Any) -> dict[str, Any]:
    attributes = {
        "service.prompt.id": prompt_id,
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 7,
        "user.id": "ada",
    }
    return span(attributes | recorded, traceId=trace_id, spanId=secrets.token_hex(8))


def tool(prompt_id: int, trace_id: str, name: str, *, code: int = 0) -> dict[str, Any]:
    attributes = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    return span(attributes, traceId=trace_id, spanId=secrets.token_hex(8), status={"code": code})


def only_session(world: World, prompt_id: int) -> SessionRow:
    with world.container.database.read() as connection:
        [row] = session_log.list_sessions(connection, session_log.SessionRange(prompt_id), limit=10)
    return row


def recorded(world: World) -> int:
    """A prompt with a session of a turn that called a model and two tools, of which one failed."""
    prompt_id, trace_id = world.prompt(), secrets.token_hex(16)
    calls = [tool(prompt_id, trace_id, "search"), tool(prompt_id, trace_id, "pay", code=2)]
    assert world.send(export(chat(prompt_id, trace_id), *calls)).status_code == 200
    return prompt_id


def test_a_session_keeps_what_its_turn_did(world: World) -> None:
    row = only_session(world, recorded(world))

    assert row.sums == SessionSums(1, 1, 2, 1, 100, 7)
    assert (row.duration_ns, row.user_id) == (1_000_000_000, "ada")
    assert names_in(row.names or "", "tool") == ("pay", "search")
    assert names_in(row.names or "", "failed_tool") == ("pay",)
    assert names_in(row.names or "", "model") == ("gpt-4o",)


def test_a_conversation_that_goes_on_in_a_batch_that_begins_another_one_has_the_names_of_all_its_turns(
    world: World,
) -> None:
    prompt_id = world.prompt()

    def turn(conversation_id: str, tool_name: str) -> list[dict[str, Any]]:
        trace_id = secrets.token_hex(16)
        return [
            chat(prompt_id, trace_id, **{"gen_ai.conversation.id": conversation_id}),
            tool(prompt_id, trace_id, tool_name),
        ]

    world.send(export(*turn("one", "search")))
    world.send(export(*turn("one", "pay"), *turn("other", "ship")))

    with world.container.database.read() as connection:
        rows = session_log.list_sessions(connection, session_log.SessionRange(prompt_id), limit=10)
    tools = {row.conversation_id: names_in(row.names or "", "tool") for row in rows}
    assert tools == {"one": ("pay", "search"), "other": ("ship",)}


def test_a_turn_that_joins_a_conversation_later_moves_its_sums_to_it(world: World) -> None:
    prompt_id, (one, other) = world.prompt(), (secrets.token_hex(16), secrets.token_hex(16))
    world.send(export(chat(prompt_id, one), tool(prompt_id, other, "pay")))

    for trace_id in (one, other):
        world.send(export(chat(prompt_id, trace_id, **{"gen_ai.conversation.id": "c"})))

    row = only_session(world, prompt_id)
    assert row.sums == SessionSums(2, 0, 1, 0, 300, 21)
    assert names_in(row.names or "", "tool") == ("pay",)


def stored_before(world: World, prompt_id: int) -> None:
    """Change the rows of the prompt into the rows that an earlier release stored."""
    with world.container.database.write() as connection:
        connection.execute(
            update(sessions.sessions).where(sessions.sessions.c.prompt_id == prompt_id).values(NOT_ADDED_UP)
        )
        row = only_session(world, prompt_id)
        for turn in turns.list_turns(connection, project_id=row.project_id, session_keys=[row.session_key]):
            facts = {name: value for name, value in msgspec.json.decode(turn.facts).items() if name not in LATER}
            turns.replace(connection, [replace(turn, facts=msgspec.json.encode(facts))])


def test_the_clock_adds_up_what_an_earlier_release_stored(world: World) -> None:
    prompt_id = recorded(world)
    row = only_session(world, prompt_id)
    stored_before(world, prompt_id)
    assert only_session(world, prompt_id).sums == SessionSums(0, None)

    add_up_sessions(world)

    assert only_session(world, prompt_id) == row


def test_an_old_session_that_goes_on_before_it_was_added_up_counts_every_turn_once(world: World) -> None:
    prompt_id, trace_id = world.prompt(), secrets.token_hex(16)
    named = {"gen_ai.conversation.id": "c"}
    world.send(export(chat(prompt_id, trace_id, **named)))
    stored_before(world, prompt_id)

    world.send(export(chat(prompt_id, secrets.token_hex(16), **named), chat(prompt_id, trace_id, **named)))
    assert only_session(world, prompt_id).errors is None
    add_up_sessions(world)

    assert only_session(world, prompt_id).sums == SessionSums(2, 0, 0, 0, 300, 21)


def test_a_session_too_long_to_be_added_up_at_once_is_added_up_by_the_clock(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "TURNS_PER_QUERY", 2)
    prompt_id, moving = world.prompt(), secrets.token_hex(16)
    traces = [moving, *(secrets.token_hex(16) for _ in range(3))]
    world.send(export(*(chat(prompt_id, trace_id, **{"session.id": "many"}) for trace_id in traces)))

    world.send(export(chat(prompt_id, moving, **{"gen_ai.conversation.id": "alone"})))
    with world.container.database.read() as connection:
        listed = session_log.list_sessions(connection, session_log.SessionRange(prompt_id), limit=10)
    assert {row.conversation_id: row.errors for row in listed} == {"many": None, "alone": 0}
    add_up_sessions(world)

    with world.container.database.read() as connection:
        listed = session_log.list_sessions(connection, session_log.SessionRange(prompt_id), limit=10)
    assert {row.conversation_id: (row.turns, row.input_tokens) for row in listed} == {
        "many": (3, 300),
        "alone": (1, 200),
    }


def test_a_long_session_that_loses_turns_some_at_a_time_is_not_counted_each_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "TURNS_PER_QUERY", 4)
    monkeypatch.setattr(removal, "TURNS_PER_REMOVAL", 2)
    prompt_id = world.prompt()
    traces = [secrets.token_hex(16) for _ in range(10)]
    world.send(export(*(chat(prompt_id, trace_id, **{"session.id": "many"}) for trace_id in traces)))
    scope = TurnScope(world.project_id, session_key=only_session(world, prompt_id).session_key)

    with executed() as statements:
        for _ in range(4):
            world.container.database.retrying(partial(removal.remove_turns, scope=scope, limit=100))

    of_turns = [text for text in statements if "FROM turns" in text and "SELECT" in text]
    assert of_turns
    assert not [text for text in of_turns if "count(" in text or "max(" in text]
    # Only the rows to remove are read, and one start.
    assert not [text for text in of_turns if "facts" in text and "LIMIT" not in text and "turns.id IN" not in text]
    row = only_session(world, prompt_id)
    assert (row.errors, row.start_ns, row.user_id) == (None, row.last_ns - row.duration_ns, "ada")
    add_up_sessions(world)
    assert only_session(world, prompt_id).sums == SessionSums(2, 0, 0, 0, 200, 14)


def test_a_long_session_is_removed_with_its_last_turn(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "TURNS_PER_QUERY", 2)
    monkeypatch.setattr(removal, "TURNS_PER_REMOVAL", 2)
    prompt_id = world.prompt()
    world.send(export(*(chat(prompt_id, secrets.token_hex(16), **{"session.id": "many"}) for _ in range(5))))
    scope = TurnScope(world.project_id, session_key=only_session(world, prompt_id).session_key)

    for _ in range(3):
        world.container.database.retrying(partial(removal.remove_turns, scope=scope, limit=100))

    with world.container.database.read() as connection:
        assert session_log.list_sessions(connection, session_log.SessionRange(prompt_id), limit=10) == []


@EMBEDDED_CONTAINER
def test_a_step_of_the_removal_of_a_session_costs_the_same_whatever_its_length(world: World) -> None:
    prompt_id = world.prompt()
    world.send(export(*(chat(prompt_id, secrets.token_hex(16), **{"session.id": "many"}) for _ in range(10))))
    scope = TurnScope(world.project_id, session_key=only_session(world, prompt_id).session_key)

    with executed() as statements:
        world.container.database.retrying(partial(removal.remove_turns, scope=scope, limit=100))

    [locked] = [text for text in statements if "turns.id IN" in text and "turns.session_key \nFROM turns" in text]
    assert "+turns.session_key" in locked


@dataclass
class Sweep:
    """A session of `TURNS` turns that the clock has to add up, and the turns that it reads: all, and under the lock."""

    prompt_id: int
    traces: list[str]
    read: int = 0
    locked: int = 0
    between: Callable[[], object] = int

    def add(self, world: World, count: int) -> None:
        """Send a further model call of each of the first turns."""
        called = [chat(self.prompt_id, trace_id, **{"session.id": "many"}) for trace_id in self.traces[:count]]
        assert world.send(export(*called)).status_code == 200


TURNS = 40


@pytest.fixture
def sweep(world: World, monkeypatch: pytest.MonkeyPatch) -> Sweep:
    monkeypatch.setattr(sessions, "TURNS_PER_QUERY", 10)
    monkeypatch.setattr(sums, "CHANGED_MAX", 10)
    prompt_id, moving = world.prompt(), secrets.token_hex(16)
    traces = [secrets.token_hex(16) for _ in range(TURNS)]
    world.send(export(*(chat(prompt_id, trace_id, **{"session.id": "many"}) for trace_id in (*traces, moving))))
    world.send(export(chat(prompt_id, moving, **{"gen_ai.conversation.id": "other"})))
    sweep, load, update_blocks, loaded = Sweep(prompt_id, traces), sums.load, TurnBlocks.update, itertools.count()

    def counted(facts: bytes) -> TurnFacts:
        next(loaded)
        return load(facts)

    def updated(blocks: TurnBlocks, connection: Connection, most: int | None = None) -> bool:
        before = next(loaded)
        is_read = update_blocks(blocks, connection, most)
        if blocks.project_id == world.project_id:
            read = next(loaded) - before - 1
            sweep.read += read
            if most is None:
                sweep.between()
            else:
                sweep.locked += read
        return is_read

    monkeypatch.setattr(sums, "load", counted)
    monkeypatch.setattr(TurnBlocks, "update", updated)
    return sweep


def many(world: World, sweep: Sweep) -> SessionRow:
    with world.container.database.read() as connection:
        rows = session_log.list_sessions(connection, session_log.SessionRange(sweep.prompt_id), limit=10)
    return next(row for row in rows if row.conversation_id == "many")


def test_the_clock_reads_the_turns_of_a_long_session_once_and_before_it_locks_the_session(
    world: World, sweep: Sweep
) -> None:
    assert many(world, sweep).errors is None

    add_up_sessions(world)

    row = many(world, sweep)
    assert row.sums == SessionSums(TURNS, 0, 0, 0, 100 * TURNS, 7 * TURNS)
    assert (row.user_id, names_in(row.names or "", "model")) == ("ada", ("gpt-4o",))
    assert calls_in(row.calls or b"").usage.input_tokens == 100 * TURNS
    assert (sweep.read, sweep.locked) == (TURNS, 0)


def test_a_session_that_changes_whenever_the_clock_has_read_it_is_added_up(world: World, sweep: Sweep) -> None:
    sweep.between = partial(sweep.add, world, 1)

    add_up_sessions(world)

    # The second update reads the changed block again, and the lock the block that has changed since.
    row = many(world, sweep)
    assert row.sums == SessionSums(TURNS, 0, 0, 0, 100 * TURNS + 200, 7 * TURNS + 14)
    assert 0 < sweep.locked <= 10
    assert sweep.read <= TURNS + 2 * 10


def test_a_session_of_which_many_turns_change_meanwhile_is_added_up_when_fewer_do(world: World, sweep: Sweep) -> None:
    sweep.between = partial(sweep.add, world, 20)
    add_up_sessions(world)
    assert (many(world, sweep).errors, sweep.locked) == (None, 0)

    sweep.between = int
    add_up_sessions(world)

    calls = TURNS + 20 * (1 + ATTEMPTS)
    assert many(world, sweep).sums == SessionSums(TURNS, 0, 0, 0, 100 * calls, 7 * calls)
    assert sweep.locked == 0


def test_a_long_session_rests_after_it_was_added_up(
    world: World, sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums, "LONG_TURNS", 10)
    now, service = [0.0], world.container.services.session_sums
    monkeypatch.setattr(service, "monotonic", lambda: now[0])

    def wait() -> None:
        now[0] += 0.5

    def sums_at(time: float) -> SessionSums:
        now[0] = time
        service.sweep()
        return many(world, sweep).sums

    # The session is read for a second: it has two updates.
    sweep.between = wait
    assert sums_at(0).turns == TURNS
    with world.container.database.write() as connection:
        of_prompt = sessions.sessions.c.prompt_id == sweep.prompt_id
        connection.execute(update(sessions.sessions).where(of_prompt).values(NOT_ADDED_UP))

    assert sums_at(20).errors is None
    assert sums_at(21.5).turns == TURNS
