"""A session may have any number of turns: a page, an answer and a search read the facts of few of them."""

from __future__ import annotations

import secrets
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from msgspec import structs

from app.errors import NotFound
from app.models import queries, sessions, turns
from app.models.search import IndexedTurn
from app.services.search import service as search
from app.services.search.service import FoundTurn
from app.services.search.turn_numbers import TurnNumbers, turn_numbers
from app.services.sessions import reading, service, turn_listing
from app.services.sessions.reading import NeedsMemory, read_spans
from app.services.sessions.traces import PART_TURNS
from app.sessions.facts import dump, load
from tests.support.database_reads import database_reads
from tests.support.exports import export, span
from tests.support.world import World

COUNT, OUTLINED = 125, 30
LARGE = 47
"""The index of a turn that is a part of the session by itself."""


@pytest.fixture
def session_id(world: World) -> str:
    """A session of `COUNT` turns, each a second after the one before, with an error in each tenth."""
    prompt_id = world.prompt()
    chat = {"service.prompt.id": prompt_id, "gen_ai.conversation.id": "long", "gen_ai.operation.name": "chat"}
    sent = []
    for number in range(COUNT):
        times = {name: str(10**9 * (number + 1)) for name in ("startTimeUnixNano", "endTimeUnixNano")}
        status = {"code": 2 if number % 10 == 0 else 0}
        for _ in range(250 if number == LARGE else 1):
            key = {"traceId": f"{number + 1:032x}", "spanId": secrets.token_hex(8)}
            sent.append(span(chat, **key, **times, status=status))
    assert world.send(export(*sent)).status_code == 200
    [listed] = world.get("/api/v1/sessions").json["sessions"]
    return str(listed["id"])


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The traces of which facts were read."""
    monkeypatch.setattr(turn_listing, "OUTLINED_TURNS", OUTLINED)
    facts_of, read = turns.facts_of, list[bytes]()

    def noting(*given: Any, trace_ids: list[bytes], **named: Any) -> Any:
        read.extend(trace_ids)
        return facts_of(*given, trace_ids=trace_ids, **named)

    monkeypatch.setattr(turns, "facts_of", noting)
    return read


def test_parts_of_a_session_have_each_turn_once_and_read_few_facts(
    world: World, session_id: str, read: list[bytes]
) -> None:
    part_of, turn, traces = world.container.services.session_parts.part, 1, list[str]()
    while turn <= COUNT:
        read.clear()
        part = part_of(project_id=world.project_id, session_id=session_id, turn=turn)
        assert part.start == turn - 1
        assert (part.summary.turns, part.summary.errors) == (COUNT, 13)
        assert len(part.outlines) <= OUTLINED + PART_TURNS
        assert set(range(turn, part.end + 1)) <= part.by_number.keys()
        # The outlines, and the versions of the turns that were built; a part that needs a place is read again.
        assert len(read) <= 2 * (OUTLINED + 2 * PART_TURNS) < COUNT + 10
        traces += [turn.trace_id for turn in part.session.turns]
        turn = part.end + 1

    assert traces == [f"{number + 1:032x}" for number in range(COUNT)]


def test_a_turn_and_a_span_read_the_facts_of_their_neighbours(world: World, session_id: str, read: list[bytes]) -> None:
    parts, which = (
        world.container.services.session_parts,
        dict[str, Any](project_id=world.project_id, session_id=session_id),
    )

    turn = parts.turn(**which, turn=60)
    shown = parts.span(**which, span_id=turn.spans[0].span_id)

    assert (turn.trace_id, shown.span_id) == (f"{60:032x}", turn.spans[0].span_id)
    assert len(read) <= 12
    assert parts.turn(**which, turn=LARGE + 1, piece=2).trace_id == f"{LARGE + 1:032x}"


def test_an_answer_has_the_first_turns_of_a_session(
    world: World, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "TURNS_MAX", 20)

    answered = world.get(f"/api/v1/sessions/{session_id}").json["turns"]

    assert [turn["traceId"] for turn in answered] == [f"{number + 1:032x}" for number in range(20)]
    assert [turn["warnings"][-1] for turn in answered if "left out" in str(turn["warnings"])] == [
        reading.turns_left_out(COUNT - 20)
    ]


def test_each_turn_of_a_session_counts_among_what_a_process_reads_at_once(
    world: World, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SMALL_BYTES", 10 * 1024 * 1024)
    monkeypatch.setattr(reading, "BYTES_PER_TURN", 1024 * 1024)
    with world.container.database.read() as connection:
        row = sessions.find_session(connection, project_id=world.project_id, session_key=bytes.fromhex(session_id))
        assert row
        trace_ids = turns.traces_of(connection, project_id=world.project_id, session_key=row.session_key)
        assert read_spans(connection, row, trace_ids[:9], most=None).spans
        with pytest.raises(NeedsMemory) as needed:
            read_spans(connection, row, trace_ids[:11], most=None)

    assert needed.value.size > 11 * 1024 * 1024


def test_turns_are_numbered_by_the_facts_of_few_traces(
    world: World, session_id: str, read: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second trace of the session is a conversation of three turns."""
    key: dict[str, Any] = {"project_id": world.project_id, "session_key": bytes.fromhex(session_id)}
    with world.container.database.write() as connection:
        second = turns.first_turns(connection, **key, limit=2)[1]
        facts = dump(structs.replace(load(second.facts), turns=3))
        turns.replace(connection, [replace(second, facts=facts)])
        queries.update_rows(connection, sessions.sessions, key, turns=COUNT + 2)
    with world.container.database.read() as connection:
        row = sessions.find_session(connection, **key)
        assert row
        numbers = turn_numbers(connection, row, most=10)
        assert [numbers.number_of(index) for index in (0, 1, 2, 9, 10, 50)] == [1, 2, 5, 12, 13, 53]
        assert [numbers.index_of(number) for number in (1, 2, 3, 4, 5, 13, 53, 1_000)] == [0, 1, 1, 1, 2, 10, 50, 124]
        assert len(read) == 10

        read.clear()
        indexed = IndexedTurn(1, row.prompt_id, f"{51:032x}".encode(), row.session_key)
        monkeypatch.setattr(search, "NUMBERED_MAX", 20)
        before = search._turns_before(connection, world.project_id, [FoundTurn(51, indexed)])
        assert before == {row.session_key: 52}
        assert len(read) == 20


def test_a_session_that_is_numbered_has_each_number_at_its_index() -> None:
    for numbers in (TurnNumbers(5), TurnNumbers(5, (1, 2, 5, 6)), TurnNumbers(3, (1, 4, 5, 9))):
        firsts = [numbers.number_of(index) for index in range(numbers.traces)]
        assert [numbers.index_of(number) for number in firsts] == list(range(numbers.traces))
    assert (TurnNumbers(0).index_of(1), TurnNumbers(0).index_of(2), TurnNumbers(2).index_of(0)) == (0, None, None)


def test_a_span_is_found_without_a_list_of_the_traces_of_its_session(
    world: World, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    which = dict[str, Any](project_id=world.project_id, session_id=session_id)
    parts, traces_of, listed = world.container.services.session_parts, turns.traces_of, list[bytes]()
    last = parts.turn(**which, turn=COUNT)

    def noting(*given: Any, **named: Any) -> list[bytes]:
        traces = traces_of(*given, **named)
        listed.extend(traces)
        return traces

    monkeypatch.setattr(turns, "traces_of", noting)

    shown = parts.span(**which, span_id=last.spans[0].span_id)

    assert shown.span_id == last.spans[0].span_id
    # The trace before, and the one with the span.
    assert [trace_id.hex() for trace_id in listed] == [f"{number:032x}" for number in (COUNT - 1, COUNT)]
    for unknown in ("f" * 16, "F" * 16, "x", ""):
        with pytest.raises(NotFound):
            parts.span(**which, span_id=unknown)


def test_a_span_id_of_several_traces_is_that_of_the_first_one_in_the_order_of_the_session(world: World) -> None:
    prompt_id, other_id, rng = world.prompt(), world.prompt(), Random(40)
    chat = {"gen_ai.conversation.id": "shared", "gen_ai.operation.name": "chat"}
    sent = []
    for _ in range(30):
        trace_id, start = rng.randbytes(16).hex(), str(10**9 + rng.randrange(4))
        ids = rng.sample(range(1, 16), rng.randrange(1, 4))
        of_prompt = {"service.prompt.id": rng.choice((prompt_id, other_id))}
        times = {"startTimeUnixNano": start, "endTimeUnixNano": str(2 * 10**9)}
        sent += [span(chat | of_prompt, traceId=trace_id, spanId=f"{id_:016x}", **times) for id_ in ids]
    assert world.send(export(*sent)).status_code == 200

    for listed in world.get("/api/v1/sessions").json["sessions"]:
        of_session: dict[str, Any] = {"project_id": world.project_id, "session_key": bytes.fromhex(listed["id"])}
        read = world.get(f"/api/v1/sessions/{listed['id']}").json["turns"]
        spans_of = [{shown["spanId"] for shown in turn["spans"]} for turn in read]
        with world.container.database.read() as connection:
            for id_ in range(1, 17):
                index = turns.index_of_span(connection, **of_session, span_id=id_.to_bytes(8))
                assert index == next((at for at, ids in enumerate(spans_of) if f"{id_:016x}" in ids), None)


def test_an_early_span_is_found_without_reading_the_turns_after_it(world: World, session_id: str) -> None:
    """Turns of other sessions of the project are not read either."""
    listed = world.get(f"/api/v1/sessions/{session_id}").json["turns"]
    first, last = (bytes.fromhex(listed[at]["spans"][0]["spanId"]) for at in (0, -1))
    of_session: dict[str, Any] = {"project_id": world.project_id, "session_key": bytes.fromhex(session_id)}
    counts = []
    for span_id in (first, first, last):
        with world.container.database.read() as connection, database_reads() as reads:
            index = turns.index_of_span(connection, **of_session, span_id=span_id)
            counts.append((index, reads()))

    assert [index for index, _ in counts] == [0, 0, COUNT - 1]
    assert counts[1][1] < counts[2][1] / 4
