"""Saved filters of a project's sessions: a filter lists the same again, only for the project, until it is deleted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.services.sessions.filters import SessionFilter
from app.services.sessions.saved_filters import FILTERS_MAX
from tests.integration.test_session_list import listed, said, session, words
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.world import World, new_world

PATH = "/api/v1/session-filters"


def save(world: World, name: str, **filters: Any) -> Any:
    return world.post(PATH, json={"name": name, "filters": filters})


def names(world: World) -> list[str]:
    return [one["name"] for one in world.get(PATH).json["sessionFilters"]]


def test_a_saved_filter_is_a_query_that_lists_what_it_names(world: World) -> None:
    prompt_id = world.prompt()
    session(world, prompt_id, 100, **{"gen_ai.input.messages": said("went well")})
    session(world, prompt_id, 200, tools={"pay": 2}, **{"gen_ai.input.messages": said("went wrong")})

    saved = save(world, " Went wrong ", errors=True, promptId=str(prompt_id), minTurns=1, sort="oldest")

    assert saved.status_code == 201, saved.text
    wanted = {"errors": True, "promptId": prompt_id, "minTurns": 1, "sort": "oldest"}
    assert (saved.json["name"], saved.json["filters"]) == ("Went wrong", wanted)
    assert world.get(saved.headers["Location"]).json == saved.json
    query = {name: str(value).lower() for name, value in saved.json["filters"].items()}
    assert words(listed(world, **query)) == ["went wrong"]
    assert words(listed(world, **query | {"errors": "false"})) == ["went well"]


def test_times_are_saved_as_they_were_given(world: World) -> None:
    saved = save(world, "Then", **{"from": "2026-01-02T01:00:00+01:00", "to": "2026-01-03T00:00:00Z", "since": "7d"})
    assert saved.json["filters"] == {
        "from": "2026-01-02T00:00:00.000Z",
        "to": "2026-01-03T00:00:00.000Z",
        "since": "7d",
    }


def test_since_lists_the_sessions_of_the_time_before_now(world: World) -> None:
    now = world.container.now()
    for hours, text in ((2, "before"), (0.5, "within")):
        start_s = int((now - timedelta(hours=hours)).timestamp())
        session(world, world.prompt(), start_s, **{"gen_ai.input.messages": said(text)})

    assert words(listed(world, since="1h")) == ["within"]
    assert words(listed(world, since="1d")) == ["within", "before"]
    assert words(listed(world, since="1d", **{"from": f"{now - timedelta(hours=1):%FT%TZ}"})) == ["within"]
    assert words(listed(world, since="1h", **{"from": "1970-01-01T00:00:00Z"})) == ["within"]


def test_yesterday_is_the_whole_day_of_utc_before_now(world: World) -> None:
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
    midnight, prompt_id = int(noon.timestamp()) - 12 * 3600, world.prompt()
    for text, start_s in (
        ("the day before", midnight - 86_400 - 1),
        ("its first second", midnight - 86_400),
        ("its last second", midnight - 1),
        ("today", midnight),
    ):
        session(world, prompt_id, start_s, **{"gen_ai.input.messages": said(text)})
    at_noon = replace(world.container.services.session_list, now=lambda: noon)

    def found(**filters: Any) -> list[str | None]:
        asked = SessionFilter(since="yesterday", **filters)
        return [one.preview for one in at_noon.page(project_id=world.project_id, filters=asked).entries]

    assert found() == ["its last second", "its first second"]
    assert found(to_at=noon) == ["its last second", "its first second"]
    assert found(from_at=noon - timedelta(hours=13)) == ["its last second"]
    assert save(world, "Of yesterday", since="yesterday").json["filters"] == {"since": "yesterday"}


@EMBEDDED_CONTAINER
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"filters": {"q": "x"}}, "name: Missing data"),
        ({"name": " ", "filters": {"q": "x"}}, "name: Length must be"),
        ({"name": "x" * 101, "filters": {"q": "x"}}, "name: Length must be"),
        ({"name": "a\0", "filters": {"q": "x"}}, "name: Must not contain a NUL"),
        ({"name": "a"}, "filters: Missing data"),
        ({"name": "a", "filters": {}}, "filters: Choose at least one filter"),
        ({"name": "a", "filters": []}, "filters: Must be a JSON object"),
        ({"name": "a", "filters": {"cursor": "x"}}, "filters.cursor: Unknown field"),
        ({"name": "a", "filters": {"errors": "true"}}, "filters.errors: Must be true or false"),
        ({"name": "a", "filters": {"since": "2d"}}, "filters.since: Must be one of"),
        ({"name": "a", "filters": {"minCost": -1}}, "filters.minCost: Must be"),
        ({"name": "a", "filters": {"sort": "size"}}, "filters.sort: Must be one of"),
    ],
)
def test_what_no_list_can_be_asked_for_is_not_saved(world: World, body: Any, message: str) -> None:
    refused = world.post(PATH, json=body)
    assert refused.status_code == 400
    assert message in refused.json["error"]
    assert names(world) == []


def test_a_name_is_taken_once_in_a_project_also_where_two_save_at_once(world: World) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: save(world, "Größe 🙂", q="größe").status_code, range(4)))

    assert sorted(answers) == [201, 409, 409, 409]
    assert save(world, "größe 🙂", q="x").status_code == 201
    assert names(world) == ["Größe 🙂", "größe 🙂"]
    assert save(new_world(world.container), "Größe 🙂", q="x").status_code == 201


@EMBEDDED_CONTAINER
def test_a_project_has_a_bounded_number_of_filters(world: World) -> None:
    for number in range(FILTERS_MAX):
        assert save(world, f"{number:03}", minTurns=number).status_code == 201
    refused = save(world, "one more", q="x")
    assert refused.status_code == 400
    assert "at most 100" in refused.json["error"]
    assert names(world) == [f"{number:03}" for number in range(FILTERS_MAX)]


@EMBEDDED_CONTAINER
def test_saving_and_deleting_are_audited_and_need_more_than_reading(world: World) -> None:
    path = save(world, "Mine", q="x").headers["Location"]
    reader = new_world(world.container)
    made = world.post("/api/v1/api-keys", json={"name": "reader", "scopes": ["read"]}).json
    headers = {"Authorization": f"Bearer {made['key']}"}
    assert world.client.simulate_get(PATH, headers=headers).status_code == 200
    assert world.client.simulate_delete(path, headers=headers).status_code == 403
    assert reader.delete(path).status_code == 404

    assert world.delete(path).status_code == 204
    assert world.delete(path).status_code == 404
    log = [(one["action"], one["subject"]) for one in world.get("/api/v1/audit-log").json["entries"]]
    assert [one for one in log if one[0].startswith("session_filter")] == [
        ("session_filter.deleted", "Mine"),
        ("session_filter.saved", "Mine"),
    ]


@EMBEDDED_CONTAINER
def test_no_other_projects_prompt_can_be_named(world: World) -> None:
    foreign = new_world(world.container).prompt()
    missing, refused = save(world, "A", promptId=2**62), save(world, "A", promptId=foreign)
    assert (missing.status_code, missing.json) == (refused.status_code, refused.json) == (404, refused.json)
    assert names(world) == []


def test_a_filter_goes_with_the_prompt_that_it_names_and_all_go_with_the_project(world: World) -> None:
    prompt_id, deletion = world.prompt(), world.container.services.deletion
    save(world, "Of the prompt", promptId=prompt_id, q="secret")
    save(world, "Of all", errors=True)

    deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)
    assert names(world) == ["Of all"]

    deletion.erase_project(project_id=world.project_id)
    assert world.container.services.saved_filters.list(project_id=world.project_id) == []
