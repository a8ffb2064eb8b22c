"""Fingerprints of stored sessions, as the clock makes them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import permutations
from operator import add
from typing import Any

import pytest
from sqlalchemy import delete, select, update

from app.models import removal
from app.models.queries import first_batch_id
from app.models.session_fingerprints import claim, list_waiting, session_fingerprints
from app.models.turns import turns
from app.services.suites import making
from app.sessions.facts import TurnFacts
from app.sessions.types import Turn
from app.suites.fingerprints import EDITION, Fingerprint, load
from app.timestamps import of_unix_ns, utc_now
from app.work.work_time import WorkTime
from tests.integration.suites.sending import (
    START_NS,
    make_fingerprints,
    only_fingerprint,
    send,
    stored_fingerprints,
    turn,
)
from tests.support import protobuf
from tests.support.conversations import export
from tests.support.world import World

TURNS = [
    turn("Where is my parcel? It was damaged.", "search_orders", "get_order"),
    turn("Cancel the damaged parcel, please.", "cancel_order", failed="cancel_order"),
]


def test_a_session_has_a_fingerprint(world: World) -> None:
    send(world, world.prompt(), "c1", TURNS)
    fingerprint = only_fingerprint(world)
    assert fingerprint.order == ("get_order, search_orders", "cancel_order")
    assert (fingerprint.turns, fingerprint.language, fingerprint.lacks) == ("2-3", "en", ())
    assert (fingerprint.failed_tools, fingerprint.has_error) == (("cancel_order",), True)
    assert {"damaged", "parcel", "cancel"} <= set(fingerprint.words)


def test_order_repetition_and_encoding_of_batches_do_not_matter(world: World) -> None:
    """Each order of the spans of a conversation, sent one by one and then again, leaves the same bytes."""
    written = set[bytes]()
    orders = [range(5), range(4, -1, -1), *list(permutations(range(5)))[20:100:20]]
    for number, order in enumerate(orders):
        encoding = ("json", "protobuf")[number % 2]
        prompt_id = world.prompt()
        whole = json.loads(export(prompt_id, "c1", TURNS, start_ns=START_NS))
        spans = whole["resourceSpans"][0]["scopeSpans"][0]["spans"]
        for place in [*order, *range(5)]:
            batch = {"resourceSpans": [{"scopeSpans": [{"spans": [spans[place]]}]}]}
            body = protobuf.traces(batch) if encoding == "protobuf" else json.dumps(batch).encode()
            kind = "application/x-protobuf" if encoding == "protobuf" else "application/json"
            assert world.send_to(prompt_id, body, Content_Type=kind).status_code == 200
        written |= set(make_fingerprints(world).values())
    assert len(written) == 1


def test_a_session_that_goes_on_gets_another_fingerprint(world: World) -> None:
    prompt_id = world.prompt()
    send(world, prompt_id, "c1", TURNS[:1])
    assert only_fingerprint(world).turns == "1"
    send(world, prompt_id, "c1", TURNS)
    assert only_fingerprint(world).turns == "2-3"


def test_a_deleted_session_has_no_fingerprint(world: World) -> None:
    send(world, world.prompt(), "c1", TURNS)
    ((key, _),) = make_fingerprints(world).items()
    assert world.delete(f"/api/v1/sessions/{key.hex()}").status_code == 204
    assert make_fingerprints(world) == {}
    assert world.count("session_fingerprints") == 0


def test_sessions_of_earlier_releases_get_fingerprints(world: World) -> None:
    prompt_id = world.prompt()
    for number in range(3):
        send(world, prompt_id, f"c{number}", TURNS)
    made = make_fingerprints(world)
    c, of_project = session_fingerprints.c, session_fingerprints.c.project_id == world.project_id
    with world.container.database.write() as connection:
        first = min(made)
        connection.execute(delete(session_fingerprints).where(of_project, c.session_key == first))
        older = update(session_fingerprints).where(of_project, c.session_key == max(made))
        connection.execute(older.values(edition=EDITION - 1, fingerprint=b"{}"))
    maker = world.container.services.fingerprint_maker
    maker._looked_through.clear()
    while maker.make_some(world.project_id):
        pass
    assert stored_fingerprints(world) == made


def test_words_that_retention_removed_while_the_fingerprint_was_made_are_in_no_fingerprint(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session is counted after each removal, so its row is removed and noted again while the clock has it."""
    prompt_id = world.prompt()
    texts = ["My passport is ferngully.", "My doctor prescribed oxycodone.", "Where is my parcel?"]
    for number in range(len(texts)):
        send(world, prompt_id, "c1", [turn(text, "note") for text in texts[: number + 1]])
    services = world.container.services
    with world.container.database.read() as connection:
        batch_ids = select(turns.c.batch_id).where(turns.c.project_id == world.project_id)
        received_ms = [id_ // first_batch_id(of_unix_ns(1_000_000)) for id_ in sorted(connection.scalars(batch_ids))]
    ends = iter([of_unix_ns((ms + 1) * 1_000_000) for ms in received_ms])

    def remove_first_turn() -> None:
        with world.container.database.write() as connection:
            scope = removal.TurnScope(world.project_id, before=next(ends))
            assert removal.remove_turns(connection, scope, limit=1000)
        services.insight_counter.count(world.project_id)

    services.insight_counter.count(world.project_id)
    remove_first_turn()
    read, removals = making._fingerprint_of, list[int]()

    def read_before_a_removal(*args: Any, **options: Any) -> Any:
        fingerprint = read(*args, **options)
        if not removals:
            removals.append(1)
            worker = threading.Thread(target=remove_first_turn)
            worker.start()
            worker.join()
        return fingerprint

    monkeypatch.setattr(making, "_fingerprint_of", read_before_a_removal)
    services.fingerprint_maker.make_some(world.project_id)
    assert removals
    assert not stored_fingerprints(world)
    fingerprint = only_fingerprint(world)
    assert "parcel" in fingerprint.words
    assert "oxycodone" not in fingerprint.words


def test_few_fingerprints_are_made_while_batches_arrive(world: World) -> None:
    """Each of them needs much of the processor time in which a batch is stored."""
    services, prompt_id = world.container.services, world.prompt()
    for number in range(making.SESSIONS_WHILE_BUSY + 2):
        send(world, prompt_id, f"c{number}", TURNS)
    while services.insight_counter.count(world.project_id):
        pass
    database, metrics = world.container.database, world.container.metrics
    work_time = WorkTime(making.WORK_S, lambda: True)
    maker = making.FingerprintMaker(database=database, metrics=metrics, work_time=work_time)
    maker.make_some(world.project_id)
    assert len(stored_fingerprints(world)) == making.SESSIONS_WHILE_BUSY
    maker.make_some(world.project_id)
    assert len(stored_fingerprints(world)) == making.SESSIONS_WHILE_BUSY + 2


class Died(BaseException):
    """What ends the process: no code runs after it."""


def test_a_session_with_which_two_processes_died_has_a_fingerprint_of_its_facts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long conversation once ended each new clock, again and again, and all other sessions waited for theirs."""
    prompt_id = world.prompt()
    for number in range(3):
        send(world, prompt_id, f"c{number}", TURNS)
    send(world, prompt_id, "deadly", [turn("A deadly parcel.", "search_orders")])
    maker, read, reads = world.container.services.fingerprint_maker, making.of_turns, list[int]()

    def read_or_die(built: Sequence[Turn], facts: Iterable[TurnFacts]) -> Fingerprint:
        if any("deadly" in (built_turn.own_words or "") for built_turn in built):
            reads.append(1)
            raise Died
        return read(built, facts)

    monkeypatch.setattr(making, "of_turns", read_or_die)
    started = utc_now()
    for attempt in range(2):
        monkeypatch.setattr(maker, "now", partial(add, started, attempt * making.CLAIMED_FOR))
        with pytest.raises(Died):
            make_fingerprints(world)
        # The sessions that were claimed are not read again at once.
        make_fingerprints(world)
        assert len(reads) == attempt + 1
    monkeypatch.setattr(maker, "now", partial(add, started, 2 * making.CLAIMED_FOR))
    made = [load(written) for written in make_fingerprints(world).values()]
    assert sorted(fingerprint.lacks for fingerprint in made) == [(), (), (), ("size",)]
    send(world, prompt_id, "deadly", [turn(f"A deadly parcel {n}.", "cancel_order") for n in range(2)])
    made = [load(written) for written in make_fingerprints(world).values()]
    assert [fingerprint.tools for fingerprint in made if fingerprint.lacks] == [("cancel_order", "search_orders")]
    assert len(reads) == 2


def test_clocks_that_work_at_once_make_different_fingerprints(world: World) -> None:
    for number in range(3):
        send(world, world.prompt(), f"c{number}", TURNS)
    while world.container.services.insight_counter.count(world.project_id):
        pass
    database, now = world.container.database, utc_now()
    with database.read() as connection:
        listed = list_waiting(connection, project_id=world.project_id, now=now, limit=9)
    claimed = partial(claim, project_id=world.project_id, now=now, until=now + making.CLAIMED_FOR)
    with database.write() as connection:
        first = claimed(connection, rows=listed[:2])
    with database.write() as connection:
        second = claimed(connection, rows=listed)
    keys = [{row.session_key for row in rows} for rows in (first, second)]
    assert list(map(len, keys)) == [2, 1]
    assert keys[0] | keys[1] == {row.session_key for row in listed}
