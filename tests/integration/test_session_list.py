"""The sessions of a project: every filter finds what it names, in every order, page by page, as JSON, lines and CSV."""

from __future__ import annotations

import csv
import io
import itertools
import json
import secrets
from dataclasses import replace
from typing import Any, get_args

import pytest

from app.models.session_list import Order, Range
from app.services.sessions import listing as session_list
from app.services.sessions.filters import SessionFilter
from tests.support.exports import export, span
from tests.support.world import World, new_world

SECOND_NS = 10**9
HASH = "ab" * 32


def said(text: str) -> str:
    return json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}])


def session(world: World, prompt_id: int, start_s: int, *, tools: dict[str, int] | None = None, **about: Any) -> None:
    """Send a session of one model call, and of tools with the codes of their status."""
    trace_id, duration_s, events = secrets.token_hex(16), about.pop("seconds", 1), about.pop("events", [])
    times = {
        "startTimeUnixNano": str(start_s * SECOND_NS),
        "endTimeUnixNano": str((start_s + duration_s) * SECOND_NS),
    }
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 10} | about
    common = {"service.prompt.id": prompt_id}
    spans = [span(common | chat, traceId=trace_id, spanId="1" * 16, events=events, **times)]
    for number, (name, code) in enumerate((tools or {}).items(), 2):
        recorded = common | {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        status = {"code": code}
        spans.append(span(recorded, traceId=trace_id, spanId=f"{number:016x}", status=status, **times))
    assert world.send(export(*spans)).status_code == 200


@pytest.fixture
def filled(world: World) -> tuple[int, int]:
    """Two prompts with five sessions, named by their first words."""
    one, other = world.prompt(), world.prompt()
    score = {"name": "gen_ai.evaluation.result", "timeUnixNano": "1", "attributes": []}
    score["attributes"] = span({"gen_ai.evaluation.name": "helpful", "gen_ai.evaluation.score.value": 0.9})[
        "attributes"
    ]
    session(world, one, 100, **{"gen_ai.input.messages": said("plain")})
    session(world, one, 200, tools={"search": 0}, **{"gen_ai.input.messages": said("searched"), "user.id": "ada"})
    session(
        world, other, 300, tools={"search": 2, "pay": 2}, **{"gen_ai.input.messages": said("failed"), "seconds": 30}
    )
    versioned = {
        "service.prompt.version": HASH,
        "gen_ai.conversation.id": "talk",
        "gen_ai.request.model": "gpt-4o-mini",
    }
    session(world, other, 400, **versioned, **{"gen_ai.input.messages": said("versioned"), "seconds": 9})
    costly = {"gen_ai.usage.input_tokens": 5000, "gen_ai.input.messages": said("long"), "events": [score]}
    session(world, one, 500, **costly)
    return one, other


def listed(world: World, **query: Any) -> list[dict[str, Any]]:
    """All sessions, page after page."""
    found: list[dict[str, Any]] = []
    cursor = ""
    while cursor is not None:
        page = world.get("/api/v1/sessions", params=query | ({"cursor": cursor} if cursor else {})).json
        found += page["sessions"]
        cursor = page["nextCursor"]
    return found


def words(found: list[dict[str, Any]]) -> list[str]:
    return [one["preview"] for one in found]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["long", "versioned", "failed", "searched", "plain"]),
        ({"sort": "duration", "minDurationMs": 5000}, ["failed", "versioned"]),
        ({"sort": "errors", "errors": "true"}, ["failed"]),
        ({"errors": "false"}, ["long", "versioned", "searched", "plain"]),
        ({"version": HASH}, ["versioned"]),
        ({"model": "gpt-4o"}, ["long", "failed", "searched", "plain"]),
        ({"model": "GPT-4o"}, []),
        ({"userId": "ada"}, ["searched"]),
        ({"userId": "ada", "sort": "duration"}, ["searched"]),
        ({"conversationId": "talk"}, ["versioned"]),
        ({"tool": "search"}, ["failed", "searched"]),
        ({"failedTool": "search"}, ["failed"]),
        ({"score": "helpful"}, ["long"]),
        ({"score": "helpful", "maxScore": 0.5}, []),
        ({"minTokens": 100}, ["long"]),
        ({"maxTokens": 100, "minTurns": 1}, ["versioned", "failed", "searched", "plain"]),
        ({"minTurns": 2}, []),
        ({"from": "1970-01-01T00:03:20Z", "to": "1970-01-01T00:06:40Z"}, ["failed", "searched"]),
        ({"sort": "errors", "from": "1970-01-01T00:03:20Z", "to": "1970-01-01T00:05:00Z"}, ["searched"]),
        ({"label": "production"}, []),
        ({"sort": "oldest"}, ["plain", "searched", "failed", "versioned", "long"]),
        ({"sort": "oldest", "tool": "search", "from": "1970-01-01T00:03:20Z"}, ["searched", "failed"]),
        ({"sort": "shortest", "minDurationMs": 5000}, ["versioned", "failed"]),
        ({"sort": "fewestErrors", "tool": "search"}, ["searched", "failed"]),
        ({"minCost": 0.001}, ["long"]),
        ({"maxCost": 0.00001, "sort": "shortest"}, ["versioned"]),
        ({"minCost": 0, "userId": "ada"}, ["searched"]),
    ],
)
def test_a_filter_lists_the_sessions_that_it_names(
    world: World, filled: tuple[int, int], query: dict[str, Any], found: list[str]
) -> None:
    assert words(listed(world, **query)) == found


def test_only_a_prompts_sessions(world: World, filled: tuple[int, int]) -> None:
    assert words(listed(world, promptId=filled[1])) == ["versioned", "failed"]
    assert words(listed(world, promptId=filled[1], sort="duration")) == ["failed", "versioned"]
    assert words(listed(world, promptId=filled[1], userId="ada")) == []


def test_a_label_finds_the_sessions_of_the_version_that_it_points_to(world: World) -> None:
    made = world.post(
        "/api/v1/prompts", json={"name": "Labelled", "value": "Be kind.", "languageModelName": "echo"}
    ).json
    prompt_id = made["prompt"]["id"]
    version = world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]
    assert world.put(f"/api/v1/prompts/{prompt_id}/labels/production", json={"commitHash": version}).status_code < 300
    session(world, prompt_id, 10, **{"service.prompt.version": version, "gen_ai.input.messages": said("with it")})
    session(world, prompt_id, 20, **{"service.prompt.version": HASH, "gen_ai.input.messages": said("without")})

    assert words(listed(world, label="production")) == ["with it"]


@pytest.mark.parametrize("order", get_args(Order))
@pytest.mark.parametrize("limit", [1, 2, 200])
def test_pages_of_any_size_have_every_session_once(
    world: World, filled: tuple[int, int], order: str, limit: int
) -> None:
    found = listed(world, sort=order, limit=limit)

    assert len({one["id"] for one in found}) == 5
    assert found == listed(world, sort=order)


def test_a_session_has_its_figures(world: World, filled: tuple[int, int]) -> None:
    [found] = listed(world, failedTool="pay")

    assert found | {"id": ""} == {
        "id": "",
        "promptId": filled[1],
        "prompt": "A prompt",
        "conversationId": None,
        "userId": None,
        "preview": "failed",
        "startedAt": "1970-01-01T00:05:00.000Z",
        "lastActivityAt": "1970-01-01T00:05:30.000Z",
        "durationMs": 30000.0,
        "turns": 1,
        "errors": 2,
        "toolCalls": 2,
        "toolErrors": 2,
        "usage": {"inputTokens": 10, "outputTokens": 0},
        "cost": 10 * 2.5 / 1_000_000,
        "models": ["gpt-4o"],
        "promptVersions": [],
        "tools": ["pay", "search"],
        "failedTools": ["pay", "search"],
    }


def test_sessions_are_counted_where_they_are_asked_for(world: World, filled: tuple[int, int]) -> None:
    page = world.get("/api/v1/sessions?count=true&limit=1&tool=search").json

    assert page["count"] == {"sessions": 2, "complete": True}
    assert "count" not in world.get("/api/v1/sessions").json


def test_so_many_sessions_are_counted_where_an_index_finds_them(
    world: World, filled: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id, _ = filled

    def count(**filters: Any) -> tuple[int, bool]:
        counted = world.container.services.session_list.count(
            project_id=world.project_id, filters=SessionFilter(**filters)
        )
        return counted.sessions, counted.complete

    every, of_prompt = count(), count(prompt_id=prompt_id)
    assert of_prompt == (len(listed(world, promptId=prompt_id)), True)
    assert every[0] > of_prompt[0] > 1
    monkeypatch.setattr(session_list, "COUNT_MAX", 1)
    assert count() == count(prompt_id=prompt_id) == (1, False)


def test_a_search_for_something_rare_ends_its_page_early_and_goes_on(world: World, filled: tuple[int, int]) -> None:
    ticks = itertools.count(step=0.3)
    impatient = replace(world.container.services.session_list, window=1, tick=lambda: next(ticks))
    rare = SessionFilter(user_id="ada", tool="search")
    chosen: dict[str, Any] = {"project_id": world.project_id, "filters": rare, "order": "duration"}

    pages, cursor = [impatient.page(**chosen)], None
    while cursor := pages[-1].next_cursor:
        pages.append(impatient.page(**chosen, cursor=cursor))

    assert pages[0].entries == []
    assert [one.preview for page in pages for one in page.entries] == ["searched"]
    counted = impatient.count(project_id=world.project_id, filters=SessionFilter(tokens=Range(1)))
    assert (counted.complete, counted.sessions < 5) == (False, True)


def test_a_cursor_of_another_order_is_refused(world: World, filled: tuple[int, int]) -> None:
    cursor = world.get("/api/v1/sessions?limit=1").json["nextCursor"]

    answer = world.get("/api/v1/sessions", params={"sort": "errors", "cursor": cursor})

    assert (answer.status_code, answer.json["error"]) == (400, "cursor: Not a cursor of this order.")


@pytest.mark.parametrize("limit", [1, 2, 200])
def test_the_dearest_of_the_newest_come_first_where_costs_are_sorted(
    world: World, filled: tuple[int, int], limit: int
) -> None:
    found = listed(world, sort="cost", limit=limit)

    assert words(found) == ["long", "failed", "searched", "plain", "versioned"]
    assert words(listed(world, sort="cost", limit=limit, errors="false")) == ["long", "searched", "plain", "versioned"]
    page = world.get("/api/v1/sessions", params={"sort": "cost", "limit": limit}).json
    assert page["sorted"] == {"entries": 5, "complete": True}
    assert "sorted" not in world.get("/api/v1/sessions").json
    assert world.get("/api/v1/exports/sessions", params={"sort": "cost"}).status_code == 400


def test_of_many_sessions_the_newest_are_sorted_by_cost_and_later_ones_move_none(
    world: World, filled: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.search.scanning.SORTED_MAX", 3)
    first = world.get("/api/v1/sessions", params={"sort": "cost", "limit": 1}).json
    session(world, filled[0], 600, **{"gen_ai.input.messages": said("later"), "gen_ai.usage.input_tokens": 9_000})

    rest = world.get("/api/v1/sessions", params={"sort": "cost", "cursor": first["nextCursor"]}).json

    assert first["sorted"] == {"entries": 3, "complete": False}
    assert words(first["sessions"] + rest["sessions"]) == ["long", "failed", "versioned"]
    for sort, cursor in (("time", first["nextCursor"]), ("cost", listed_cursor(world))):
        refused = world.get("/api/v1/sessions", params={"sort": sort, "cursor": cursor})
        assert refused.status_code == 400


def listed_cursor(world: World) -> str:
    cursor: str = world.get("/api/v1/sessions", params={"limit": 1}).json["nextCursor"]
    return cursor


def test_what_is_listed_can_be_exported(world: World, filled: tuple[int, int]) -> None:
    lines = world.get("/api/v1/exports/sessions?tool=search")
    sheet = world.get("/api/v1/exports/sessions?tool=search", headers={"Accept": "text/csv"})

    assert [json.loads(line) for line in lines.text.splitlines()] == listed(world, tool="search")
    rows = list(csv.DictReader(io.StringIO(sheet.text)))
    assert [(row["preview"], row["failedTools"], row["usage.inputTokens"]) for row in rows] == [
        ("failed", "pay; search", "10"),
        ("searched", "", "10"),
    ]


@pytest.mark.parametrize("q", ["%", '""', "-refunds"])
def test_an_export_by_a_query_that_is_none_is_refused_as_the_list_is(world: World, q: str) -> None:
    listed, exported = (world.get(path, params={"q": q}) for path in ("/api/v1/sessions", "/api/v1/exports/sessions"))
    assert listed.status_code == 400
    assert (exported.status_code, exported.json) == (400, listed.json)


def test_an_export_of_the_sessions_with_a_score_has_their_costs(world: World, filled: tuple[int, int]) -> None:
    path = "/api/v1/exports/sessions?score=helpful&minScore=0.9"
    (line,) = world.get(path).text.splitlines()
    (row,) = csv.DictReader(io.StringIO(world.get(path, headers={"Accept": "text/csv"}).text))

    (one,) = listed(world, score="helpful")
    assert (json.loads(line), row["preview"], float(row["cost"])) == (one, "long", one["cost"])
    assert one["cost"] > 0
    assert world.get("/api/v1/exports/sessions?score=helpful&minScore=0.91").text == ""


def test_no_other_project_sees_them(world: World, filled: tuple[int, int]) -> None:
    stranger = new_world(world.container)

    assert listed(stranger) == listed(stranger, promptId=filled[0]) == []
    assert listed(stranger, conversationId="talk") == listed(stranger, score="helpful") == []
    assert stranger.get("/api/v1/exports/sessions").text == ""


def test_the_sessions_of_an_erased_prompt_are_gone(world: World, filled: tuple[int, int]) -> None:
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=filled[0])

    assert words(listed(world)) == ["versioned", "failed"]
