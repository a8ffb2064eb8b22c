"""Traces that once froze the process that read their words, filled its memory, or hid others from the search."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import select, update

from app.models import bulk, search, spans
from app.models.compression import raw_of
from app.replay.texts.scalars import letters
from app.search.blocks import BUCKET_BYTES, unindexed_in
from app.services.search import indexing as search_index
from app.services.search import turn_sizes
from app.services.search.indexing import SearchIndexer
from tests.support.exports import export, span
from tests.support.world import World, new_world

MARKS = "a" + "\u0301" * 40_000 + "\u0323" * 40_000
# A run of marks once held the interpreter for more than this; another thread of a busy machine waits less.
STILL_S = 3.0


@contextmanager
def watched() -> Iterator[None]:
    """Fail if another thread of this process waits for long."""
    gaps, stop = [0.0], threading.Event()

    def watch() -> None:
        before = time.monotonic()
        while not stop.wait(0.01):
            now = time.monotonic()
            gaps.append(now - before)
            before = now

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert max(gaps) < STILL_S


def say(world: World, prompt_id: int, *texts: str, trace_id: str = "", span_id: str = "") -> str:
    """Send a turn with a tool's result for each text; returns its trace id."""
    trace_id = trace_id or secrets.token_hex(16)
    called = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    results = [
        span(called | {"gen_ai.tool.call.result": text}, traceId=trace_id, spanId=span_id or f"{number:016x}")
        for number, text in enumerate(texts, 1)
    ]
    assert world.send(export(*results)).status_code == 200
    return trace_id


def indexer(world: World) -> SearchIndexer:
    return SearchIndexer(database=world.container.database, enabled=True)


def index(world: World) -> None:
    sweeping = indexer(world)
    while waiting(world):
        sweeping.sweep()


def waiting(world: World) -> list[int]:
    with world.container.database.read() as connection:
        return search.waiting_projects(connection)


def found(world: World, q: str) -> int:
    """Return the number of sessions that are found, page after page: one ends where its time is up."""
    count, cursor = 0, ""
    while cursor is not None:
        page = world.get("/api/v1/sessions", params={"q": q} | ({"cursor": cursor} if cursor else {}))
        assert page.status_code == 200, page.text
        count, cursor = count + len(page.json["sessions"]), page.json["nextCursor"]
    return count


def test_a_run_of_combining_marks_is_stored_indexed_and_searched_while_other_threads_run(world: World) -> None:
    with watched():
        say(world, world.prompt(), f"zebra {MARKS}")
        index(world)
        assert found(world, "zebra") == 1
        assert found(world, '"zebra a"') == 0


def test_the_matcher_text_compares_runs_of_combining_marks_while_other_threads_run() -> None:
    with watched():
        assert letters(MARKS) == letters(MARKS.upper())


def test_a_flood_of_one_organization_delays_the_words_of_another_by_one_turn(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(world)
    other = new_world(world.container)
    prompt_id = world.prompt()
    for number in range(3 * 64):
        say(world, prompt_id, f"flood {number}")
    say(other, other.prompt(), "patience")
    sweeping = indexer(world)

    steps = 0
    while not found(other, "patience"):
        assert sweeping._next()
        steps += 1

    assert steps <= 2
    assert world.project_id in waiting(world)


def test_a_tiny_span_has_only_its_own_turn_read_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt_id = world.prompt()
    traces = [say(world, prompt_id, f"turn number {number}") for number in range(40)]
    index(world)
    read: list[int] = []

    def counted(*args: Any, listed: Any, **options: Any) -> Any:
        read.append(len(listed))
        return built_turns(*args, listed=listed, **options)

    built_turns = search_index.built_turns
    monkeypatch.setattr(search_index, "built_turns", counted)
    say(world, prompt_id, "late", trace_id=traces[7], span_id="f" * 16)
    index(world)

    assert read == [1]
    assert (found(world, "late"), found(world, "late turn"), found(world, "late number 8"), found(world, "turn")) == (
        1,
        1,
        0,
        40,
    )


def test_words_that_all_fall_into_one_bucket_are_found_without_being_kept(world: World) -> None:
    prompt_id = world.prompt()
    # Each turn is too long for a bucket: other tests' turns decide whether both are in one block.
    for turn in range(2):
        say(world, prompt_id, *(" ".join(f"aa{turn}{text}{n:015}" for n in range(9_900)) for text in range(5)))
    say(world, prompt_id, "aardvark")
    index(world)

    last = f"{9_899:015}"
    assert (found(world, f"aa02{last}"), found(world, f"aa14{last}"), found(world, f"aa05{last}")) == (1, 1, 0)
    assert (found(world, "aardvark"), found(world, "aa*"), found(world, "aa* -aardvark")) == (1, 3, 2)
    of_project = select(search.search_words.c.words).where(search.search_words.c.project_id == world.project_id)
    with world.container.database.read() as connection:
        buckets = connection.scalars(of_project).all()
    assert max(map(len, buckets)) <= BUCKET_BYTES
    assert any(map(unindexed_in, buckets))


def test_a_turn_of_too_many_words_is_found_by_its_texts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "TURN_WORDS", 10)
    prompt_id = world.prompt()
    say(world, prompt_id, "refund " + " ".join(map(str, range(20))))
    say(world, prompt_id, "refund 5")
    index(world)

    assert found(world, "refund 5") == 2
    assert found(world, "19") == 1
    assert found(world, "refund -19") == 1
    assert found(world, "20") == 0


def test_a_short_stored_turn_that_expands_is_read_until_its_bytes_are_many(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_sizes, "TURN_BYTES", 200_000)
    prompt_id = world.prompt()
    for turn in range(3):
        for number, name in enumerate(("first", "second", "third"), 1):
            say(world, prompt_id, f"{name} " * 20_000, trace_id=f"{turn + 1:032x}", span_id=f"{number:016x}")
    read: list[int] = []

    def counted(*args: Any, **options: Any) -> Any:
        listed = spans_of(*args, **options)
        read.append(sum(len(span.raw) for span in listed))
        return listed

    spans_of = spans.spans_of
    monkeypatch.setattr(spans, "spans_of", counted)
    index(world)

    assert (found(world, "first"), found(world, "third")) == (3, 0)
    assert found(world, '"first first" -third') == 3
    assert max(read) <= 200_000


def test_lists_that_need_far_more_memory_than_bytes_are_not_read(world: World) -> None:
    prompt_id, lists = world.prompt(), "[" + "[]," * (turn_sizes.TURN_ELEMENTS_MAX // 2) + '"hidden"]'
    trace_id = say(world, prompt_id, "plain")
    say(world, prompt_id, lists, trace_id=trace_id, span_id="f" * 16)
    index(world)

    assert (found(world, "plain"), found(world, "hidden")) == (1, 0)


def test_a_bucket_that_was_cut_is_read_again_and_the_search_goes_on(world: World) -> None:
    say(world, world.prompt(), " ".join(f"refund{number} x{secrets.token_hex(8)}" for number in range(2_000)))
    index(world)
    table = search.search_words
    of_project = table.c.project_id == world.project_id
    with world.container.database.write() as connection:
        for bucket, words in connection.execute(select(table.c.bucket, raw_of(table.c.words)).where(of_project)).all():
            cut = words[: len(words) // 2]
            connection.execute(update(table).where(of_project, table.c.bucket == bucket).values(words=cut))

    assert found(world, "refund7") == 1
    assert found(world, "refund7 -refund8") == 0
    assert found(world, "refund2000") == 0
    index(world)
    with world.container.database.read() as connection:
        [block] = set(connection.scalars(select(table.c.block).where(of_project)))
        assert None not in search.stored_buckets(connection, search.BlockKey(world.project_id, block)).values()
    assert (found(world, "refund7"), found(world, "refund2000")) == (1, 0)


def test_a_row_that_does_not_fit_its_table_is_refused_and_not_cut(world: World) -> None:
    if world.container.database.is_sqlite:
        pytest.skip("SQLite cuts nothing")
    row = (world.project_id, b"t" * 16, b"s" * 8, 1, 1, "s" * 100_000, b"{}")
    with world.container.database.write() as connection, pytest.raises(ValueError, match="does not fit"):
        bulk.insert_new(connection, "spans", spans.SPAN_COLUMNS, [row])
