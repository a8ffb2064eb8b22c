"""A prompt's log: runs and sessions in one list, newest first, page by page."""

from __future__ import annotations

import itertools
import json
import secrets
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from app.models.runs import runs
from app.models.sessions import sessions
from app.services.prompt_log import query as log_query
from app.services.prompt_log.query import LogFilter
from app.services.prompt_log.service import LogSort
from app.services.search.scanning import SEARCH_S
from app.services.sessions import service as logs
from app.sessions.facts import MAX_NAMES
from app.sessions.sums import NAMES_MAX
from app.timestamps import EPOCH
from tests.support.exports import export, span
from tests.support.world import World

NS_PER_MS = 1_000_000
# Milliseconds: runs and sessions that start at once among them.
RUNS = [10, 20, 20, 30]
SESSIONS = [5, 20, 20, 25]
VERSION = "1" * 64
# What some of them have, by their place.
OF_RUNS: dict[int, dict[str, Any]] = {0: {"nok": "NOK: no"}, 1: {"commit_hash": VERSION}, 2: {"commit_hash": None}}
FAILED = {"code": 2, "message": "429 Too many requests"}
OF_SESSIONS: list[tuple[dict[str, str], dict[str, Any]]] = [
    ({"service.prompt.version": VERSION}, {}),
    ({}, FAILED),
    ({"gen_ai.request.model": "gpt-x"}, FAILED),
    ({"gen_ai.request.model": "gpt-x"}, {}),
]


def new_prompt(world: World) -> int:
    body = {"name": "Log", "value": "x", "languageModelName": "echo"}
    return int(world.post("/api/v1/prompts", json=body).json["prompt"]["id"])


def filled(world: World) -> int:
    """A prompt with RUNS and SESSIONS."""
    prompt_id = new_prompt(world)
    for number, start_ms in enumerate(RUNS):
        question = {"id": prompt_id, "question": f"Question {number}"}
        answer = world.post("/api/v1/prompts/run", json=question)
        changed = update(runs).where(runs.c.id == int(answer.headers["X-Run-Id"]))
        when = EPOCH + timedelta(milliseconds=start_ms)
        with world.container.database.write() as connection:
            connection.execute(changed.values(created_at=when, **OF_RUNS.get(number, {})))
    for number, start_ms in enumerate(SESSIONS):
        said = json.dumps([{"role": "user", "parts": [{"type": "text", "content": f"Opening {number}"}]}])
        attributes = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat", "gen_ai.input.messages": said}
        of_session, status = OF_SESSIONS[number]
        # Half a millisecond into it: a session's start is finer than a run's.
        times = {
            "startTimeUnixNano": str(start_ms * NS_PER_MS + number % 2),
            "endTimeUnixNano": str(start_ms * NS_PER_MS + 9),
        }
        world.send(export(span(attributes | of_session, traceId=secrets.token_hex(16), status=status, **times)))
    return prompt_id


@pytest.fixture
def filled_world(world: World) -> tuple[World, int]:
    return world, filled(world)


def listed(world: World, prompt_id: int, **query: Any) -> list[dict[str, Any]]:
    """All entries, page after page."""
    entries: list[dict[str, Any]] = []
    cursor = ""
    while cursor is not None:
        page = world.get(
            f"/api/v1/prompts/{prompt_id}/logs", params=query | ({"cursor": cursor} if cursor else {})
        ).json
        entries += page["entries"]
        cursor = page["nextCursor"]
    return entries


@pytest.mark.parametrize("limit", [1, 2, 3, 200])
def test_pages_of_any_size_show_every_entry_once_in_the_same_order(world: World, limit: int) -> None:
    prompt_id = filled(world)

    entries = listed(world, prompt_id, limit=limit)

    assert len({(entry["type"], entry["id"]) for entry in entries}) == len(RUNS) + len(SESSIONS)
    assert entries == listed(world, prompt_id)
    assert entries == listed(world, prompt_id, limit=limit, sort="oldest")[::-1]
    assert [(entry["startedAt"][-4:-1], entry["type"]) for entry in entries] == [
        ("030", "run"),
        ("025", "otel"),
        ("020", "otel"),
        ("020", "run"),
        ("020", "run"),
        ("020", "otel"),
        ("010", "run"),
        ("005", "otel"),
    ]


def test_entries_describe_their_run_and_their_session(world: World) -> None:
    run, session = listed(world, filled(world))[:2]

    assert run | {"id": 0, "response_time_ms": 0} == {
        "type": "run",
        "id": 0,
        "startedAt": "1970-01-01T00:00:00.030Z",
        "status": "ok",
        "source": "api",
        "question": "Question 3",
        "answer": "Question 3",
        "model": "echo",
        "commitHash": run["commitHash"],
        "tokens": run["tokens"],
        "cost": 0.0,
        "response_time_ms": 0,
        "error": None,
        "preview": "Question 3",
    }
    assert session["preview"] == "Opening 3"
    assert session["turns"] == 1


FILTERS: list[tuple[dict[str, str], int]] = [
    ({"type": "run"}, 4),
    ({"type": "otel"}, 4),
    ({"status": "ok"}, 3),
    ({"status": "failed"}, 0),
    ({"errors": "true"}, 3),
    ({"errors": "false"}, 5),
    ({"errors": "true", "type": "run"}, 1),
    ({"errors": "true", "status": "ok"}, 0),
    ({"version": VERSION}, 2),
    ({"version": "draft"}, 1),
    ({"version": "0" * 64}, 0),
    ({"model": "echo"}, 4),
    ({"model": "gpt-x"}, 2),
    ({"model": "gpt-x", "errors": "true"}, 1),
    ({"model": "gpt"}, 0),
    ({"search": "OPENING 2"}, 1),
    ({"search": "question 1"}, 1),
    ({"search": "%"}, 0),
    ({"from": "1970-01-01T00:00:00.020Z"}, 6),
    ({"to": "1970-01-01T00:00:00.020Z"}, 2),
    ({"type": "otel", "minDurationMs": "0.000009"}, 2),
    ({"type": "otel", "maxDurationMs": "0.000008"}, 2),
    ({"type": "otel", "minDurationMs": "1e308"}, 0),
    ({"type": "otel", "maxDurationMs": "1e308"}, 4),
]


@pytest.mark.parametrize(("query", "found"), FILTERS)
def test_filters_pick_entries(world: World, query: dict[str, str], found: int) -> None:
    assert len(listed(world, filled(world), **query)) == found


@pytest.mark.parametrize(("query", "found"), FILTERS)
def test_filters_find_sessions_that_are_not_added_up(world: World, query: dict[str, str], found: int) -> None:
    prompt_id = filled(world)
    with world.container.database.write() as connection:
        not_added_up = {"errors": None, "names": None, "duration_ns": 0}
        connection.execute(update(sessions).where(sessions.c.prompt_id == prompt_id).values(not_added_up))

    assert len(listed(world, prompt_id, **query)) == found


def test_a_session_with_more_names_than_are_kept_is_found_by_the_last_one(world: World) -> None:
    prompt_id = new_prompt(world)
    known = {"service.prompt.id": prompt_id, "gen_ai.conversation.id": "many tools"}
    called, asked = known | {"gen_ai.operation.name": "execute_tool"}, known | {"gen_ai.operation.name": "chat"}
    for start in range(0, NAMES_MAX, MAX_NAMES):
        tools = [called | {"gen_ai.tool.name": f"t{start + place}"} for place in range(MAX_NAMES)]
        versioned = asked | {"service.prompt.version": VERSION}
        turn = {"traceId": secrets.token_hex(16)}
        world.send(export(*(span(one, spanId=secrets.token_hex(8), **turn) for one in [versioned, *tools])))

    assert len(listed(world, prompt_id, version=VERSION)) == 1
    assert listed(world, prompt_id, version="0" * 64) == []


def test_no_turns_are_read_of_sessions_that_do_not_match(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt_id = filled(world)
    read: list[int] = []

    def summarise(connection: Any, rows: Any, prices: Any) -> Any:
        read.append(len(rows))
        return logs.summarise(connection, rows, prices)

    monkeypatch.setattr(log_query, "summarise", summarise)

    assert len(listed(world, prompt_id, type="otel", model="gpt-x", errors="true")) == sum(read) == 1


@pytest.mark.parametrize(
    "filters",
    [
        LogFilter(search="n"),
        LogFilter(search="opening 2"),
        LogFilter(search="n", type="run"),
        LogFilter(search="n", from_at=EPOCH + timedelta(milliseconds=20), to_at=EPOCH + timedelta(milliseconds=30)),
        LogFilter(status="ok"),
        LogFilter(errors=True),
        LogFilter(errors=False),
        LogFilter(search="n", version=VERSION),
        LogFilter(model="gpt-x"),
        LogFilter(search="nowhere"),
    ],
    ids=str,
)
def test_a_search_in_pieces_finds_what_a_search_at_once_finds(filled_world, filters) -> None:
    world, prompt_id = filled_world
    # Time is always up: each page is the least that is looked at.
    clock = itertools.count(step=SEARCH_S)

    def found(window: int, limit: int, order: LogSort = "time") -> list[Any]:
        service = replace(world.container.services.logs, window=window, tick=lambda: next(clock))
        entries: list[Any] = []
        cursor = None
        while True:
            page = service.page(
                project_id=world.project_id,
                prompt_id=prompt_id,
                filters=filters,
                order=order,
                limit=limit,
                cursor=cursor,
            )
            assert len(page.entries) <= limit
            entries += page.entries
            if (cursor := page.next_cursor) is None:
                return entries

    at_once = found(100, 200)
    for window, limit in itertools.product([1, 2, 3, 100], [1, 3, 200]):
        assert found(window, limit) == at_once
        assert found(window, limit, "oldest") == at_once[::-1]


def test_a_slow_search_ends_early_and_returns_where_to_go_on(filled_world) -> None:
    world, prompt_id = filled_world
    clock = itertools.count(step=SEARCH_S / 2)
    service = replace(world.container.services.logs, window=1, tick=lambda: next(clock))
    asked: dict[str, Any] = {"project_id": world.project_id, "prompt_id": prompt_id, "limit": 50}
    first = service.page(**asked, filters=LogFilter(search="opening 0"), cursor=None)
    rest = world.container.services.logs.page(**asked, filters=LogFilter(search="opening 0"), cursor=first.next_cursor)

    assert first.entries == []
    assert [entry.preview for entry in rest.entries] == ["Opening 0"]
    assert rest.next_cursor is None


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "201"}, "limit"),
        ({"limit": "x"}, "limit"),
        ({"cursor": "nonsense"}, "cursor"),
        ({"cursor": "WzFd"}, "cursor"),
        ({"cursor": "W251bGwsMSwxXQ"}, "cursor"),
        ({"type": "span"}, "type"),
        ({"status": "done"}, "status"),
        ({"sort": "size"}, "sort"),
        ({"from": "yesterday"}, "from"),
        ({"other": "1"}, "other"),
    ],
)
def test_a_bad_query_is_400_naming_the_parameter(world: World, query: dict[str, str], named: str) -> None:
    answer = world.get(f"/api/v1/prompts/{new_prompt(world)}/logs", params=query)

    assert answer.status_code == 400
    assert named in answer.json["error"]
