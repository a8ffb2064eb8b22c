"""A prompt's log by duration, cost and errors: the newest entries that match are sorted, and the answer names them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import update

from app.models.runs import runs
from tests.integration.test_logs import filled, listed
from tests.support.exports import export, span
from tests.support.world import World

VALUES: dict[str, Callable[[dict[str, Any]], float]] = {
    "duration": lambda entry: (
        moment(entry["lastActivityAt"]) - moment(entry["startedAt"])
        if entry["type"] == "otel"
        else (-1 if entry["response_time_ms"] is None else entry["response_time_ms"] / 1000)
    ),
    "cost": lambda entry: -1 if entry["cost"] is None else entry["cost"],
    "errors": lambda entry: entry["errors"] if entry["type"] == "otel" else entry["status"] in ("nok", "failed"),
}


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize("order", VALUES)
@pytest.mark.parametrize("limit", [1, 3, 200])
def test_entries_are_sorted_by_what_no_index_has_and_equal_ones_by_time(world: World, order: str, limit: int) -> None:
    prompt_id = filled(world)
    oldest_run = next(one for one in listed(world, prompt_id, sort="oldest") if one["type"] == "run")
    with world.container.database.write() as connection:
        dear = update(runs).where(runs.c.id == oldest_run["id"])
        connection.execute(dear.values(response_time_ms=60_000, cost_usd=5.0, nok="NOK: no"))
    newest = listed(world, prompt_id)

    found = listed(world, prompt_id, sort=order, limit=limit)

    assert [round(VALUES[order](one), 3) for one in found] == sorted(
        (round(VALUES[order](one), 3) for one in newest), reverse=True
    )
    if order == "errors":
        # Times are in milliseconds, which is coarser than those of sessions.
        assert found == sorted(newest, key=VALUES[order], reverse=True)
    else:
        assert found[0]["id"] == oldest_run["id"]
    page = world.get(f"/api/v1/prompts/{prompt_id}/logs", params={"sort": order, "limit": 1}).json
    assert page["sorted"] == {"entries": len(newest), "complete": True}


@pytest.mark.parametrize(
    ("query", "models"),
    [
        ({"minCost": "1.5"}, ["gpt-4o", "echo"]),
        ({"minCost": "1.5", "maxCost": "4.9"}, ["gpt-4o"]),
        ({"maxCost": "0"}, ["echo"] * 3),
        ({"minDurationMs": "60000"}, ["echo"]),
        ({"minDurationMs": "30000", "maxDurationMs": "59999"}, ["gpt-4o"]),
        ({"minDurationMs": "30000", "type": "run"}, ["echo"]),
        ({"minCost": "1000"}, []),
    ],
)
def test_the_log_has_limits_of_cost_and_duration(world: World, query: dict[str, str], models: list[str]) -> None:
    prompt_id = filled(world)
    oldest_run = next(one for one in listed(world, prompt_id, sort="oldest") if one["type"] == "run")
    with world.container.database.write() as connection:
        dear = update(runs).where(runs.c.id == oldest_run["id"])
        connection.execute(dear.values(response_time_ms=60_000, cost_usd=5.0))
    # 2.5 dollars for a million tokens, and 45 seconds.
    tokens = {"gen_ai.request.model": "gpt-4o", "gen_ai.provider.name": "openai", "gen_ai.usage.input_tokens": 10**6}
    chat = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat", **tokens}
    times = {"startTimeUnixNano": "1000000000", "endTimeUnixNano": "46000000000"}
    world.send(export(span(chat, traceId="a" * 32, **times)))

    found = listed(world, prompt_id, **query)

    assert [one["models"][0] if one["type"] == "otel" else one["model"] for one in found] == models


def test_of_many_entries_the_newest_are_sorted_and_the_answer_is_marked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id = filled(world)
    monkeypatch.setattr("app.services.search.scanning.SORTED_MAX", 3)
    path = f"/api/v1/prompts/{prompt_id}/logs"
    newest = listed(world, prompt_id)[:3]

    page = world.get(path, params={"sort": "errors", "limit": 2}).json
    rest = world.get(path, params={"sort": "errors", "limit": 2, "cursor": page["nextCursor"]}).json

    assert page["sorted"] == {"entries": 3, "complete": False}
    assert page["entries"] + rest["entries"] == sorted(newest, key=VALUES["errors"], reverse=True)
    assert rest["nextCursor"] is None
    assert "sorted" not in world.get(path).json


def test_entries_that_come_between_two_sorted_pages_move_none_of_them(world: World) -> None:
    prompt_id = filled(world)
    path, before = f"/api/v1/prompts/{prompt_id}/logs", listed(world, prompt_id, sort="errors")

    page = world.get(path, params={"sort": "errors", "limit": 4}).json
    world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": "Now?", "productive": False})
    rest = world.get(path, params={"sort": "errors", "cursor": page["nextCursor"]}).json

    assert page["entries"] + rest["entries"] == before
    assert len(listed(world, prompt_id)) == len(before) + 1


@pytest.mark.parametrize(
    ("sort", "other"), [("errors", "cost"), ("oldest", "time"), ("time", "oldest"), ("cost", "time")]
)
def test_a_cursor_of_another_order_is_refused(world: World, sort: str, other: str) -> None:
    prompt_id = filled(world)
    path = f"/api/v1/prompts/{prompt_id}/logs"
    cursor = world.get(path, params={"sort": sort, "limit": 1}).json["nextCursor"]
    assert world.get(path, params={"sort": other, "cursor": cursor}).status_code == 400
