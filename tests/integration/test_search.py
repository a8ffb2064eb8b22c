"""The text search finds the words of a project's sessions, and nothing that was removed or masked."""

from __future__ import annotations

import itertools
import json
import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import structlog
from sqlalchemy import delete, select, update

from app.models import search, spans
from app.models.compression import ZSTD_1
from app.models.search import IndexedTurn
from app.models.spans import TurnKey
from app.search.words import words_of
from app.services.search import indexing as search_index
from app.services.search import service as traces_search
from app.services.search.indexing import EVERY_S, WORK_S, SearchIndexer
from app.services.search.scanning import SEARCH_S
from app.services.sessions.filters import SessionFilter
from app.sessions.build import build_lone_turn
from app.sessions.spans import RawSpan, Records
from app.sessions.turn_texts import LoneTurn
from app.wiring.container import Container
from app.work.work_time import LAGGING_S, WorkTime
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.endless_load import EndlessLoad
from tests.support.exports import export, span
from tests.support.world import World, new_world


def message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def say(world: World, prompt_id: int, user: str = "", answer: str = "", **tool: Any) -> str:
    """Send a turn with this text, and with a tool that has further attributes; return its trace id."""
    trace_id, common = secrets.token_hex(16), {"service.prompt.id": prompt_id}
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": message("user", user),
        "gen_ai.output.messages": message("assistant", answer),
    } | {name: tool.pop(name) for name in list(tool) if name == "gen_ai.conversation.id"}
    spans = [span(common | chat, traceId=trace_id, spanId="1" * 16)]
    if tool:
        called = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
        named = {f"gen_ai.tool.call.{name}": value for name, value in tool.items()}
        spans.append(span(common | called | named, traceId=trace_id, spanId="2" * 16))
    assert world.send(export(*spans)).status_code == 200
    return trace_id


def index(world: World) -> None:
    """Read all blocks that wait, as the clock does."""
    database = world.container.database
    indexer = SearchIndexer(database=database, enabled=True)
    while True:
        indexer.sweep()
        with database.read() as connection:
            if not search.waiting_projects(connection):
                return


def found(world: World, q: str, **query: Any) -> list[str]:
    """The first words of the sessions that are found, page after page."""
    listed: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = world.get("/api/v1/sessions", params={"q": q, **query} | ({"cursor": cursor} if cursor else {}))
        assert page.status_code == 200, page.text
        listed += [one["preview"] for one in page.json["sessions"]]
        cursor = page.json["nextCursor"]
    return listed


def stored_words(world: World) -> set[str]:
    """The words that the index has of the project."""
    of_project = select(search.search_words.c.words).where(search.search_words.c.project_id == world.project_id)
    with world.container.database.read() as connection:
        lines = b"".join(connection.scalars(of_project)).decode().split("\n")
    return {line.partition(" ")[0] for line in lines if line}


@pytest.fixture
def filled(world: World) -> World:
    """Sessions named by the first word of their users."""
    prompt_id = world.prompt()
    say(world, prompt_id, "one: a refund of order 4711", "That is not possible.")
    say(world, prompt_id, "two: refunds for order-4712", "It is possible, but not now.")
    say(world, prompt_id, "three: 東京都に行きたい", "Die Größe passt nicht.")
    say(world, prompt_id, "four", arguments='{"order_id": 4711}', result={"city": {"nämë": "Zürich"}})
    index(world)
    return world


@pytest.mark.parametrize(
    ("q", "sessions"),
    [
        ("refund 4711", ["one"]),
        ("REFUND", ["one"]),
        ("refund*", ["two", "one"]),
        ('"not possible"', ["one"]),
        ("not possible", ["two", "one"]),
        ("possible -now", ["one"]),
        ('possible -"not possible"', ["two"]),
        ("4711", ["four", "one"]),
        ("order-4712", ["two"]),
        ("order_id", ["four"]),
        ("東京", ["three"]),
        ("都に行", ["three"]),
        ("京", ["three"]),
        ("東都", []),
        ("größe", ["three"]),
        ("GRÖSSE", ["three"]),
        ("groesse", []),
        ("zürich", ["four"]),
        ("nämë", ["four"]),
        ("refund zürich", []),
        ("refund% OR 1=1", []),
    ],
)
def test_a_search_finds_the_words_of_one_turn(filled: World, q: str, sessions: list[str]) -> None:
    assert sorted(words_of(one)[0] for one in found(filled, q)) == sorted(sessions)
    assert sorted(words_of(one)[0] for one in found(filled, q, limit=1, sort="duration")) == sorted(sessions)


def test_a_hit_names_the_step_and_the_words(filled: World) -> None:
    [session] = filled.get("/api/v1/sessions", params={"q": "zürich"}).json["sessions"]

    hit = session["hit"]
    assert (hit["turn"], hit["spanId"], hit["kind"]) == (1, "2" * 16, "result")
    assert [hit["text"][start:end] for start, end in hit["places"]] == ["Zürich"]
    assert "hit" not in filled.get("/api/v1/sessions").json["sessions"][0]


def test_a_turn_of_a_page_is_read_once(filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[TurnKey] = []

    def counted(*args: Any, listed: Sequence[IndexedTurn], **options: Any) -> Any:
        read.extend(turn.key for turn in listed)
        return search_index.built_turns(*args, listed=listed, **options)

    monkeypatch.setattr(traces_search, "built_turns", counted)
    assert found(filled, '"not possible"')
    assert len(read) == len(set(read)) > 0


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ("-refund", "Give at least one word to look for."),
        ("***", "Give at least one word to look for."),
        ("r*", "Give at least 2 letters before the star."),
        ("a " * 17, "Give at most 16 words."),
    ],
)
def test_a_search_that_is_none_is_refused(world: World, q: str, message: str) -> None:
    answer = world.get("/api/v1/sessions", params={"q": q})

    assert (answer.status_code, answer.json["error"]) == (400, f"q: {message}")


def test_a_search_meets_the_other_filters_in_every_order(filled: World) -> None:
    prompt_id = filled.prompt()
    say(filled, prompt_id, "five refunds", **{"gen_ai.conversation.id": "talk"})
    index(filled)

    assert found(filled, "refunds", promptId=prompt_id) == ["five refunds"]
    assert found(filled, "refunds", conversationId="talk", sort="errors") == ["five refunds"]
    assert found(filled, "zürich", conversationId="talk") == []
    lines = filled.get("/api/v1/exports/sessions", params={"q": "refunds", "promptId": prompt_id}).text
    assert [json.loads(line)["preview"] for line in lines.splitlines()] == ["five refunds"]


def test_frequent_words_are_found_page_by_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.services.search.service.RARE_TURNS_MAX", 2)
    prompt_id = world.prompt()
    for number in range(5):
        say(world, prompt_id, f"number {number} often", "said" if number else "rarely said")
    index(world)

    assert len(found(world, "often", limit=2)) == 5
    assert found(world, '"rarely said" often', limit=2) == ["number 0 often"]


@pytest.mark.parametrize("q", ["often", '"said often"'])
@pytest.mark.parametrize("sort", ["time", "duration"])
def test_a_search_continues_session_by_session_when_its_time_is_up(
    world: World, monkeypatch: pytest.MonkeyPatch, q: str, sort: Any
) -> None:
    monkeypatch.setattr(traces_search, "RARE_TURNS_MAX", 2)
    monkeypatch.setattr(traces_search, "TURNS_AT_ONCE", 1)
    prompt_id = world.prompt()
    for number in range(5):
        say(world, prompt_id, f"number {number}", "said often" if number % 2 else "often said, said often")
    index(world)
    clock = itertools.count(step=SEARCH_S)
    hurried = replace(world.container.services.session_list, tick=lambda: next(clock))
    patient = replace(world.container.services.session_list, tick=lambda: 0.0)
    asked: dict[str, Any] = {"project_id": world.project_id, "filters": SessionFilter(words=q), "order": sort}

    listed, cursor, pages = list[str](), None, 0
    while not pages or cursor:
        page = hurried.page(**asked, cursor=cursor, limit=2)
        listed, cursor, pages = listed + [one.id for one in page.entries], page.next_cursor, pages + 1
        assert all(one.hit for one in page.entries)

    assert listed == [one.id for one in patient.page(**asked).entries]
    assert len(listed) == 5
    assert pages >= 5


def test_spans_that_come_later_are_found_too(world: World) -> None:
    prompt_id, trace_id = world.prompt(), secrets.token_hex(16)
    for number, text in enumerate(["earlier", "later"], 1):
        chat = {
            "service.prompt.id": prompt_id,
            "gen_ai.operation.name": "chat",
            "gen_ai.output.messages": message("assistant", text),
        }
        world.send(export(span(chat, traceId=trace_id, spanId=f"{number}" * 16)))
        index(world)

    assert len(found(world, "earlier later")) == 1


def test_another_project_finds_nothing_of_it(filled: World) -> None:
    stranger = new_world(filled.container)
    say(stranger, stranger.prompt(), "refund of a stranger")
    index(stranger)

    assert found(stranger, "refund*") == ["refund of a stranger"]
    assert found(stranger, "4711") == found(stranger, '"not possible"') == []
    assert "stranger" not in stored_words(filled)


def test_the_words_of_a_deleted_session_leave_the_index(filled: World) -> None:
    [session] = filled.get("/api/v1/sessions", params={"q": "zürich"}).json["sessions"]

    assert filled.delete(f"/api/v1/sessions/{session['id']}").status_code == 204
    assert found(filled, "zürich") == []
    index(filled)

    assert {"zürich", "nämë"} & stored_words(filled) == set()
    assert {"refund", "4711"} <= stored_words(filled)


def test_the_words_of_an_erased_prompt_leave_the_index(filled: World) -> None:
    [session] = filled.get("/api/v1/sessions", params={"q": "zürich"}).json["sessions"]
    services = filled.container.services

    services.deletion.erase_prompt(project_id=filled.project_id, prompt_id=session["promptId"])
    index(filled)

    assert stored_words(filled) == set()


def test_masked_words_never_reach_the_index(world: World) -> None:
    rules = {"masking": [{"kind": "pattern", "value": "4711"}]}
    assert world.put("/api/v1/data-policy", json=rules).status_code == 200
    say(world, world.prompt(), "order 4711 is late")
    index(world)

    assert "late" in stored_words(world)
    assert "4711" not in stored_words(world)


def test_two_that_read_a_block_at_once_lose_nothing(world: World) -> None:
    prompt_id, database = world.prompt(), world.container.database
    say(world, prompt_id, "before")
    with database.read() as connection:
        number = search.next_waiting(connection, world.project_id, after=0)
        assert number is not None
        block = search.BlockKey(world.project_id, number)
        ids, _ = search.waiting_of(connection, block)
    say(world, prompt_id, "after")
    index(world)

    # The one that read less comes last.
    with database.write() as connection:
        assert not search.put(connection, block, {0: b"\nbefore A"}, waiting_ids=ids)

    assert {"before", "after"} <= stored_words(world)


@EMBEDDED_CONTAINER
def test_words_are_read_in_time_while_batches_come_in_without_a_pause(container: Container) -> None:
    early, load = [new_world(container) for _ in range(6)], EndlessLoad()
    index(early[0])
    for world in early:
        say(world, world.prompt(), "early words")
    work_time = WorkTime(WORK_S, load.busy, load.monotonic)
    indexer = SearchIndexer(database=container.database, enabled=True, work_time=work_time)

    while load.now_s < LAGGING_S + 8 * (WORK_S + EVERY_S):
        meanwhile = new_world(container)
        say(meanwhile, meanwhile.prompt(), "meanwhile")
        indexer.sweep()
        assert stored_words(meanwhile) == {"meanwhile"}
        load.now_s += EVERY_S

    assert [stored_words(world) for world in early] == [{"early", "words"}] * 6


@EMBEDDED_CONTAINER
def test_a_turn_that_cannot_be_read_keeps_no_other_from_being_found(
    filled: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id = filled.prompt()
    poisoned = say(filled, prompt_id, "poisoned words")
    say(filled, prompt_id, "words behind them")

    def build(spans: list[RawSpan], records: Records) -> LoneTurn:
        if spans[0].trace_id.hex() == poisoned:
            raise ValueError("an unexpected shape")
        return build_lone_turn(spans, records)

    monkeypatch.setattr(search_index, "build_lone_turn", build)
    with structlog.testing.capture_logs() as logged:
        index(filled)

    assert len(found(filled, "words")) == len(found(filled, "refund")) == 1
    assert "poisoned" not in stored_words(filled)
    [several, one] = [entry for entry in logged if entry["event"] == "turns_unreadable"]
    assert (one["project"], one["traces"]) == (filled.project_id, [poisoned])
    assert poisoned in several["traces"]


def test_a_turn_that_is_damaged_after_it_was_indexed_keeps_no_other_from_being_found(filled: World) -> None:
    prompt_id = filled.prompt()
    damaged = bytes.fromhex(say(filled, prompt_id, "five: a refund of nothing, not possible"))
    index(filled)
    of_damaged = spans.spans.c.trace_id == damaged
    with filled.container.database.write() as connection:
        connection.execute(update(spans.spans).where(of_damaged).values(body=ZSTD_1 + b"..."))
    try:
        with structlog.testing.capture_logs() as logged:
            by_words = found(filled, "refund")
            by_phrase = found(filled, '"not possible"')
    finally:
        # Other tests look for words in all that is stored.
        with filled.container.database.write() as connection:
            connection.execute(delete(spans.spans).where(of_damaged))

    assert sorted(words_of(one)[0] for one in by_words) == ["five", "one"]
    assert [words_of(one)[0] for one in by_phrase] == ["one"]
    assert {(entry["event"], entry["project"]) for entry in logged if "traces" in entry} == {
        ("turns_unreadable", filled.project_id)
    }


def test_an_index_that_is_switched_off_is_removed_and_made_again_when_it_is_on(filled: World) -> None:
    off = SearchIndexer(database=filled.container.database, enabled=False)
    while stored_words(filled):
        off.sweep()
    off.sweep()
    assert found(filled, "refund*") == []

    index(filled)

    assert len(found(filled, "refund*")) == 2
