"""Explanations of evaluations had no limit: 124 KB with gzip were 100 MB of the database, all read by a page."""

from __future__ import annotations

import secrets
import tracemalloc
from typing import Any

import pytest
from sqlalchemy import insert, select, text, update

from app.models import queries
from app.models import scores as scores_of_sessions
from app.models.scores import BRIEF, READ_MAX, WHOLE_MAX, scores
from app.otlp.evaluations import COMMENT_MAX
from tests.support.exports import export, pairs_of, span
from tests.support.world import World

TRACE = "ab" * 16


def evaluated(world: World, comments: list[str]) -> str:
    """Send a turn with an evaluation for each comment; return the id of its session."""
    events = [
        {
            "name": "gen_ai.evaluation.result",
            "timeUnixNano": str(1_544_712_660_000_000_000 + number),
            "attributes": pairs_of({"gen_ai.evaluation.name": f"q{number}", "gen_ai.evaluation.explanation": comment}),
        }
        for number, comment in enumerate(comments)
    ]
    named = {"service.prompt.id": world.prompt(), "gen_ai.operation.name": "chat"}
    assert world.send(export(span(named, traceId=TRACE, spanId="cd" * 8, events=events))).status_code == 200
    session_id: str = world.get("/api/v1/sessions").json["sessions"][0]["id"]
    return session_id


def stored_lengths(world: World) -> list[int]:
    statement = text("SELECT LENGTH(comment) FROM scores WHERE project_id = :project ORDER BY time_ns")
    with world.container.database.read() as connection:
        return list(connection.scalars(statement, {"project": world.project_id}))


def of_session(world: World, session_id: str) -> list[Any]:
    return [score["comment"] for score in world.get(f"/api/v1/sessions/{session_id}").json["scores"]]


def test_a_long_explanation_is_cut_before_it_is_stored(world: World) -> None:
    evaluated(world, ["x" * 1_000_000, "short"])

    assert stored_lengths(world) == [COMMENT_MAX, 5]


def test_a_session_shows_some_long_comments_whole_and_the_beginning_of_others(world: World) -> None:
    number = WHOLE_MAX + 3
    session_id = evaluated(world, [*["y" * (BRIEF + 1)] * number, "z" * BRIEF])

    comments = of_session(world, session_id)

    assert comments[:WHOLE_MAX] == ["y" * (BRIEF + 1)] * WHOLE_MAX
    assert comments[WHOLE_MAX:-1] == ["y" * BRIEF + "…"] * 3
    assert comments[-1] == "z" * BRIEF


def test_comments_of_earlier_releases_are_read_in_part_and_pages_of_them_end_early(world: World) -> None:
    session_id = evaluated(world, ["x"] * 300)
    with world.container.database.write() as connection:
        of_project = update(scores).where(scores.c.project_id == world.project_id)
        connection.execute(of_project.values(comment="\U0001f389" * (READ_MAX + 1)))

    assert {len(comment) for comment in of_session(world, session_id)} == {READ_MAX, BRIEF + 1}
    page = world.get("/api/v1/scores?limit=200").json
    assert len(page["scores"]) < 200
    listed = page["scores"]
    while page["nextCursor"]:
        page = world.get(f"/api/v1/scores?limit=200&cursor={page['nextCursor']}").json
        assert sum(len(score["comment"].encode()) for score in page["scores"][1:]) < 4 * 1024 * 1024
        listed += page["scores"]
    assert len({score["id"] for score in listed}) == 300


def test_of_a_session_with_many_turns_few_scores_are_in_memory_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each 500 turns 10,000 scores were read, and only then the others were left out."""
    monkeypatch.setattr(scores_of_sessions, "SESSION_MAX", 50)
    monkeypatch.setattr(queries, "KEYS_PER_STATEMENT", 1)
    evaluated(world, ["x" * BRIEF] * 50)
    traces = [bytes.fromhex(TRACE), *(number.to_bytes(16, "big") for number in range(1, 40))]
    with world.container.database.write() as connection:
        rows = connection.execute(select(scores).where(scores.c.project_id == world.project_id)).mappings().all()
        copies = [
            {**row, "digest": secrets.token_bytes(len(row["digest"])), "trace_id": trace_id}
            for trace_id in traces[1:]
            for row in rows
        ]
        connection.execute(insert(scores), [{k: v for k, v in row.items() if k != "id"} for row in copies])
    with world.container.database.read() as connection:
        which: dict[str, Any] = {"project_id": world.project_id, "session_key": bytes(16)}
        assert len(scores_of_sessions.scores_of(connection, **which, trace_ids=traces[:2])) == 50
        tracemalloc.start()
        try:
            read = scores_of_sessions.scores_of(connection, **which, trace_ids=traces)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert len(read) == 50
    # All 2,000 have 3 MB.
    assert peak < 1_000_000
