"""The spans of conversations are packed into blocks, in which they are read, removed and continued as before."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Connection, delete, func, select, update

from app.models import removal, span_blocks, span_packing, spans
from app.models.compression import ZSTD_1, ZSTD_2, raw_of
from app.models.compression import decompress as plain
from app.models.invariants import INVARIANTS, broken_of
from app.models.removal import TurnScope
from app.models.span_bodies import IN_BLOCK, IN_HOLDER, JOINED
from app.models.turns import turns
from app.services.data import packing
from tests.integration.test_search import found, index
from tests.support.exports import export, span
from tests.support.readable import bodies_of, readable
from tests.support.repeating import repeated
from tests.support.uncompressed import compress_all, pack
from tests.support.world import World, beside, new_world

BLOCKS = span_blocks.span_blocks
BEGAN_NS = 1_760_000_000 * 10**9


def turn(prompt_id: int, conversation: str, said: str, count: int = 3, start: int = 0) -> list[dict[str, Any]]:
    """Return spans of a turn of a conversation, in the order of their ids."""
    trace_id = secrets.token_hex(16)
    attributes = {
        "service.prompt.id": prompt_id,
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.conversation.id": conversation,
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": said}]}]),
    }
    began = BEGAN_NS + start * 10**9
    return [
        span(
            attributes,
            traceId=trace_id,
            spanId=f"{number + 1:016x}",
            startTimeUnixNano=str(began + number),
            endTimeUnixNano=str(began + 10**6),
        )
        for number in range(count)
    ]


@pytest.fixture
def only_project(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a sweep pack no project of an earlier test, of which the turns may need all of its time."""
    owners = {world.project_id: world.organization_id}
    monkeypatch.setattr(packing, "organizations", SimpleNamespace(owners=lambda _connection: owners))


def formats(world: World) -> Counter[bytes]:
    with world.container.database.read() as connection:
        bodies = connection.scalars(select(spans.spans.c.body).where(spans.spans.c.project_id == world.project_id))
        return Counter(body[:1] for body in bodies)


def content(world: World) -> bytes:
    """Return all that the blocks of a project contain."""
    with world.container.database.read() as connection:
        bodies = connection.scalars(select(BLOCKS.c.body).where(BLOCKS.c.project_id == world.project_id))
        return b"".join(map(plain, bodies))


def sent(*batches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted((one for batch in batches for one in batch), key=lambda one: (one["traceId"], one["spanId"]))


def stored(world: World) -> list[dict[str, Any]]:
    """Return the spans that are stored, as they were sent, after checking that each can be read by its key."""
    bodies = bodies_of(world, world.project_id)
    with world.container.database.read() as connection:
        by_turn = spans.spans_by_key(connection, project_id=world.project_id, keys=bodies.keys())
    alone = {(one.trace_id, one.span_id): one.raw for of_turn in by_turn.values() for one in of_turn}
    assert alone == bodies
    assert_no_block_misfits(world)
    return [json.loads(bodies[key]) for key in sorted(bodies)]


def assert_no_block_misfits(world: World) -> None:
    [rule] = [rule for rule in INVARIANTS if rule.table is BLOCKS]
    with world.container.database.read() as connection:
        ids = list(connection.scalars(select(BLOCKS.c.id).where(BLOCKS.c.project_id == world.project_id)))
        assert broken_of(rule, connection, world.project_id, ids, world.container.now()) == set()


def shown(world: World) -> list[Any]:
    listed = world.get("/api/v1/sessions").json["sessions"]
    return [world.get(f"/api/v1/sessions/{row['id']}").json for row in listed]


class Later:
    """A clock that stopped when all turns that were sent until then were to be packed."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.stop()

    def stop(self) -> None:
        self._now = self._world.container.now() + packing.PACK_AFTER + timedelta(milliseconds=1)

    def __call__(self) -> datetime:
        return self._now


def session_of(world: World, conversation: str) -> str:
    listed = world.get("/api/v1/sessions").json["sessions"]
    [found] = [row["id"] for row in listed if row["conversationId"] == conversation]
    return str(found)


def test_packed_spans_are_read_as_they_were_sent(world: World) -> None:
    prompt_id = world.prompt()
    batches = [turn(prompt_id, name, f"{name} {n}", start=n) for name in ("a", "b") for n in range(2)]
    for batch in batches:
        world.send(export(*batch))
    before, exported = shown(world), world.get("/api/v1/export/sessions").text
    assert formats(world) == {JOINED: 4, IN_HOLDER: 8}

    pack(world)

    assert formats(world) == {IN_BLOCK: 12}
    assert world.count("span_blocks") == 1
    assert stored(world) == sent(*batches)
    assert (shown(world), world.get("/api/v1/export/sessions").text) == (before, exported)


def test_spans_keep_their_scopes(world: World) -> None:
    prompt_id = world.prompt()
    first, second = turn(prompt_id, "a", "one"), turn(prompt_id, "a", "two", start=1)
    world.send(export(*first, scope="überall"))
    world.send(export(*second, scope=""))
    pack(world)
    traces = [bytes.fromhex(one[0]["traceId"]) for one in (first, second)]
    with world.container.database.read() as connection:
        rows = spans.spans_of(connection, project_id=world.project_id, prompt_id=prompt_id, trace_ids=traces)
    assert {(row.trace_id, row.scope) for row in rows} == {(traces[0], "überall"), (traces[1], "")}
    assert world.count("span_blocks") == 1


def test_what_is_sent_again_is_not_stored_twice(world: World) -> None:
    batch = turn(world.prompt(), "a", "hello")
    world.send(export(*batch))
    pack(world)
    world.send(export(*batch))
    assert stored(world) == sent(batch)
    assert formats(world) == {IN_BLOCK: 3}


def test_late_spans_join_the_block_of_their_conversation(world: World) -> None:
    prompt_id = world.prompt()
    first, second = turn(prompt_id, "a", "hello", 4), turn(prompt_id, "a", "again", start=1)
    other = turn(prompt_id, "b", "other")
    world.send(export(*first[:2], *other))
    pack(world)
    world.send(export(*first[1:]))
    world.send(export(*second))
    assert formats(world)[IN_BLOCK] == 5
    assert stored(world) == sent(first, second, other)

    pack(world)
    blocks = world.count("span_blocks")
    pack(world)

    assert formats(world) == {IN_BLOCK: 10}
    assert world.count("span_blocks") == blocks == 2
    assert stored(world) == sent(first, second, other)
    (of_a,) = [session for session in shown(world) if len(session["turns"]) == 2]
    assert [one["user"] for one in of_a["turns"]] == ["hello", "again"]


def test_nothing_of_an_erased_session_is_left_in_a_block(world: World) -> None:
    prompt_id, word = world.prompt(), f"w{secrets.token_hex(8)}"
    ours, theirs = turn(prompt_id, "a", f"hello {word}"), turn(prompt_id, "b", "other")
    for batch in (ours, theirs, turn(prompt_id, "a", word, start=1)):
        world.send(export(*batch))
    pack(world)
    assert world.count("span_blocks") == 1
    assert word.encode() in content(world)

    assert world.delete(f"/api/v1/sessions/{session_of(world, 'a')}").status_code == 204

    assert readable(world, word) == []
    assert word.encode() not in content(world)
    assert stored(world) == sent(theirs)
    assert world.count("span_blocks") == 1

    assert world.delete(f"/api/v1/sessions/{session_of(world, 'b')}").status_code == 204
    assert world.count("span_blocks") == 0


@pytest.mark.parametrize("limit", [1, 2, 500])
def test_retention_removes_a_turn_from_a_block_and_leaves_the_others(world: World, limit: int) -> None:
    prompt_id = world.prompt()
    old, new = turn(prompt_id, "a", "old words"), turn(prompt_id, "a", "new words", start=1)
    world.send(export(*old))
    world.send(export(*new))
    pack(world)
    c = turns.c
    with world.container.database.write() as connection:
        of_old = update(turns).where(c.project_id == world.project_id, c.trace_id == bytes.fromhex(old[0]["traceId"]))
        connection.execute(of_old.values(batch_id=1))
    scope = TurnScope(world.project_id, before=world.container.now() - timedelta(days=1))

    while True:
        with world.container.database.write() as connection:
            removed = removal.remove_turns(connection, scope, limit=limit)
        left = stored(world)
        assert [one for one in left if one in new] == sent(new)
        if not removed:
            break

    assert stored(world) == sent(new)
    assert b"old words" not in content(world)
    assert world.count("span_blocks") == 1


def test_an_erased_prompt_leaves_no_block(world: World) -> None:
    first, second = world.prompt(), world.prompt()
    trace = turn(first, "a", "ours")
    theirs = [{**one, "spanId": f"{number + 100:016x}"} for number, one in enumerate(turn(second, "a", "theirs"))]
    theirs = [{**one, "traceId": trace[0]["traceId"]} for one in theirs]
    world.send(export(*trace, *theirs))
    pack(world)
    assert world.count("span_blocks") == 2
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=first)
    assert stored(world) == sent(theirs)
    assert b"ours" not in content(world)
    assert world.count("span_blocks") == 1


def test_words_of_packed_turns_are_found(world: World) -> None:
    word = f"w{secrets.token_hex(8)}"
    world.send(export(*turn(world.prompt(), "a", f"hello {word}")))
    pack(world)
    index(world)
    assert found(world, word) == [f"hello {word}"]


@pytest.mark.usefixtures("only_project")
def test_the_clock_packs_turns_an_hour_after_their_last_batch(world: World) -> None:
    prompt_id = world.prompt()
    first = turn(prompt_id, "a", "hello")
    world.send(export(*first))
    world.container.services.span_packer.sweep()
    assert formats(world)[IN_BLOCK] == 0

    now = Later(world)
    clock = beside(world.container, now=now)
    try:
        clock.services.span_packer.sweep()
        assert formats(world) == {IN_BLOCK: 3}
        second = turn(prompt_id, "a", "again", start=1)
        world.send(export(*second))
        clock.services.span_packer.sweep()
        assert formats(world)[IN_BLOCK] == 3
        now.stop()
        clock.services.span_packer.sweep()
    finally:
        clock.close()
    assert formats(world) == {IN_BLOCK: 6}
    assert stored(world) == sent(first, second)


@pytest.mark.usefixtures("only_project")
def test_nothing_is_packed_without_compression(world: World) -> None:
    world.send(export(*turn(world.prompt(), "a", "hello")))
    off = beside(world.container, now=Later(world), compression="off")
    try:
        off.services.span_packer.sweep()
    finally:
        off.close()
    assert formats(world)[IN_BLOCK] == 0


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_all_turns_of_batches_are_packed_however_few_are_read_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(packing, "TURNS_AT_ONCE", at_once)
    monkeypatch.setattr(packing, "SESSIONS_AT_ONCE", at_once)
    prompt_id = world.prompt()
    batches = [turn(prompt_id, str(n % 4), f"{n}", start=n) for n in range(8)]
    world.send(export(*(one for batch in batches[:5] for one in batch)))
    for batch in batches[5:]:
        world.send(export(*batch))
    pack(world)
    assert formats(world) == {IN_BLOCK: 24}
    assert stored(world) == sent(*batches)


def test_conversations_that_need_too_much_together_get_several_blocks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them is in one, so that they are not packed again."""
    monkeypatch.setattr(span_packing, "INLINE_BYTES", 1)
    prompt_id = world.prompt()
    batches = [turn(prompt_id, name, f"{name} {n}", start=n) for name in ("a", "b", "c") for n in range(2)]
    for batch in batches:
        world.send(export(*batch))
    pack(world)
    before = content(world)
    pack(world)
    assert world.count("span_blocks") == 3
    assert content(world) == before
    assert stored(world) == sent(*batches)


@pytest.mark.usefixtures("only_project")
def test_of_a_long_conversation_only_new_turns_are_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """They get another block, and the earlier one stays."""
    prompt_id = world.prompt()
    batches = [turn(prompt_id, "a", f"{n}", start=n) for n in range(4)]
    for batch in batches[:2]:
        world.send(export(*batch))
    now = Later(world)
    clock = beside(world.container, now=now)
    try:
        clock.services.span_packer.sweep()
        monkeypatch.setattr(span_packing, "TURNS_MAX", 3)
        for batch in batches[2:]:
            world.send(export(*batch))
        now.stop()
        clock.services.span_packer.sweep()
    finally:
        clock.close()
    assert world.count("span_blocks") == 2
    assert formats(world) == {IN_BLOCK: 12}
    assert stored(world) == sent(*batches)


def test_turns_of_too_many_spans_stay(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(span_packing, "SPANS_MAX", 3)
    prompt_id = world.prompt()
    large, small = turn(prompt_id, "a", "large", 4), turn(prompt_id, "a", "small", start=1)
    world.send(export(*large))
    world.send(export(*small))
    pack(world)
    assert formats(world) == {IN_BLOCK: 3, JOINED: 1, IN_HOLDER: 3}
    assert stored(world) == sent(large, small)


def test_a_damaged_turn_stays_and_others_are_packed(world: World) -> None:
    prompt_id = world.prompt()
    damaged, whole = turn(prompt_id, "a", "damaged"), turn(prompt_id, "b", "whole")
    world.send(export(*damaged))
    world.send(export(*whole))
    of_damaged = spans.spans.c.trace_id == bytes.fromhex(damaged[0]["traceId"])
    with world.container.database.write() as connection:
        connection.execute(update(spans.spans).where(of_damaged).values(body=ZSTD_1 + b"..."))
    try:
        pack(world)
        assert formats(world) == {ZSTD_1: 3, IN_BLOCK: 3}
    finally:
        # Other tests look for words in all that is stored.
        with world.container.database.write() as connection:
            connection.execute(delete(spans.spans).where(of_damaged))


def test_a_block_that_is_missing_or_damaged_is_found_and_is_no_obstacle_to_erasure(world: World) -> None:
    prompt_id = world.prompt()
    world.send(export(*turn(prompt_id, "a", "hello")))
    pack(world)
    of_project = BLOCKS.c.project_id == world.project_id
    database = world.container.database
    rules = {rule.name: rule for rule in INVARIANTS}
    with database.write() as connection:
        connection.execute(update(BLOCKS).where(of_project).values(body=ZSTD_1 + b"..."))
        ids = list(connection.scalars(select(BLOCKS.c.id).where(of_project)))
        turn_ids = list(connection.scalars(select(turns.c.id).where(turns.c.project_id == world.project_id)))
    with database.read() as connection:
        now = world.container.now()
        assert broken_of(rules["span blocks"], connection, world.project_id, ids, now) == set(ids)
        assert broken_of(rules["span bodies"], connection, world.project_id, turn_ids, now) == set(turn_ids)

    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)

    assert (world.count("spans"), world.count("span_blocks")) == (0, 0)


def test_a_block_with_more_than_its_spans_is_found(world: World) -> None:
    world.send(export(*turn(world.prompt(), "a", "hello")))
    pack(world)
    [rule] = [rule for rule in INVARIANTS if rule.table is BLOCKS]
    of_project = spans.spans.c.project_id == world.project_id
    with world.container.database.write() as connection:
        first = connection.scalar(select(func.min(spans.spans.c.id)).where(of_project))
        connection.execute(delete(spans.spans).where(spans.spans.c.id == first))
        ids = list(connection.scalars(select(BLOCKS.c.id).where(BLOCKS.c.project_id == world.project_id)))
        assert broken_of(rule, connection, world.project_id, ids, world.container.now()) == set(ids)


@pytest.mark.parametrize("container", [pytest.param("services", marks=pytest.mark.services)], indirect=True)
def test_a_reader_between_two_statements_finds_spans_that_move_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id = world.prompt()
    first, second = turn(prompt_id, "a", "hello"), turn(prompt_id, "a", "again", start=1)
    world.send(export(*first))
    pack(world)
    read: Callable[..., dict[int, bytes]] = span_blocks.bodies_of
    moved = []

    def moved_before(connection: Connection, **kwargs: Any) -> dict[int, bytes]:
        if not moved:
            moved.append(True)
            world.send(export(*second))
            pack(world)
        return read(connection, **kwargs)

    monkeypatch.setattr(span_blocks, "bodies_of", moved_before)
    trace_id = bytes.fromhex(first[0]["traceId"])
    with world.container.database.read() as connection:
        found = spans.spans_of(connection, project_id=world.project_id, prompt_id=prompt_id, trace_ids=[trace_id])
    assert moved
    assert sorted(json.loads(one.raw)["spanId"] for one in found) == [one["spanId"] for one in first]


def test_spans_are_packed_while_others_send_read_and_remove(world: World) -> None:
    """Whoever reads finds all spans that were acknowledged before, as they were sent."""
    prompt_id, gone = world.prompt(), world.prompt()
    kept = [[turn(prompt_id, f"c{n}", f"{n} {m}", 6, start=m) for m in range(3)] for n in range(3)]
    acknowledged: dict[str, int] = {}

    def send(conversation: list[list[dict[str, Any]]]) -> None:
        for batch in conversation:
            for start in range(0, 6, 2):
                assert world.send(export(*batch[max(start - 1, 0) : start + 2])).status_code == 200
                acknowledged[batch[0]["traceId"]] = start + 2
            assert world.send(export(*turn(gone, secrets.token_hex(4), "gone"))).status_code == 200

    def remove() -> None:
        scope = TurnScope(world.project_id, prompt_id=gone)
        world.container.database.retrying(lambda connection: removal.remove_turns(connection, scope, limit=2))

    def look() -> None:
        before = dict(acknowledged)
        with world.container.database.read() as connection:
            found = spans.spans_of(
                connection,
                project_id=world.project_id,
                prompt_id=prompt_id,
                trace_ids=[bytes.fromhex(trace_id) for trace_id in before],
            )
            by_key = spans.spans_by_key(
                connection, project_id=world.project_id, keys={(one.trace_id, one.span_id) for one in found}
            )
        count = Counter(one.trace_id.hex() for one in found)
        assert all(count[trace_id] >= number for trace_id, number in before.items())
        assert sum(map(len, by_key.values())) == len(found)

    rewrite = partial(compress_all, world.container, spans.spans.c.body)
    with repeated(partial(pack, world), rewrite, remove, look), ThreadPoolExecutor(len(kept)) as pool:
        list(pool.map(send, kept))

    scope = TurnScope(world.project_id, prompt_id=gone)
    while world.container.database.retrying(lambda connection: removal.remove_turns(connection, scope, limit=500)):
        pass
    pack(world)
    assert formats(world) == {IN_BLOCK: 54}
    assert stored(world) == sent(*(batch for conversation in kept for batch in conversation))


def test_blocks_of_one_project_have_no_spans_of_another(world: World) -> None:
    other = new_world(world.container)
    for one in (world, other):
        one.send(export(*turn(one.prompt(), "a", f"of {one.project_id}")))
        pack(one)
    assert (world.count("span_blocks"), other.count("span_blocks")) == (1, 1)
    assert f"of {other.project_id}".encode() not in content(world)


def test_the_facts_of_packed_turns_get_their_own_dictionary(world: World) -> None:
    world.send(export(*turn(world.prompt(), "a", "hello")))
    pack(world)
    with world.container.database.read() as connection:
        raw = raw_of(turns.c.facts)
        [facts] = connection.scalars(select(raw).where(turns.c.project_id == world.project_id))
    assert facts[:1] == ZSTD_2
