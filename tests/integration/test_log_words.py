"""The text search in a prompt's log: in the words of sessions, and in the questions and answers of runs."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import update

from app.models.runs import runs
from app.services.prompt_log.query import LogFilter
from app.services.search.scanning import SEARCH_S
from tests.integration.test_logs import listed, new_prompt
from tests.integration.test_search import index, say
from tests.support.world import World, new_world

ASKED = ["run one: a refund of order 4711", "run two: 東京都に行きたい", "run three: refunds"]
ANSWERED = ["That is not possible.", "Die Größe passt nicht.", "It is possible, but not now."]


def ask(world: World, prompt_id: int, question: str, answer: str) -> int:
    """Run a prompt; the run is stored with this answer."""
    done = world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": question})
    run_id = int(done.headers["X-Run-Id"])
    with world.container.database.write() as connection:
        connection.execute(update(runs).where(runs.c.id == run_id).values(answer=answer))
    return run_id


@pytest.fixture
def filled(world: World) -> tuple[World, int]:
    prompt_id = new_prompt(world)
    for question, answer in zip(ASKED, ANSWERED, strict=True):
        ask(world, prompt_id, question, answer)
    say(world, prompt_id, "session one: a refund of order-4711", "That is not possible.")
    say(world, prompt_id, "session two: 東京都", "Bitte.", result={"city": "Zürich"})
    other = world.prompt()
    say(world, other, "another prompt: refund 4711")
    index(world)
    return world, prompt_id


def names(entries: list[dict[str, Any]]) -> list[str]:
    return sorted(entry["preview"].split(":")[0] for entry in entries)


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("refund 4711", ["run one", "session one"]),
        ("refund*", ["run one", "run three", "session one"]),
        ('"not possible"', ["run one", "session one"]),
        ("possible -now", ["run one", "session one"]),
        ('possible -"not possible"', ["run three"]),
        ("東京", ["run two", "session two"]),
        ("京", ["run two", "session two"]),
        ("GRÖSSE", ["run two"]),
        ("zürich", ["session two"]),
        ("refund% OR 1=1", []),
        ("nowhere", []),
    ],
)
@pytest.mark.parametrize("often", [False, True])
def test_the_log_finds_the_words_of_sessions_and_runs(
    filled: tuple[World, int], monkeypatch: pytest.MonkeyPatch, q: str, found: list[str], often: bool
) -> None:
    if often:
        monkeypatch.setattr("app.services.search.service.RARE_TURNS_MAX", 0)
    world, prompt_id = filled

    for query in ({}, {"limit": 1}, {"sort": "oldest", "limit": 1}, {"sort": "errors", "limit": 1}):
        assert names(listed(world, prompt_id, q=q, **query)) == found
    assert names(listed(world, prompt_id, q=q, type="otel")) == [one for one in found if one.startswith("session")]
    assert names(listed(world, prompt_id, q=q, type="run", status="ok")) == [
        one for one in found if one.startswith("run")
    ]
    assert names(listed(world, prompt_id, q=q, errors="true")) == []


def test_a_hit_shows_where_the_words_are(filled: tuple[World, int]) -> None:
    world, prompt_id = filled
    [run, session] = listed(world, prompt_id, q='"not possible"')
    [in_tool] = listed(world, prompt_id, q="zürich")

    assert session["hit"] | {"traceId": "", "spanId": ""} == {
        "turn": 1,
        "traceId": "",
        "spanId": "",
        "kind": "answer",
        "text": "That is not possible.",
        "places": [[8, 20]],
    }
    assert run["hit"] == {"kind": "answer", "text": "That is not possible.", "places": [[8, 20]]}
    assert (in_tool["hit"]["kind"], in_tool["hit"]["text"]) == ("result", "city\nZürich")
    assert all("hit" not in entry for entry in listed(world, prompt_id))


def test_a_search_continues_entry_by_entry_when_its_time_is_up(filled: tuple[World, int]) -> None:
    world, prompt_id = filled
    clock = itertools.count(step=SEARCH_S)
    hurried = replace(world.container.services.logs, tick=lambda: next(clock))

    for words, found in (("refund*", 3), ('"not possible"', 2), ("nowhere", 0)):
        entries, pages, cursor = list[Any](), 0, None
        while pages == 0 or cursor:
            page = hurried.page(
                project_id=world.project_id, prompt_id=prompt_id, filters=LogFilter(words=words), cursor=cursor
            )
            entries, pages, cursor = [*entries, *page.entries], pages + 1, page.next_cursor
        assert len(entries) == found
        assert pages > 1


def test_words_meet_the_other_conditions(filled: tuple[World, int]) -> None:
    world, prompt_id = filled

    assert names(listed(world, prompt_id, q="refund", search="OF ORDER 4")) == ["run one"]
    assert names(listed(world, prompt_id, q="refund", version="draft")) == []
    assert names(listed(world, prompt_id, q="refund", **{"from": "2100-01-01T00:00:00Z"})) == []


def test_another_project_reads_nothing_by_a_search(filled: tuple[World, int]) -> None:
    world, prompt_id = filled
    stranger = new_world(world.container)

    assert stranger.get(f"/api/v1/prompts/{prompt_id}/logs", params={"q": "refund"}).status_code == 404


@pytest.mark.parametrize("q", ["-refund", "***", "r*", "a " * 17, "x" * 201])
def test_what_cannot_be_searched_for_is_400(world: World, q: str) -> None:
    answer = world.get(f"/api/v1/prompts/{new_prompt(world)}/logs", params={"q": q})

    assert answer.status_code == 400
    assert answer.json["error"].startswith("q: ")
