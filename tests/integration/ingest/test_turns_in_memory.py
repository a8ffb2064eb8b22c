"""The facts of few turns are in memory at once, however many turns a batch or a count of sessions has."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.models import turns
from app.services.ingest import service as ingest
from app.services.ingest import settling
from app.services.ingest import turns as ingested
from app.services.insight import counter as insight_counter
from app.services.sessions import bills
from tests.integration.ingest.test_insight_counter import counted
from tests.integration.ingest.test_log_records import previews, record
from tests.support.exports import export, span
from tests.support.world import World


def chats(prompt_id: int, count: int, conversation_id: str | None = None) -> list[dict[str, Any]]:
    attributes = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 1}
    if conversation_id:
        attributes["gen_ai.conversation.id"] = conversation_id
    return [span(attributes, traceId=secrets.token_hex(16), spanId=secrets.token_hex(8)) for _ in range(count)]


def sizes_of(monkeypatch: pytest.MonkeyPatch, name: str) -> list[int]:
    """Return the numbers of turns that each call of a function of `turns` returns from now on."""
    read: Callable[..., list[Any]] = getattr(turns, name)
    sizes: list[int] = []

    def counting(*given: Any, **named: Any) -> list[Any]:
        rows = read(*given, **named)
        sizes.append(len(rows))
        return rows

    monkeypatch.setattr(turns, name, counting)
    return sizes


def test_a_batch_that_adds_to_many_turns_is_stored_some_turns_at_a_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "TURNS_AT_ONCE", 3)
    monkeypatch.setattr(settling, "TURNS_AT_ONCE", 3)
    prompt_id, sizes = world.prompt(), sizes_of(monkeypatch, "lock_existing")
    first = chats(prompt_id, 8, "c")
    later = [sent | {"spanId": secrets.token_hex(8)} for sent in first]
    store, project_id = world.container.services.ingest.store, world.project_id

    assert store(project_id, export(*first)).stored == 8
    assert store(project_id, export(*later, *first)).stored == 8

    [entry] = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    assert (entry["turns"], entry["usage"]["inputTokens"]) == (8, 16)
    assert max(sizes) == 3
    assert sum(sizes) >= 8


def test_log_records_of_many_turns_are_joined_some_turns_at_a_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingested, "TURNS_AT_ONCE", 3)
    prompt_id, sizes = world.prompt(), sizes_of(monkeypatch, "lock_existing")
    spans = chats(prompt_id, 8)
    assert world.send(export(*spans)).status_code == 200
    sizes.clear()

    assert world.log([record(sent) for sent in spans]).status_code == 200

    assert previews(world, prompt_id) == ["How warm is it?"] * 8
    assert sizes == [3, 3, 2]


def test_the_turns_of_short_sessions_are_counted_some_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(insight_counter, "TURNS_AT_ONCE", 5)
    prompt_id = world.prompt()
    assert world.send(export(*(sent for n in range(5) for sent in chats(prompt_id, 2, f"c{n}")))).status_code == 200
    sizes = sizes_of(monkeypatch, "list_turns")

    [figures] = counted(world, prompt_id).values()

    assert (figures.sessions, figures.turns, figures.input_tokens) == (5, 10, 10)
    assert [size for size in sizes if size] == [4, 4, 2]


def test_a_long_session_rests_after_it_was_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(insight_counter, "LONG_TURNS", 3)
    seconds = 0.0

    def tick() -> float:
        nonlocal seconds
        seconds += 1
        return seconds

    counter = replace(world.container.services.insight_counter, monotonic=tick)
    prompt_id, project_id = world.prompt(), world.project_id

    def change(turns_of_long: int) -> int:
        sent = chats(prompt_id, turns_of_long, "long") + chats(prompt_id, 1, "short")
        assert world.send(export(*sent)).status_code == 200
        return counter.count(project_id)

    # The count of the long session needs a second, and one of a session of up to three turns has no rest.
    assert change(4) == 2
    assert change(1) == 1
    seconds += insight_counter.REST_FACTOR
    assert change(1) == 2
    assert counter.count(project_id) == 0


def test_no_reader_of_several_sessions_has_the_facts_of_more_turns_than_a_long_one() -> None:
    assert bills.TURNS_AT_ONCE <= bills.TURNS_OF_LISTED
    assert insight_counter.TURNS_AT_ONCE <= bills.TURNS_OF_LISTED
