"""Spans and long texts are stored compressed; those of earlier releases are read, and compressed by a command."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Column, Connection, Text, delete, func, select, type_coerce

from app.database.packed_text import MARK
from app.models.compression import ZSTD_1, ZSTD_2, StoredText, without_compression
from app.models.log_records import log_records
from app.models.prompts import prompts
from app.models.row_rewriting import compress_rows
from app.models.span_bodies import IN_HOLDER, JOINED, unjoined
from app.models.span_rewriting import join_rows
from app.models.spans import spans
from app.models.turns import turns
from app.services.data import compression
from app.services.ingest.batch import BatchForm
from tests.integration.ingest.test_log_records import chat, record
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.conversations import export as export_conversation
from tests.support.exports import export, pairs_of
from tests.support.full_project import everything
from tests.support.uncompressed import compress_all, uncompressed
from tests.support.world import World

CALLS = (RecordedCall("look_up", {}, "here"),)
TURNS = [RecordedTurn(f"What is {number}?" + " And why?" * 50, "A number.", CALLS) for number in range(5)]
TEXTS = [column for column in compression.COMPRESSED_COLUMNS if isinstance(column.type, StoredText)]
JOINED = {JOINED, IN_HOLDER}
BEGAN_NS = 1_760_000_000_000_000_000

pytestmark = pytest.mark.usefixtures("spans_together")


def conversation(prompt_id: int, name: str = "c-1") -> bytes:
    return export_conversation(prompt_id, name, TURNS, start_ns=BEGAN_NS)


def store_plain(world: World, batch: bytes) -> None:
    """Store a batch as releases without compression did."""
    with uncompressed(world):
        replace(world.container.services.ingest, to_stored=unjoined).store(world.project_id, batch)


def first_bytes(world: World, column: Column[bytes] = spans.c.body) -> set[bytes]:
    """Return the bytes that the project's bodies begin with."""
    of_project = select(func.substr(column, 1, 1)).where(column.table.c.project_id == world.project_id)
    with world.container.database.read() as connection:
        return {bytes(first) for first in connection.scalars(of_project)}


def texts(world: World, *, stored: bool) -> dict[str, list[Any]]:
    """Return the project's long texts by their columns: as they are stored, or as they are read."""
    found = {}
    with world.container.database.read() as connection:
        for column in TEXTS:
            table = column.table
            is_own = table.c.prompt_id.in_(select(prompts.c.id).where(prompts.c.project_id == world.project_id))
            shown = type_coerce(column, Text()) if stored else column
            found[str(column)] = list(connection.scalars(select(shown).where(is_own, column.is_not(None))))
    return found


def compressed_columns(world: World) -> set[str]:
    """Return the columns in which a text of the project is stored compressed."""
    stored, marks = texts(world, stored=True), {str(column): column.type.mark for column in TEXTS}
    return {column for column, found in stored.items() if any(text.startswith(marks[column]) for text in found)}


def sessions(world: World, prompt_id: int) -> list[Any]:
    entries = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    return [world.get(f"/api/v1/sessions/{entry['id']}").json for entry in entries]


def test_what_is_stored_is_compressed_and_read_as_it_was_sent(world: World) -> None:
    prompt_id, compressed = world.prompt(), world.prompt()
    store_plain(world, conversation(prompt_id))
    assert first_bytes(world) == first_bytes(world, turns.c.facts) == {b"{"}

    world.send(conversation(compressed))

    assert first_bytes(world) == {b"{"} | JOINED
    assert first_bytes(world, turns.c.facts) == {b"{", ZSTD_1}
    for shown in (*sessions(world, prompt_id), *sessions(world, compressed)):
        assert [turn["user"] for turn in shown["turns"]] == [turn.user for turn in TURNS]


def test_facts_get_their_own_dictionary(world: World) -> None:
    """Earlier releases compressed them with the dictionary of spans; a damaged row does not change."""
    prompt_id = world.prompt()
    world.send(conversation(prompt_id))
    before, c = sessions(world, prompt_id), turns.c
    assert first_bytes(world, c.facts) == {ZSTD_1}

    compress_all(world.container, c.facts)

    assert first_bytes(world, c.facts) == {ZSTD_2}
    assert sessions(world, prompt_id) == before


def test_rows_of_releases_without_compression_are_compressed_among_others(world: World) -> None:
    prompt_id = world.prompt()
    store_plain(world, conversation(prompt_id))
    world.send(conversation(prompt_id, "c-2"))
    span = chat()
    batch = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record(span)]}]}]}
    of_logs = replace(world.container.services.log_records, to_stored=without_compression)
    of_logs.store(world.project_id, json.dumps(batch).encode(), BatchForm(signal="logs"))
    attributes = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat"}
    world.send(export(span | {"attributes": pairs_of(attributes)}))
    before = sessions(world, prompt_id)
    assert len(before) == 3

    compress_all(world.container)
    compress_all(world.container)

    assert first_bytes(world) == {ZSTD_1} | JOINED
    assert first_bytes(world, log_records.c.body) == {ZSTD_1}
    assert first_bytes(world, turns.c.facts) == {ZSTD_2}
    assert sessions(world, prompt_id) == before


def test_a_turn_that_was_stored_uncompressed_accepts_more_spans(world: World) -> None:
    prompt_id = world.prompt()
    turn = RecordedTurn("Is it there?", "It is.", CALLS)
    batch = json.loads(export_conversation(prompt_id, "c-1", [turn], start_ns=BEGAN_NS))
    scope = batch["resourceSpans"][0]["scopeSpans"][0]
    first, *others = scope["spans"]

    scope["spans"] = [first]
    store_plain(world, json.dumps(batch).encode())
    scope["spans"] = others
    world.send(batch)

    (shown,) = sessions(world, prompt_id)
    assert [step["kind"] for step in shown["turns"][0]["steps"]] == ["tool_call", "answer"]
    assert shown["turns"][0]["user"] == turn.user
    assert first_bytes(world, turns.c.facts) == {ZSTD_1}


def test_a_row_that_is_removed_meanwhile_stays_away(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    store_plain(world, conversation(world.prompt()))

    def remove_first(connection: Connection, **kwargs: Any) -> int:
        connection.execute(delete(spans).where(spans.c.project_id == world.project_id))
        return join_rows(connection, **kwargs)

    monkeypatch.setattr("app.models.span_rewriting.join_rows", remove_first)
    compress_all(world.container)

    assert world.count("spans") == 0


def test_large_bodies_are_rewritten_one_by_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of spans turn by turn."""
    monkeypatch.setattr(compression, "BYTES_AT_ONCE", 1)
    store_plain(world, conversation(world.prompt()))
    with world.container.database.read() as connection:
        ours = set(connection.scalars(select(spans.c.id).where(spans.c.project_id == world.project_id)))
    at_once: dict[Any, list[list[int]]] = defaultdict(list)

    def counted(rewrite: Callable[..., int]) -> Callable[..., int]:
        def count(*args: Any, ids: list[int], **kwargs: Any) -> int:
            at_once[rewrite].append(ids)
            return rewrite(*args, ids=ids, **kwargs)

        return count

    monkeypatch.setattr("app.models.row_rewriting.compress_rows", counted(compress_rows))
    monkeypatch.setattr("app.models.span_rewriting.join_rows", counted(join_rows))
    compress_all(world.container)

    assert first_bytes(world) == JOINED
    assert set(map(len, at_once[compress_rows])) == {1}
    # Other tests may have left spans that are not joined yet.
    turns_of_ours = [ids for ids in at_once[join_rows] if ours.intersection(ids)]
    assert list(map(len, turns_of_ours)) == [len(ours) // len(TURNS)] * len(TURNS)


def test_rows_that_another_command_compressed_meanwhile_are_compressed_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compressed form of what repeats itself becomes shorter a second time, and then no reader knows it."""
    table = "".join(f"2026-11-{number % 28 + 1:02d},{number},ok,EUR\n" for number in range(10_000))
    prompt_id = world.prompt()
    batch = export_conversation(prompt_id, "c-1", [RecordedTurn(table, "Fine.", CALLS)], start_ns=BEGAN_NS)
    store_plain(world, batch)
    with uncompressed(world):
        run_id = said(world, table)["long_run_id"]
    before, read = sessions(world, prompt_id), texts(world, stored=False)

    def twice(rewrite: Callable[..., int]) -> Callable[..., int]:
        def rewrite_twice(connection: Connection, **kwargs: Any) -> int:
            rewrite(connection, **kwargs)
            return rewrite(connection, **kwargs)

        return rewrite_twice

    monkeypatch.setattr("app.models.row_rewriting.compress_rows", twice(compress_rows))
    monkeypatch.setattr("app.models.span_rewriting.join_rows", twice(join_rows))
    compress_all(world.container)

    assert first_bytes(world) == {ZSTD_1} | JOINED
    assert sessions(world, prompt_id) == before
    assert texts(world, stored=False) == read
    assert world.get(f"/api/v1/runs/{run_id}").json["question"] == table


def test_the_bytes_of_a_text_count_and_not_its_characters(world: World) -> None:
    """Each of these characters is three bytes in UTF-8; the compressed form has more characters, of one byte each."""
    text = "".join(random.Random(7).choices([chr(0x4E00 + number) for number in range(1_500)], k=8_000))
    with uncompressed(world):
        said(world, text)

    compress_all(world.container)

    assert any(stored.startswith(MARK) for stored in texts(world, stored=True)["runs.question"])


def said(world: World, question: str = "And? " * 1000) -> dict[str, Any]:
    """Store something of everything, and a run with long texts (`long_run_id`) that goes on with a conversation."""
    made = everything(world)
    prompt = world.post("/api/v1/prompts", json={"name": "A prompt", "value": "Be helpful, and brief. " * 20}).json
    history = [{"role": role, "text": f"{role}, {number}"} for number in range(9) for role in ("user", "assistant")]
    asked = {"id": prompt["prompt"]["id"], "question": question, "history": history}
    ran = world.post("/api/v1/prompts/run", json=asked)
    assert ran.status_code == 200
    return {**made, "long_run_id": int(ran.headers["X-Run-Id"])}


def test_texts_of_runs_and_replays_are_stored_compressed(world: World) -> None:
    said(world)
    assert compressed_columns(world) == {str(column) for column in TEXTS}


def test_rows_without_a_text_are_left_out(world: World) -> None:
    """A replay has no result before its end, and none after it was cancelled."""
    made = said(world)
    program = {"candidate": {"external": {"name": "shop", "revision": "1"}}}
    replay_id = world.post(f"/api/v1/test-cases/{made['test_case_id']}/replays", json=program).json["id"]
    assert world.post(f"/api/v1/replays/{replay_id}/cancel").status_code == 200

    compress_all(world.container)

    assert world.get(f"/api/v1/replays/{replay_id}").json["status"] == "cancelled"


def test_texts_of_releases_without_compression_are_read_and_compressed(world: World) -> None:
    with uncompressed(world):
        made = said(world)
    paths = (f"/api/v1/runs/{made['run_id']}", f"/api/v1/replays/{made['replay_id']}")
    read, shown = texts(world, stored=False), [world.get(path).json for path in paths]
    assert compressed_columns(world) == set()

    compress_all(world.container)
    stored = texts(world, stored=True)
    compress_all(world.container)

    assert texts(world, stored=True) == stored
    assert compressed_columns(world) == {str(column) for column in TEXTS}
    assert texts(world, stored=False) == read
    assert [world.get(path).json for path in paths] == shown
