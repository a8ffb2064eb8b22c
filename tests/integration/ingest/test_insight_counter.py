"""The figures of sessions by day, version and model are those of the sessions that are stored, each counted once."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from sqlalchemy import select, update

from app.metrics import Metrics
from app.metrics.registry import (
    OBSERVED_COST,
    OBSERVED_ERRORS,
    OBSERVED_FAILED_SESSIONS,
    OBSERVED_SESSIONS,
    OBSERVED_TOKENS,
)
from app.models import insight, organizations, session_log, sessions
from app.models.compression import ZSTD_2, raw_of
from app.models.session_log import SessionRange
from app.models.sessions import SessionRow
from app.services.insight import counter as insight_counter
from app.services.insight.counter import SWEEP_S, InsightCounter
from app.sessions.figures import Figures, dump, load_counted
from app.work.work_time import LAGGING_S, WorkTime
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.endless_load import EndlessLoad
from tests.support.exports import export, span
from tests.support.world import World, new_world

DAY = date(2018, 12, 13)
TOKENS = {"gen_ai.usage.input_tokens": 1_000_000, "gen_ai.usage.output_tokens": 100_000}


def chat(prompt_id: int, trace_id: str, version: str = "", **recorded: Any) -> dict[str, Any]:
    attributes = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai"}
    named = {"service.prompt.version": version} if version else {}
    of_model = {"gen_ai.request.model": "gpt-4o-mini"}
    return span(attributes | named | of_model | recorded, traceId=trace_id, spanId=secrets.token_hex(8))


def failed_tool(prompt_id: int, trace_id: str) -> dict[str, Any]:
    attributes = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
    return span(attributes, traceId=trace_id, spanId=secrets.token_hex(8), status={"code": 2})


def sent(world: World, *spans: dict[str, Any]) -> None:
    assert world.send(export(*spans)).status_code == 200


def counted(world: World, prompt_id: int) -> dict[tuple[str, str], Figures]:
    """Count what is to be counted; returns the figures of the day by version and model."""
    while world.container.services.insight_counter.count(world.project_id):
        pass
    return kept(world, prompt_id)


def counter_with(world: World, work_time: WorkTime) -> InsightCounter:
    return replace(world.container.services.insight_counter, work_time=work_time)


def kept(world: World, prompt_id: int) -> dict[tuple[str, str], Figures]:
    which = {"project_id": world.project_id, "prompt_ids": [prompt_id], "since": DAY, "until": DAY}
    with world.container.database.read() as connection:
        ids = [id_ for id_, _ in insight.sizes_of_figures(connection, **which, limit=100)]
        found = [*insight.figures_of(connection, project_id=world.project_id, ids=ids)]
    return {(key.version, key.model): figures for key, figures in found}


def stored(world: World, prompt_id: int) -> list[SessionRow]:
    with world.container.database.read() as connection:
        return session_log.list_sessions(connection, SessionRange(prompt_id), limit=100)


def test_sessions_count_by_version_and_model_once_however_often_the_clock_counts(world: World) -> None:
    prompt_id, (one, other, third) = world.prompt(), (secrets.token_hex(16) for _ in range(3))
    sent(world, chat(prompt_id, one, "a", **TOKENS), failed_tool(prompt_id, one), chat(prompt_id, other, "a", **TOKENS))
    sent(world, chat(prompt_id, third, "b"), chat(prompt_id, third, "c", **{"gen_ai.request.model": "gpt-4o"}))

    found = counted(world, prompt_id)

    assert counted(world, prompt_id) == found
    assert found.keys() == {("a", "gpt-4o-mini"), ("", "")}
    of_a = found["a", "gpt-4o-mini"]
    assert (of_a.sessions, of_a.failed, of_a.turns, of_a.errors) == (2, 1, 2, 1)
    assert (of_a.tool_calls, of_a.tool_errors, of_a.tool_failed) == (1, 1, 1)
    assert (of_a.input_tokens, of_a.output_tokens, of_a.unpriced) == (2_000_000, 200_000, 0)
    assert of_a.cost_usd == pytest.approx(0.42)
    assert sum(of_a.latency.values()) == sum(of_a.cost.values()) == 2
    assert found["", ""].sessions == 1


def test_a_session_that_goes_on_counts_in_the_place_of_what_it_was(world: World) -> None:
    prompt_id, named = world.prompt(), {"gen_ai.conversation.id": "c"}
    sent(world, chat(prompt_id, secrets.token_hex(16), "a", **named, **TOKENS))
    before = counted(world, prompt_id)

    sent(world, chat(prompt_id, secrets.token_hex(16), "a", **named))
    after = counted(world, prompt_id)
    sent(world, chat(prompt_id, secrets.token_hex(16), "b", **named))
    several = counted(world, prompt_id)

    key = ("a", "gpt-4o-mini")
    assert (before[key].turns, after[key].turns) == (1, 2)
    assert (before[key].sessions, after[key].sessions) == (1, 1)
    assert [(where, figures.sessions, figures.turns) for where, figures in several.items()] == [
        (("", "gpt-4o-mini"), 1, 3)
    ]


def test_turns_that_join_a_conversation_move_their_figures_to_it(world: World) -> None:
    prompt_id, traces = world.prompt(), [secrets.token_hex(16) for _ in range(3)]
    for trace_id in traces:
        sent(world, chat(prompt_id, trace_id, "a"))
    assert counted(world, prompt_id)["a", "gpt-4o-mini"].sessions == 3

    for trace_id in traces:
        sent(world, chat(prompt_id, trace_id, **{"gen_ai.conversation.id": "c"}))

    [figures] = counted(world, prompt_id).values()
    assert (figures.sessions, figures.turns) == (1, 3)
    with world.container.database.read() as connection:
        texts = connection.scalars(sessions.sessions.select().with_only_columns(sessions.sessions.c.counted)).all()
    assert figures in [load_counted(text).figures for text in texts if text]


def test_figures_are_stored_compressed_unless_they_are_long(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists read those of many sessions, and know only their stored sizes."""
    prompt_id, named, c = world.prompt(), {"gen_ai.conversation.id": "c"}, sessions.sessions.c
    marks = []
    for most in (sessions.COUNTED_LENGTH_MAX, 10):
        monkeypatch.setattr(sessions, "COUNTED_LENGTH_MAX", most)
        sent(world, chat(prompt_id, secrets.token_hex(16), "a", **named))
        assert counted(world, prompt_id)["a", "gpt-4o-mini"].sessions == 1
        with world.container.database.read() as connection:
            [raw] = connection.scalars(select(raw_of(c.counted)).where(c.prompt_id == prompt_id))
        marks.append(raw[:1])
    assert marks == [ZSTD_2, b"{"]


def test_what_changes_while_it_is_counted_stays_to_be_counted(world: World) -> None:
    prompt_id, named = world.prompt(), {"gen_ai.conversation.id": "c"}
    sent(world, chat(prompt_id, secrets.token_hex(16), "a", **named))
    counted(world, prompt_id)
    sent(world, chat(prompt_id, secrets.token_hex(16), "a", **named))
    [row] = stored(world, prompt_id)

    with world.container.database.write() as connection:
        [text] = connection.scalars(
            sessions.sessions.select()
            .with_only_columns(sessions.sessions.c.counted)
            .where(sessions.sessions.c.session_key == row.session_key)
        )
        late = sessions.put_counted(
            connection,
            project_id=row.project_id,
            marks={row.session_key: 1},
            counted={row.session_key: load_counted(text)},
            calls={row.session_key: b""},
        )

    assert late == {}
    assert stored(world, prompt_id) == [row]
    assert counted(world, prompt_id)["a", "gpt-4o-mini"].turns == 2


def test_the_clock_counts_what_an_earlier_release_stored(world: World) -> None:
    prompt_id = world.prompt()
    sent(world, chat(prompt_id, secrets.token_hex(16), "a"))
    with world.container.database.write() as connection:
        earlier = update(sessions.sessions).where(sessions.sessions.c.prompt_id == prompt_id)
        connection.execute(earlier.values(uncounted=1, counted=None))

    assert counted(world, prompt_id)["a", "gpt-4o-mini"].sessions == 1


def test_figures_go_with_their_sessions_and_with_the_prompt(world: World) -> None:
    prompt_id, (one, other) = world.prompt(), (secrets.token_hex(16), secrets.token_hex(16))
    sent(world, chat(prompt_id, one, "a"), chat(prompt_id, other, "b"))
    assert len(counted(world, prompt_id)) == 2
    deletion, [session, _] = world.container.services.deletion, stored(world, prompt_id)

    deletion.delete_session(project_id=world.project_id, session_id=session.session_key.hex())

    assert len(kept(world, prompt_id)) == 1
    deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)
    assert kept(world, prompt_id) == {}


def test_every_project_is_counted_and_none_for_another(world: World) -> None:
    worlds = [world, new_world(world.container)]
    prompts = [each.prompt() for each in worlds]
    for each, prompt_id in zip(worlds, prompts, strict=True):
        sent(each, chat(prompt_id, secrets.token_hex(16), "a"))

    counter_with(world, WorkTime(SWEEP_S, monotonic=float)).sweep()

    for each, prompt_id in zip(worlds, prompts, strict=True):
        assert kept(each, prompt_id)["a", "gpt-4o-mini"].sessions == 1
    assert kept(worlds[0], prompts[1]) == {}


@EMBEDDED_CONTAINER
def test_a_session_is_counted_in_time_while_batches_come_in_without_a_pause(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id, load = world.prompt(), EndlessLoad()
    with world.container.database.read() as connection:
        project = organizations.find_project(connection, world.project_id)
    monkeypatch.setattr(organizations, "list_projects", lambda connection: [project])
    monkeypatch.setattr(insight_counter, "SESSIONS_AT_ONCE", 1)
    sent(world, *(chat(prompt_id, secrets.token_hex(16), "before") for _ in range(20)))
    counter = counter_with(world, WorkTime(SWEEP_S, load.busy, load.monotonic))

    while load.now_s < LAGGING_S + 2 * (SWEEP_S + 5):
        sent(world, *(chat(prompt_id, secrets.token_hex(16), "meanwhile") for _ in range(2)))
        counter.sweep()
        load.now_s += 5

    assert kept(world, prompt_id)["before", "gpt-4o-mini"].sessions == 20


def test_one_count_reads_few_turns_or_one_session(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(insight_counter, "TURNS_PER_COUNT", 5)
    prompt_id, counter = world.prompt(), world.container.services.insight_counter
    for conversation, turns in enumerate([2, 2, 2, 9]):
        named = {"gen_ai.conversation.id": f"c{conversation}"}
        sent(world, *(chat(prompt_id, secrets.token_hex(16), **named) for _ in range(turns)))

    assert [counter.count(world.project_id) for _ in range(4)] == [2, 1, 1, 0]


def test_metrics_count_what_is_observed_of_each_project(world: World) -> None:
    prompt_id, named, project = world.prompt(), {"gen_ai.conversation.id": "c"}, str(world.project_id)
    # New metrics: in those of the container, the projects of earlier tests may have used up the label sets.
    metrics = Metrics()
    counter = replace(world.container.services.insight_counter, metrics=metrics)
    for _ in range(2):
        trace_id = secrets.token_hex(16)
        sent(world, chat(prompt_id, trace_id, **named, **TOKENS), failed_tool(prompt_id, trace_id))
        while counter.count(world.project_id):
            pass

    assert metrics.pending() == {
        (OBSERVED_SESSIONS, (project,), ""): 1,
        (OBSERVED_FAILED_SESSIONS, (project,), ""): 1,
        (OBSERVED_ERRORS, (project,), ""): 2,
        (OBSERVED_COST, (project,), ""): 420_000,
        (OBSERVED_TOKENS, (project, "input"), ""): 2_000_000,
        (OBSERVED_TOKENS, (project, "output"), ""): 200_000,
    }


def test_versions_beyond_those_of_a_day_count_without_a_name_and_leave_the_same_sums(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(insight_counter, "NAMES_PER_DAY", 3)
    prompt_id = world.prompt()
    sent(world, chat(prompt_id, secrets.token_hex(16), "a", **TOKENS))
    assert [(version, sums.sessions) for (version, _), sums in counted(world, prompt_id).items()] == [("a", 1)]
    traces = [secrets.token_hex(16) for _ in range(9)]

    sent(world, *(chat(prompt_id, trace, f"v{n}", **TOKENS) for n, trace in enumerate(traces)))
    sent(world, chat(prompt_id, secrets.token_hex(16), "a", **TOKENS))

    sums = {version: figures.sessions for (version, _), figures in counted(world, prompt_id).items()}
    assert sums["a"] == 2
    assert len(sums) <= 4
    assert sums[""] == 7
    sent(world, *(failed_tool(prompt_id, trace) for trace in traces))
    after = counted(world, prompt_id)
    assert {version: figures.sessions for (version, _), figures in after.items()} == sums
    assert sum(figures.failed for figures in after.values()) == 9
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)
    assert kept(world, prompt_id) == {}


def test_names_with_blanks_at_their_end_are_the_same_names_on_each_database(world: World) -> None:
    prompt_id = world.prompt()
    user = {"user.id": "anna "}
    sent(world, chat(prompt_id, secrets.token_hex(16), "v ", **{"gen_ai.request.model": "m "}, **user))
    assert [*counted(world, prompt_id)] == [("v", "m")]

    traces = [secrets.token_hex(16) for _ in range(3)]
    named = {"gen_ai.request.model": "m", "user.id": "anna"}
    sent(world, *(span for trace in traces for span in (chat(prompt_id, trace, "v", **named),)))
    sent(world, *(failed_tool(prompt_id, trace) for trace in traces))

    [(key, figures)] = counted(world, prompt_id).items()
    assert (key, figures.sessions, figures.failed) == (("v", "m"), 4, 3)
    for query in ({"model": "m"}, {"model": "m "}, {"version": "v"}, {"userId": "anna"}, {"userId": "anna "}):
        assert len(world.get("/api/v1/sessions", params=query).json["sessions"]) == 4, query
    assert len(world.get("/api/v1/sessions", params={"userId": " anna"}).json["sessions"]) == 0


def test_figures_that_an_earlier_release_stored_under_a_padded_name_are_added_to(world: World) -> None:
    prompt_id = world.prompt()
    row = (world.project_id, prompt_id, DAY.isoformat(), "v ", "gpt-4o-mini", dump(Figures(sessions=1)))
    columns = "project_id, prompt_id, day, version, model, figures"
    place = "?" if world.container.database.engine.dialect.name == "sqlite" else "%s"
    with world.container.database.write() as connection:
        values = ", ".join([place] * len(row))
        connection.exec_driver_sql(f"INSERT INTO insight_daily ({columns}) VALUES ({values})", row)

    sent(world, *(chat(prompt_id, secrets.token_hex(16), "v") for _ in range(2)))

    assert sum(figures.sessions for figures in counted(world, prompt_id).values()) == 3
