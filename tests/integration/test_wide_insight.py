"""Insight of many sums with many different values: they are read some at a time, and their bytes have a limit."""

from __future__ import annotations

import tracemalloc
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import insert, select

from app.models import insight, insight_sources
from app.models.insight import insight_daily
from app.models.sessions import sessions
from app.services.insight import service
from app.services.insight.service import InsightFilter
from app.services.prompts.labels import LABELS_MAX
from app.sessions.figures import Figures, dump
from app.timestamps import utc_now
from tests.support.exports import export, span
from tests.support.operations import calls_of
from tests.support.world import World

VERSIONS, DAYS, BUCKETS, SUMS = 300, 3, 200, 1_000
FIGURES = Figures(sessions=BUCKETS, turns=BUCKETS, latency=dict.fromkeys(range(BUCKETS), 1), cost={7: BUCKETS})


def with_figures(world: World) -> int:
    """Make a prompt with sums of `VERSIONS` versions on each of `DAYS` days."""
    prompt_id, today = world.prompt(), utc_now().date()
    row = {"project_id": world.project_id, "prompt_id": prompt_id, "model": "m", "figures": dump(FIGURES)}
    rows = [
        row | {"day": today - timedelta(days=day), "version": f"v{version}"}
        for day in range(DAYS)
        for version in range(VERSIONS)
    ]
    with world.container.database.write() as connection:
        connection.execute(insert(insight_daily), rows)
    return prompt_id


def test_insight_has_few_of_its_sums_in_memory_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(insight, "ROWS_AT_ONCE", 20)
    path = f"/api/v1/prompts/{with_figures(world)}/insight?groupBy=model"
    assert world.get(path).status_code == 200  # imports are no memory of the second request

    tracemalloc.start()
    try:
        [group] = world.get(path).json["groups"]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert group["sessions"]["sessions"] == VERSIONS * DAYS * BUCKETS
    # All 900 sums have 9 MB.
    assert peak < 3_000_000


def test_insight_refuses_more_bytes_of_sums_than_it_reads(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt_id = with_figures(world)
    monkeypatch.setattr(service, "INSIGHT_BYTES_MAX", VERSIONS * len(dump(FIGURES)))
    path = f"/api/v1/prompts/{prompt_id}/insight"
    today = utc_now().date()

    refused = world.get(path)

    assert (refused.status_code, refused.json["error"]) == (
        400,
        "from: These days have too many different durations and costs; ask for fewer days.",
    )
    assert len(world.get(f"{path}?from={today}&to={today}").json["groups"]) == VERSIONS


def test_a_hundred_labels_of_a_version_need_hardly_more_work_than_the_version(world: World) -> None:
    """Each sum was added once for each label: of 10,000 sums and 100 labels that needed 12 s of a processor."""
    prompt_id = world.prompt()
    path = f"/api/v1/prompts/{prompt_id}"
    commit_hash = world.post(f"{path}/commit").json["commitHash"]
    for number in range(LABELS_MAX):
        assert world.put(f"{path}/labels/l{number}", json={"commitHash": commit_hash}).status_code == 200
    today = utc_now().date()
    row = {"project_id": world.project_id, "prompt_id": prompt_id, "day": today, "version": commit_hash}
    row |= {"figures": dump(FIGURES)}
    with world.container.database.write() as connection:
        connection.execute(insert(insight_daily), [row | {"model": f"m{n}"} for n in range(SUMS)])
    read = partial(
        world.container.services.insight.read,
        project_id=world.project_id,
        prompt_id=prompt_id,
        filters=InsightFilter(since=today, until=today),
    )

    by_label = read(group_by="label")

    assert [group.sessions.sessions for group in by_label] == [SUMS * BUCKETS] * LABELS_MAX
    of_version = calls_of(lambda: read(group_by="version"))
    assert calls_of(lambda: read(group_by="label"), at_most=2 * of_version) <= 2 * of_version


def scored_session(world: World, models: int, *, scores: int) -> int:
    """Store a session of as many models with names of 253 characters, and scores of it; returns its prompt."""
    prompt_id = world.prompt()
    wide = {"service.prompt.id": prompt_id, "gen_ai.conversation.id": "c", "gen_ai.operation.name": "chat"}
    # A turn keeps 4 KiB of names.
    spans = [
        span(
            wide | {"gen_ai.request.model": f"{n:03d}" + "m" * 250},
            traceId=f"{n // 15 + 1:032x}",
            spanId=f"{n + 1:016x}",
        )
        for n in range(models)
    ]
    assert world.send(export(*spans)).status_code == 200
    target = {"promptId": prompt_id, "conversationId": "c"}
    for _ in range(scores // 100):
        body = {"scores": [{"name": "q", "value": 1, "target": target}] * 100}
        assert world.post("/api/v1/scores", json=body).status_code in (200, 201)
    return prompt_id


@pytest.mark.parametrize("models", [60, 90])
def test_names_of_a_scored_session_are_not_read_for_each_of_its_scores(world: World, models: int) -> None:
    """A session with names of 400 KB and 4,000 scores needed 1.6 GB for one request, and one of 16 KB 64 MB."""
    count = 300
    prompt_id = scored_session(world, models, scores=count)

    with world.container.database.read() as connection:
        names = connection.scalar(select(sessions.c.names).where(sessions.c.project_id == world.project_id))
        which = {"project_id": world.project_id, "prompt_id": prompt_id, "limit": count}
        read = insight_sources.recent_scores(connection, **which)
        tracemalloc.start()
        try:
            insight_sources.recent_scores(connection, **which)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert (len(names) > insight_sources.NAMES_MAX) == (models == 90)
    assert [(score.name, score.version, score.model) for score in read] == [("q", "", "")] * count
    # The names of 60 models for each score have 4.6 MB.
    assert peak < 1_000_000


def test_names_of_few_scored_sessions_are_read_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(insight_sources, "SESSIONS_AT_ONCE", 2)
    prompt_id, scored = world.prompt(), 5
    named = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat"}
    spans = [
        span(
            named | {"gen_ai.conversation.id": f"c{n}", "gen_ai.request.model": f"m{n}"},
            traceId=f"{n + 1:032x}",
            spanId=f"{n + 1:016x}",
        )
        for n in range(scored)
    ]
    assert world.send(export(*spans)).status_code == 200
    body = {
        "scores": [
            {"name": "q", "value": n, "target": {"promptId": prompt_id, "conversationId": f"c{n}"}}
            for n in range(scored)
        ]
    }
    assert world.post("/api/v1/scores", json=body).status_code in (200, 201)

    with world.container.database.read() as connection:
        read = insight_sources.recent_scores(connection, project_id=world.project_id, prompt_id=prompt_id, limit=9)

    assert sorted((score.value, score.version, score.model) for score in read) == [
        (n, "", f"m{n}") for n in range(scored)
    ]
