"""Insight by version, label, model and day, over the API: what was recorded, and two versions side by side."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import event

from app.models.insight_sources import recent_scores
from app.timestamps import utc_now
from tests.support.exports import export, span
from tests.support.world import World, new_world


def turn(
    prompt_id: int, version: str, *, failed: bool = False, ms: int = 1_000, at: datetime | None = None, **recorded: Any
) -> dict[str, Any]:
    """Send a turn, of now unless `at` is given, as a new session with one model call."""
    start = int((at or utc_now()).timestamp()) * 10**9
    attributes = {
        "service.prompt.id": prompt_id,
        "service.prompt.version": version,
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.usage.input_tokens": 1_000_000,
    }
    ids = {"traceId": secrets.token_hex(16), "spanId": secrets.token_hex(8)}
    times = {"startTimeUnixNano": str(start), "endTimeUnixNano": str(start + ms * 10**6)}
    return span(attributes | recorded, **ids, **times, status={"code": 2 if failed else 0})


def recorded(world: World, *turns: dict[str, Any]) -> None:
    """Send turns, and count their sessions as the clock does."""
    assert world.send(export(*turns)).status_code == 200
    while world.container.services.insight_counter.count(world.project_id):
        pass


def groups(world: World, prompt_id: int, **query: Any) -> list[Any]:
    answer = world.get(f"/api/v1/prompts/{prompt_id}/insight", params=query)
    assert answer.status_code == 200, answer.text
    found: list[Any] = answer.json["groups"]
    return found


def test_sessions_are_counted_by_version_with_intervals(world: World) -> None:
    prompt_id = world.prompt()
    of_a = [turn(prompt_id, "a", failed=n < 5, ms=100 * (n + 1)) for n in range(20)]
    recorded(world, *of_a, turn(prompt_id, "b"))

    first, second = groups(world, prompt_id)

    sessions = first["sessions"]
    assert (first["version"], sessions["sessions"], sessions["turns"], sessions["errors"]) == ("a", 20, 20, 5)
    assert sessions["failed"]["value"] == 0.25
    assert sessions["failed"]["low"] < 0.25 < sessions["failed"]["high"]
    assert sessions["cost"] == pytest.approx(3)
    assert sessions["costPerSession"]["p50"]["value"] == pytest.approx(0.15, rel=0.05)
    assert sessions["turnMs"]["p50"]["value"] == pytest.approx(1_000, rel=0.05)
    assert sessions["turnMs"]["p95"]["value"] == pytest.approx(1_900, rel=0.05)
    assert (second["version"], second["sessions"]["sessions"]) == ("b", 1)
    assert second["sessions"]["turnMs"]["p50"]["low"] is None


def test_groups_are_versions_models_days_or_labels_and_filters_choose_among_them(world: World) -> None:
    prompt_id = world.prompt()
    assert world.post(f"/api/v1/prompts/{prompt_id}/commit", json={}).status_code == 201
    [version] = world.get(f"/api/v1/prompts/{prompt_id}/versions").json["versions"]
    moved = world.put(f"/api/v1/prompts/{prompt_id}/labels/production", json={"commitHash": version["commitHash"]})
    assert moved.status_code in (200, 201), moved.text
    other_model = {"gen_ai.request.model": "gpt-4o"}
    now = utc_now()
    recorded(world, turn(prompt_id, version["commitHash"], at=now), turn(prompt_id, "b", at=now, **other_model))

    def found(**query: Any) -> list[tuple[Any, int]]:
        by = query.get("groupBy", "version")
        return [(group[by], group["sessions"]["sessions"]) for group in groups(world, prompt_id, **query)]

    assert found(groupBy="label") == [("production", 1)]
    assert sorted(found(groupBy="model")) == [("gpt-4o", 1), ("gpt-4o-mini", 1)]
    assert found(groupBy="day") == [(now.date().isoformat(), 2)]
    assert found(groupBy="model", version="b") == [("gpt-4o", 1)]
    assert found(model="gpt-4o") == [("b", 1)]
    assert found(to="2020-01-01") == []


def test_a_label_has_what_its_versions_have_each_once(world: World) -> None:
    prompt_id = world.prompt()
    path = f"/api/v1/prompts/{prompt_id}"
    hashes = []
    for value in ("first", "second", "third"):
        assert world.patch(path, json={"value": value}).status_code == 200
        hashes.append(world.post(f"{path}/commit").json["commitHash"])
    for label, version in (("whole", 0), ("split", 0), ("within-one-version", 1), ("unused", 2)):
        body = {"commitHash": hashes[version]}
        assert world.put(f"{path}/labels/{label}", json=body).status_code == 200
    for label in ("split", "within-one-version"):
        body = {"commitHash": hashes[1], "share": 0.5}
        assert world.put(f"{path}/labels/{label}", json=body).status_code == 200
    turns = [turn(prompt_id, hashes[version], ms=1_000 * (version + 1)) for version in (0, 1, 1)]
    recorded(world, *turns)
    for value, scored in enumerate(turns):
        score = {"name": "helpful", "value": value, "target": {"traceId": scored["traceId"]}}
        assert world.post("/api/v1/scores", json=score).status_code in (200, 201)
    ran = world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": "Hi", "label": "whole"})
    assert ran.status_code == 200, ran.text

    by_label = {
        group["label"]: (
            group["sessions"]["sessions"],
            [(score["count"], score["mean"]["value"]) for score in group["scores"]],
            (group["runs"]["runs"], group["runs"]["p50Ms"] is not None),
        )
        for group in groups(world, prompt_id, groupBy="label")
    }

    assert by_label == {
        "whole": (1, [(1, 0.0)], (1, True)),
        "split": (3, [(3, 1.0)], (1, True)),
        "within-one-version": (2, [(2, 1.5)], (0, False)),
    }


def test_runs_replays_and_scores_come_with_the_sessions(world: World) -> None:
    prompt_id = world.prompt()
    scored = turn(prompt_id, "a")
    recorded(world, scored)
    ran = world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": "Hi", "productive": False})
    [entry] = world.get(f"/api/v1/prompts/{prompt_id}/logs", params={"type": "otel"}).json["entries"]
    targets = (
        {"sessionId": entry["id"]},
        {"traceId": scored["traceId"]},
        {"traceId": scored["traceId"], "spanId": scored["spanId"]},
        {"runId": int(ran.headers["X-Run-Id"])},
    )
    for value, target in enumerate(targets):
        answer = world.post("/api/v1/scores", json={"name": "helpful", "value": value, "target": target})
        assert answer.status_code in (200, 201), answer.text

    by_version = {group["version"]: group for group in groups(world, prompt_id)}

    assert by_version["a"]["scores"] == [
        {"name": "helpful", "count": 3, "mean": {"value": 1.0, "low": None, "high": None}}
    ]
    assert by_version[None]["runs"]["runs"] == 1
    assert by_version[None]["runs"]["failed"]["value"] == 0
    assert by_version[None]["runs"]["p50Ms"] is not None
    assert [score["count"] for score in by_version[None]["scores"]] == [1]


def test_two_versions_are_compared_in_one_sentence(world: World) -> None:
    prompt_id = world.prompt()
    recorded(
        world,
        *(turn(prompt_id, "a", failed=n < 15) for n in range(30)),
        *(turn(prompt_id, "b", ms=8_000) for _ in range(30)),
    )

    def compared(before: str, after: str) -> Any:
        query = {"before": before, "after": after}
        return world.get(f"/api/v1/prompts/{prompt_id}/insight/comparison", params=query).json

    found = compared("a", "b")

    assert found["summary"] == (
        "It got better: fewer sessions with errors; and worse: slower turns. The other figures show no difference."
    )
    told = {finding["name"]: (finding["change"], finding["improved"]) for finding in found["findings"]}
    assert told["failedSessions"] == ("lower", True)
    assert told["turnMs"] == ("higher", False)
    assert told["sessionCost"] == ("unclear", None)
    assert found["before"]["version"] == "a"
    assert compared("b", "nowhere")["summary"].startswith("Too little was recorded")


@pytest.mark.parametrize("query", ["groupBy=colour", "from=2026-01-02&to=2026-01-01", "version="])
def test_what_insight_does_not_accept_is_refused(world: World, query: str) -> None:
    assert world.get(f"/api/v1/prompts/{world.prompt()}/insight?{query}").status_code == 400


def test_the_insight_of_another_projects_prompt_is_not_there(world: World) -> None:
    prompt_id, other = world.prompt(), new_world(world.container)
    for path in ("insight", "insight/comparison?before=a&after=b"):
        assert other.get(f"/api/v1/prompts/{prompt_id}/{path}").status_code == 404


def test_the_newest_version_is_compared_with_the_one_before_unless_others_are_named(world: World) -> None:
    prompt_id = world.prompt()
    path = f"/api/v1/prompts/{prompt_id}"
    assert world.get(f"{path}/insight/comparison").json["findings"] == []
    for value in ("Be brief.", "Be kind."):
        assert world.patch(path, json={"value": value}).status_code == 200
        assert world.post(f"{path}/commit", json={}).status_code == 201
    newest, before = (version["commitHash"] for version in world.get(f"{path}/versions").json["versions"])

    found = world.get(f"{path}/insight/comparison").json

    assert (found["before"]["version"], found["after"]["version"]) == (before, newest)


@pytest.mark.parametrize("container", [pytest.param("services", marks=pytest.mark.services)], indirect=True)
def test_the_newest_scores_of_a_prompt_are_found_by_one_index_in_its_order(world: World) -> None:
    """MariaDB intersected two, and sorted a million scores: the more there were the longer it took."""
    executed: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        executed.append((statement, parameters))

    with world.container.database.read() as connection:
        event.listen(connection, "before_cursor_execute", note)
        recent_scores(connection, project_id=world.project_id, prompt_id=world.prompt(), limit=100)
        event.remove(connection, "before_cursor_execute", note)
        statement, parameters = executed[0]
        plan = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).mappings()
        assert [row["possible_keys"] for row in plan if row["table"] == "scores"] == ["ix_scores_prompt_id"]
