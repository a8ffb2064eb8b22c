"""The spans of a turn are stored in the row of one of them, whichever batches bring them, and removed together."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import delete, select, update
from sqlalchemy.exc import OperationalError

from app.database.engines import LOCK_WAIT_S
from app.models import removal
from app.models.compression import ZSTD_1
from app.models.removal import TurnScope
from app.models.row_rewriting import last_id
from app.models.span_bodies import IN_HOLDER, JOINED
from app.models.span_rewriting import join_rows, joinable_rows
from app.models.spans import spans, spans_by_key, spans_of
from app.services.data import compression
from tests.support.exports import export, span
from tests.support.readable import bodies_of
from tests.support.repeating import repeated
from tests.support.uncompressed import compress_all
from tests.support.world import World, new_world

pytestmark = pytest.mark.usefixtures("spans_together")


def turn(prompt_id: int, trace_id: str, count: int = 4, said: str = "hello ") -> list[dict[str, Any]]:
    """Return spans of a turn, in the order of their ids."""
    attributes = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat", "note": said * 20}
    return [span(attributes, traceId=trace_id, spanId=f"{number + 1:016x}") for number in range(count)]


def formats(world: World) -> list[bytes]:
    """Return the first bytes of the project's stored bodies, in the order of the spans' ids."""
    listed = select(spans.c.body).where(spans.c.project_id == world.project_id).order_by(spans.c.span_id)
    with world.container.database.read() as connection:
        return [body[:1] for body in connection.scalars(listed)]


def sent_again(world: World) -> list[dict[str, Any]]:
    """Return the spans that are stored as they were sent, in the order of their ids."""
    return [json.loads(body) for _, body in sorted(bodies_of(world, world.project_id).items())]


def test_the_spans_of_a_turn_lie_in_the_row_of_the_first(world: World) -> None:
    batch = turn(world.prompt(), secrets.token_hex(16))
    world.send(export(*batch))
    assert formats(world) == [JOINED, IN_HOLDER, IN_HOLDER, IN_HOLDER]
    assert sent_again(world) == batch


@pytest.mark.parametrize("known", [(0,), (0, 2), (1,), (3,), (0, 1, 2)])
def test_no_body_lies_in_the_row_of_a_span_that_was_stored_before(world: World, known: tuple[int, ...]) -> None:
    prompt_id, trace_id = world.prompt(), secrets.token_hex(16)
    first, second = turn(prompt_id, trace_id, said="first "), turn(prompt_id, trace_id, said="second ")
    world.send(export(*(first[number] for number in known)))
    world.send(export(*second))
    assert sent_again(world) == [first[n] if n in known else second[n] for n in range(4)]


def scopes(world: World, trace_id: str, prompt_id: int) -> list[str]:
    """Return the scopes of the spans of a turn, ordered by id, after comparing both ways to read them."""
    project_id, trace = world.project_id, bytes.fromhex(trace_id)
    with world.container.database.read() as connection:
        of_turn = spans_of(connection, project_id=project_id, prompt_id=prompt_id, trace_ids=[trace])
        found = {(one.trace_id, one.span_id): one.scope for one in of_turn}
        alone = {
            key: spans_by_key(connection, project_id=project_id, keys={key})[prompt_id, trace][0].scope for key in found
        }
    assert alone == found
    return [found[key] for key in sorted(found)]


@pytest.mark.parametrize("known", [(), (0,), (0, 2), (1,), (3,), (0, 1, 2)])
def test_spans_keep_their_scopes(world: World, known: tuple[int, ...]) -> None:
    """Whichever were stored before, with another scope, and when the command has joined all of them."""
    prompt_id, trace_id = world.prompt(), secrets.token_hex(16)
    batch, sent = turn(prompt_id, trace_id), ["agents", "", "agents", "models"]
    world.send(export(*(batch[number] for number in known), scope="before"))
    groups = [json.loads(export(one, scope=scope))["resourceSpans"] for one, scope in zip(batch, sent, strict=True)]
    world.send(json.dumps({"resourceSpans": [group for some in groups for group in some]}).encode())
    expected = ["before" if number in known else scope for number, scope in enumerate(sent)]
    assert scopes(world, trace_id, prompt_id) == expected

    compress_all(world.container, spans.c.body)
    assert formats(world) == [JOINED, IN_HOLDER, IN_HOLDER, IN_HOLDER]
    assert scopes(world, trace_id, prompt_id) == expected


def test_of_two_spans_of_a_batch_with_one_id_the_first_is_stored(world: World) -> None:
    prompt_id, trace_id = world.prompt(), secrets.token_hex(16)
    first, second = turn(prompt_id, trace_id, said="first "), turn(prompt_id, trace_id, said="second ")
    world.send(export(first[0], second[1], second[0], first[1]))
    assert sent_again(world) == [first[0], second[1]]


def test_a_span_is_read_without_the_others_of_its_turn(world: World) -> None:
    trace_id = secrets.token_hex(16)
    batch = turn(prompt_id := world.prompt(), trace_id)
    world.send(export(*batch))
    key = (bytes.fromhex(trace_id), bytes.fromhex(batch[2]["spanId"]))
    with world.container.database.read() as connection:
        found = spans_by_key(connection, project_id=world.project_id, keys={key})
    assert list(found) == [(prompt_id, key[0])]
    [[one]] = found.values()
    assert json.loads(one.raw) == batch[2]


def test_what_is_left_of_a_turn_while_it_is_removed_can_be_read(world: World) -> None:
    prompt_id = world.prompt()
    sent = [one for _ in range(2) for one in turn(prompt_id, secrets.token_hex(16), 3)]
    world.send(export(*sent))
    scope = TurnScope(world.project_id, before=world.container.now() + timedelta(days=1))
    left = []
    while world.count("turns"):
        with world.container.database.write() as connection:
            removal.remove_turns(connection, scope, limit=1)
        left.append(len(bodies_of(world, world.project_id)))
        world.get(f"/api/v1/prompts/{prompt_id}/logs")
    assert left[:6] == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("container", [pytest.param("services", marks=pytest.mark.services)], indirect=True)
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_bodies_do_not_move_into_rows_that_are_being_removed(
    world: World, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """The command runs between the choice of what is removed and its removal."""
    prompt_id, trace_id = world.prompt(), secrets.token_hex(16)
    for some in ((0,), (2, 3), (1,)):
        world.send(export(*(turn(prompt_id, trace_id)[number] for number in some)))
    remove, met = removal._delete_what_names, []

    def joined_before(*args: Any) -> None:
        database = world.container.database
        with database.read() as connection:
            listed = joinable_rows(connection, after_id=0, until_id=last_id(connection, spans))
            ids = [id_ for of_turn, _ in listed for id_ in of_turn]
        with database.write() as connection:
            connection.exec_driver_sql("SET innodb_lock_wait_timeout = 1")
            with pytest.raises(OperationalError, match="Lock wait timeout"):
                join_rows(connection, ids=ids)
            connection.exec_driver_sql(f"SET innodb_lock_wait_timeout = {LOCK_WAIT_S}")
        met.append(ids)
        remove(*args)

    monkeypatch.setattr(removal, "_delete_what_names", joined_before)
    scope = TurnScope(world.project_id, before=world.container.now() + timedelta(days=1))
    with world.container.database.write() as connection:
        removal.remove_turns(connection, scope, limit=limit)
    assert met
    assert len(bodies_of(world, world.project_id)) == 4 - limit


def test_of_two_prompts_with_one_trace_one_can_be_erased(world: World) -> None:
    first, second, trace_id = world.prompt(), world.prompt(), secrets.token_hex(16)
    ours, theirs = turn(first, trace_id, 4)[::2], turn(second, trace_id, 4)[1::2]
    world.send(export(*ours, *theirs))
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=first)
    assert sent_again(world) == theirs


@pytest.mark.parametrize("at_once", [1, 2, 3, None])
def test_the_command_joins_spans_that_are_looked_at_together(
    world: World, monkeypatch: pytest.MonkeyPatch, at_once: int | None
) -> None:
    """However the ids are divided, no body is lost, and a second time nothing changes."""
    if at_once:
        monkeypatch.setattr(compression, "SPANS_AT_ONCE", at_once)
    prompt_id, traces = world.prompt(), [secrets.token_hex(16), secrets.token_hex(16)]
    turns = [turn(prompt_id, trace_id, 6, said) for trace_id, said in zip(traces, ("first ", "second "), strict=True)]
    for some in ((0, 1, 2), (5,), (3, 4)):
        world.send(export(*(of_turn[number] for of_turn in turns for number in some)))
    other = new_world(world.container)
    other.send(export(*turn(other.prompt(), traces[0], 6, "theirs ")))
    before = bodies_of(world, world.project_id), bodies_of(other, other.project_id)
    assert list(map(len, before)) == [12, 6]

    compress_all(world.container, spans.c.body)
    joined = formats(world)
    compress_all(world.container, spans.c.body)

    assert formats(world) == joined
    assert (bodies_of(world, world.project_id), bodies_of(other, other.project_id)) == before
    if not at_once:
        assert joined.count(JOINED) == 2
        assert joined.count(IN_HOLDER) == 10


def test_a_turn_with_a_damaged_body_is_left_unchanged_and_others_are_joined(world: World) -> None:
    prompt_id, damaged, whole = world.prompt(), secrets.token_hex(16), secrets.token_hex(16)
    for one in (*turn(prompt_id, damaged, 2), *turn(prompt_id, whole, 2)):
        world.send(export(one))
    database, of_damaged = world.container.database, spans.c.trace_id == bytes.fromhex(damaged)
    with database.write() as connection:
        connection.execute(update(spans).where(of_damaged).values(body=ZSTD_1 + b"..."))
    try:
        compress_all(world.container, spans.c.body)
        assert sorted(formats(world)) == [ZSTD_1, ZSTD_1, JOINED, IN_HOLDER]
    finally:
        # Other tests look for words in all that is stored.
        with database.write() as connection:
            connection.execute(delete(spans).where(of_damaged))


def test_the_command_runs_while_others_send_and_read(world: World) -> None:
    """Whoever reads a turn meanwhile finds all spans of it that were acknowledged before, as they were sent."""
    prompt_id, traces = world.prompt(), [secrets.token_hex(16) for _ in range(4)]
    turns = [turn(prompt_id, trace_id, 12) for trace_id in traces]
    acknowledged: dict[str, int] = dict.fromkeys(traces, 0)

    def send(spans_of_turn: list[dict[str, Any]]) -> None:
        # Each batch has a span of the one before.
        for start in range(0, 12, 2):
            assert world.send(export(*spans_of_turn[max(start - 1, 0) : start + 2])).status_code == 200
            acknowledged[spans_of_turn[0]["traceId"]] = start + 2

    def look() -> None:
        before = dict(acknowledged)
        with world.container.database.read() as connection:
            found = spans_of(
                connection,
                project_id=world.project_id,
                prompt_id=prompt_id,
                trace_ids=[bytes.fromhex(trace_id) for trace_id in traces],
            )
            keys = {(one.trace_id, one.span_id) for one in found}
            by_key = spans_by_key(connection, project_id=world.project_id, keys=keys)
        count = Counter(one.trace_id.hex() for one in found)
        assert all(count[trace_id] >= before[trace_id] for trace_id in traces)
        assert sum(map(len, by_key.values())) == len(keys)

    join = partial(compress_all, world.container, spans.c.body)
    with repeated(join, look), ThreadPoolExecutor(len(turns)) as pool:
        list(pool.map(send, turns))

    compress_all(world.container, spans.c.body)
    expected = {(one["traceId"], one["spanId"]): one for of_turn in turns for one in of_turn}
    stored = bodies_of(world, world.project_id)
    assert {(trace.hex(), span.hex()): json.loads(body) for (trace, span), body in stored.items()} == expected
    assert Counter(formats(world)) == {JOINED: 4, IN_HOLDER: 44}


def test_spans_that_came_in_several_batches_are_joined_by_the_command(world: World) -> None:
    prompt_id, alone = world.prompt(), turn(world.prompt(), secrets.token_hex(16), 1)
    batch = turn(prompt_id, secrets.token_hex(16))
    for one in (*reversed(batch), *alone):
        world.send(export(one))
    assert formats(world) == [ZSTD_1] * 5
    before = world.get(f"/api/v1/prompts/{prompt_id}/logs").json

    compress_all(world.container, spans.c.body)
    joined = sorted(formats(world))
    compress_all(world.container, spans.c.body)

    assert joined == sorted(formats(world)) == [ZSTD_1, JOINED, IN_HOLDER, IN_HOLDER, IN_HOLDER]
    assert sorted(sent_again(world), key=json.dumps) == sorted([*batch, *alone], key=json.dumps)
    assert world.get(f"/api/v1/prompts/{prompt_id}/logs").json == before
