"""A search keeps within its memory and work with any index: see docs/security.md."""

from __future__ import annotations

import itertools
import secrets
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select, update

from app.models import search, turns
from app.models.compression import compress, decompress
from app.models.search import IndexedTurn
from app.search.blocks import BUCKET_BYTES, TURNS_PER_BLOCK, bucket_of, changed_buckets
from app.services.search import service as traces_search
from app.services.search.indexing import SearchIndexer
from app.services.search.service import FoundTurn
from tests.support.exports import export, span
from tests.support.world import World

BLOCKS, MIB = 40, 1024 * 1024
WORDS = [f"re{number:06d}" + "x" * 56 for number in range(15_000)]


def ask(world: World, prompt_id: int, conversation: str, text: str, times: int = 1) -> None:
    """Send turns of a conversation with this text."""
    called = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    named = called | {"gen_ai.conversation.id": conversation, "gen_ai.tool.call.result": text}
    spans = [span(named, traceId=secrets.token_hex(16), spanId=secrets.token_hex(8)) for _ in range(times)]
    assert world.send(export(*spans)).status_code == 200


@pytest.fixture
def scattered(world: World) -> bytes:
    """The key of a session with a turn in each of many blocks, of which each has the longest words."""
    ask(world, world.prompt(), "c", "refund", times=BLOCKS)
    lines = changed_buckets({}, 1, dict.fromkeys(["refund", *WORDS], 1), 0)[bucket_of("refund")]
    assert BUCKET_BYTES * 0.9 < len(lines) <= BUCKET_BYTES
    stored, first_block = compress(lines), 2**34 + secrets.randbelow(2**33) * BLOCKS
    table = turns.turns
    with world.container.database.write() as connection:
        of_project = select(table.c.id, table.c.session_key).where(table.c.project_id == world.project_id)
        listed = connection.execute(of_project.order_by(table.c.id)).all()
        for block, row in enumerate(listed, first_block):
            connection.execute(update(table).where(table.c.id == row.id).values(id=block * TURNS_PER_BLOCK))
            key = {"project_id": world.project_id, "bucket": bucket_of("refund"), "block": block}
            connection.execute(insert(search.search_words), key | {"words": stored})
    return bytes(listed[0].session_key)


def is_waiting(world: World) -> bool:
    with world.container.database.read() as connection:
        return bool(search.waiting_projects(connection))


def peak_of(work: Callable[[], object]) -> int:
    """Return the bytes that the work has in memory at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def rare(world: World, q: str) -> list[bytes] | None:
    service = world.container.services.session_list.search
    with world.container.database.read() as connection:
        return service.rare(connection, project_id=world.project_id, query=service.query(q))


def first(world: World, q: str, keys: Sequence[bytes]) -> dict[bytes, FoundTurn | None]:
    service = world.container.services.session_list.search
    query = service.query(q)
    with world.container.database.read() as connection:
        return service.first_turns(connection, project_id=world.project_id, query=query, session_keys=keys)


def searched(world: World, q: str) -> int:
    """Return the number of sessions that a search finds, page after page."""
    count, cursor = 0, ""
    while cursor is not None:
        page = world.get("/api/v1/sessions", params={"q": q, "limit": 2} | ({"cursor": cursor} if cursor else {}))
        assert page.status_code == 200, page.text
        count, cursor = count + len(page.json["sessions"]), page.json["nextCursor"]
    return count


def test_a_search_has_the_words_of_one_block_in_memory(world: World, scattered: bytes) -> None:
    rare(world, "warm")

    assert peak_of(lambda: rare(world, "rezzzz re*")) < 6 * MIB
    assert peak_of(lambda: first(world, "rezzzz re*", [scattered])) < 6 * MIB
    assert rare(world, "rezzzz re*") == []
    assert first(world, "rezzzz", [scattered]) == {scattered: None}


def test_turns_beyond_the_budget_of_a_search_are_found_by_their_texts(
    world: World, scattered: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces_search, "WORDS_MAX", 3 * 1024)
    blocks = list[bytes]()

    def counted(stored: bytes) -> bytes:
        blocks.append(stored)
        return decompress(stored)

    monkeypatch.setattr(search, "decompress", counted)

    assert rare(world, "refund") is None
    assert len(blocks) <= 4
    blocks.clear()
    assert first(world, "rezzzz", [scattered]) == {scattered: None}
    assert len(blocks) <= 4
    turn = first(world, "refund -rezzzz", [scattered])[scattered]
    assert turn
    assert searched(world, "refund") == 1
    assert searched(world, "refund -look") == 1
    assert searched(world, "rezzzz") == 0


def test_sessions_with_many_turns_are_searched_one_after_another(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt_id = world.prompt()
    for number in range(5):
        ask(world, prompt_id, f"c{number}", "refund" if number else "other", times=2)
    indexer = SearchIndexer(database=world.container.database, enabled=True)
    while is_waiting(world):
        indexer.sweep()
    monkeypatch.setattr(traces_search, "RARE_TURNS_MAX", 0)
    monkeypatch.setattr(traces_search, "LISTED_MAX", 4)
    listed = list[int]()
    turns_of_sessions = search.turns_of_sessions

    def counted(connection: Connection, **keys: Any) -> list[IndexedTurn]:
        turns = turns_of_sessions(connection, **keys)
        listed.append(len(turns))
        return turns

    monkeypatch.setattr(search, "turns_of_sessions", counted)

    assert searched(world, "refund") == 4
    assert max(listed) == 4
    monkeypatch.setattr(traces_search, "LISTED_MAX", 1)
    listed.clear()
    assert searched(world, "refund") == 4
    assert max(listed) == 2
    log = world.get(f"/api/v1/prompts/{prompt_id}/logs", params={"q": "refund"})
    assert len(log.json["entries"]) == 4
    monkeypatch.setattr(traces_search, "SEARCHED_MAX", 1)
    listed.clear()
    assert searched(world, "refund") == 4
    assert max(listed) == 1


@pytest.fixture
def undecided(world: World, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[IndexedTurn]]:
    """The prompt of a long session that has both words of a phrase in each turn, and the turns that are read of it.

    Each question about the time finds that it is over.
    """
    prompt_id = world.prompt()
    ask(world, prompt_id, "long", "alpha then other words and beta", times=60)
    indexer = SearchIndexer(database=world.container.database, enabled=True)
    while is_waiting(world):
        indexer.sweep()
    monkeypatch.setattr(traces_search, "UNDECIDED_BYTES", 10 * 32 * 1024)
    for lists in (world.container.services.session_list, world.container.services.logs):
        monkeypatch.setattr(lists, "tick", itertools.count().__next__)
    read, built_turns = list[IndexedTurn](), traces_search.built_turns

    def noting(connection: Connection, *, project_id: int, listed: Sequence[IndexedTurn]) -> Any:
        read.extend(listed)
        return built_turns(connection, project_id=project_id, listed=listed)

    monkeypatch.setattr(traces_search, "built_turns", noting)
    return prompt_id, read


@pytest.mark.parametrize("path", ["sessions", "prompts/{}/logs"])
def test_a_search_reads_few_turns_of_a_long_session_and_lists_it_without_a_hit(
    world: World, undecided: tuple[int, list[IndexedTurn]], path: str
) -> None:
    prompt_id, read = undecided

    page = world.get(f"/api/v1/{path.format(prompt_id)}", params={"q": '"alpha beta"'})

    assert page.status_code == 200, page.text
    [listed] = page.json.get("sessions") or page.json["entries"]
    assert listed.get("hit") is None
    # Groups of eight turns until the limit is passed, and the turn of the hit with the seven after it.
    assert len(read) <= 24


def test_a_hit_in_the_first_turns_of_a_long_session_is_found_though_the_time_is_over(
    world: World, undecided: tuple[int, list[IndexedTurn]]
) -> None:
    page = world.get("/api/v1/sessions", params={"q": '"alpha then"'})

    assert page.json["sessions"][0]["hit"]["turn"] == 1


def test_an_export_reads_a_long_session_to_its_end(world: World, undecided: tuple[int, list[IndexedTurn]]) -> None:
    _, read = undecided

    assert world.get("/api/v1/exports/sessions", params={"q": '"alpha beta"'}).text.strip() == ""

    assert len(read) == 60
