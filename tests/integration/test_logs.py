"""A prompt's log: runs and sessions in one list, newest first, page by page."""

from __future__ import annotations

import json
import secrets
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from app.models.runs import runs
from app.services.logs import EPOCH
from tests.support.exports import export, span
from tests.support.world import World

NS_PER_MS = 1_000_000
# Milliseconds: runs and sessions that start at once among them.
RUNS = [10, 20, 20, 30]
SESSIONS = [5, 20, 20, 25]


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
        with world.container.database.write() as connection:
            connection.execute(changed.values(created_at=EPOCH + timedelta(milliseconds=start_ms)))
    for number, start_ms in enumerate(SESSIONS):
        said = json.dumps([{"role": "user", "parts": [{"type": "text", "content": f"Opening {number}"}]}])
        attributes = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat", "gen_ai.input.messages": said}
        # Half a millisecond into it: a session's start is finer than a run's.
        times = {
            "startTimeUnixNano": str(start_ms * NS_PER_MS + number % 2),
            "endTimeUnixNano": str(start_ms * NS_PER_MS + 9),
        }
        world.send(export(span(attributes, traceId=secrets.token_hex(16), **times)))
    return prompt_id


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


def test_a_run_and_a_session_say_what_they_were(world: World) -> None:
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


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"type": "run"}, 4),
        ({"type": "otel"}, 4),
        ({"status": "ok"}, 4),
        ({"status": "failed"}, 0),
        ({"search": "OPENING 2"}, 1),
        ({"search": "question 1"}, 1),
        ({"search": "%"}, 0),
        ({"from": "1970-01-01T00:00:00.020Z"}, 6),
        ({"to": "1970-01-01T00:00:00.020Z"}, 2),
    ],
)
def test_filters_pick_entries(world: World, query: dict[str, str], found: int) -> None:
    assert len(listed(world, filled(world), **query)) == found


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
        ({"from": "yesterday"}, "from"),
        ({"other": "1"}, "other"),
    ],
)
def test_a_bad_query_is_400_naming_the_parameter(world: World, query: dict[str, str], named: str) -> None:
    answer = world.get(f"/api/v1/prompts/{new_prompt(world)}/logs", params=query)

    assert answer.status_code == 400
    assert named in answer.json["error"]
