"""No key reaches into another project: what is there looks as if it were not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.api_routes import NOTHING, ApiRoute, api_routes
from tests.support.conversations import export
from tests.support.full_project import MARK, TURNS, everything, new_prompt, organization
from tests.support.world import World, new_world

# The body of a route, where an empty object would be refused before anything is looked for.
BODIES: dict[str, Any] = {
    "PATCH /api/v1/prompts/{prompt_id}": {"name": "Mine now"},
    "PUT /api/v1/prompts/{prompt_id}/labels/{label}": {"commitHash": "0" * 64},
    "POST /api/v1/prompts/{prompt_id}/recorded-instruction/placeholders": {"accept": [{"id": "mine"}]},
    "POST /api/v1/prompts/{prompt_id}/online-checks": {"name": "Mine", "kind": "contains", "value": "x"},
    "POST /api/v1/prompts/{prompt_id}/test-cases": {"question": "Who?", "expectedAnswer": "Me."},
    "POST /api/v1/prompts/{prompt_id}/test-cases/import": {
        "format": "reprise.test-case/1",
        "name": "Mine now",
        "testCase": {"turns": [{"user": "Who?", "steps": [{"kind": "answer", "text": "Me."}]}]},
    },
    "POST /api/v1/prompts/{prompt_id}/suite-acceptances": {"name": "Mine now", "picks": [{"sessionId": "0" * 32}]},
    "POST /api/v1/prompts/{prompt_id}/suites": {"name": "Mine now"},
    "POST /api/v1/prompts/{prompt_id}/schedules": {"cron": "0 3 * * *"},
    "POST /api/v1/guard-maps/{map_id}/test-cases": {"sentence": 0},
    "PATCH /api/v1/schedules/{schedule_id}": {"enabled": False},
    "PATCH /api/v1/suites/{suite_id}": {"name": "Mine now"},
    "POST /api/v1/suites/{suite_id}/test-cases": {"testCaseIds": [1]},
    "PATCH /api/v1/test-cases/{test_case_id}": {"name": "Mine now"},
    "PATCH /api/v1/replays/{replay_id}/steps/{step}": {"verdict": "passed"},
    "POST /api/v1/replays/{replay_id}/turns/{turn}/answer": {"text": "Mine now."},
    "PATCH /api/v1/alert-rules/{rule_id}": {"enabled": False},
    "PATCH /api/v1/online-checks/{check_id}": {"enabled": False},
    "PATCH /api/v1/models/{model_id}": {"enabled": False},
    "PATCH /api/v1/projects/{project_id}": {"name": "Mine now"},
    "POST /api/v1/projects/{project_id}/api-keys": {"name": "Mine now"},
    "PATCH /api/v1/members/{user_id}": {"role": "viewer"},
    "PUT /api/v1/credentials/{vendor}": {"apiKey": "mine-now"},
}
# What a route asks for in its query.
QUERIES = {"GET /api/v1/prompts/{prompt_id}/insight/comparison": {"before": "0" * 64, "after": "1" * 64}}
# What is put there is one's own, whoever else has a credential for the vendor, or an agent of that name.
MAKES = {
    "PUT /api/v1/credentials/{vendor}",
    "POST /api/public/agents/{agent}/otel/v1/logs",
    "POST /api/public/agents/{agent}/otel/v1/traces",
}
# What no key reaches, only the token of one replay.
OF_TOKENS = "/api/replay/"
PUBLIC = {"/api/openapi.json", "/api/docs"}


@pytest.fixture
def owned(world: World) -> dict[str, Any]:
    """All of the project and its organization, each with `MARK` in it."""
    world.member(f"{MARK}-{world.organization_id}@example.org")
    stored = world.put("/api/v1/credentials/ANTHROPIC", json={"apiKey": MARK, "baseUrl": f"http://{MARK}.invalid"})
    assert stored.status_code == 200, stored.text
    return everything(world) | organization(world)


@pytest.fixture
def stranger(world: World) -> World:
    return new_world(world.container)


@pytest.fixture
def routes(world: World) -> list[ApiRoute]:
    return [route for route in api_routes(world.client.app) if route.template not in PUBLIC]


def ask(world: World, route: ApiRoute, values: dict[str, Any], **headers: str) -> Any:
    sent = world.headers | headers
    body = None if route.method in {"GET", "DELETE"} else BODIES.get(str(route), {})
    query = QUERIES.get(str(route))
    return world.client.simulate_request(route.method, route.path(values), json=body, headers=sent, params=query)


def test_what_belongs_to_another_project_answers_as_what_does_not_exist(
    world: World, stranger: World, owned: dict[str, Any], routes: list[ApiRoute]
) -> None:
    addressed = [route for route in routes if route.parameters]
    wrong = {}
    keyed = (route for route in addressed if not route.template.startswith(OF_TOKENS))
    for route in (route for route in keyed if str(route) not in MAKES):
        foreign, missing = ask(stranger, route, owned), ask(stranger, route, NOTHING)
        if not (foreign.status_code == missing.status_code == 404 and foreign.json == missing.json):
            wrong[str(route)] = (foreign.status_code, foreign.text, missing.status_code, missing.text)
    assert wrong == {}
    assert len(addressed) > 20


def test_a_stranger_changes_nothing(
    world: World, stranger: World, owned: dict[str, Any], routes: list[ApiRoute]
) -> None:
    seen = [route for route in routes if route.method == "GET" and route.parameters]
    before = {str(route): ask(world, route, owned).text for route in seen}

    for route in routes:
        if route.method != "GET" and route.parameters:
            ask(stranger, route, owned)

    assert {str(route): ask(world, route, owned).text for route in seen} == before
    assert all(ask(world, route, owned).status_code == 200 for route in seen)


def test_lists_have_nothing_of_another_project(stranger: World, owned: dict[str, Any], routes: list[ApiRoute]) -> None:
    lists = [route for route in routes if route.method == "GET" and not route.parameters]
    answers = {str(route): ask(stranger, route, {}) for route in lists}
    assert {name: answer.status_code for name, answer in answers.items() if answer.status_code != 200} == {}
    assert [name for name, answer in answers.items() if MARK in answer.text] == []
    assert "GET /api/v1/prompts" in answers


def test_without_a_valid_key_nothing_answers(world: World, owned: dict[str, Any], routes: list[ApiRoute]) -> None:
    unknown = "Bearer rp_" + "x" * 43
    for sent in ({}, {"Authorization": unknown}, {"Authorization": "Bearer"}, {"Authorization": f"Basic {world.key}"}):
        answers = {
            str(route): world.client.simulate_request(route.method, route.path(owned), headers=sent) for route in routes
        }
        assert {name: answer.status_code for name, answer in answers.items() if answer.status_code != 401} == {}
        assert all(answer.headers["WWW-Authenticate"] == "Bearer" for answer in answers.values())
        assert all(next(iter(answer.json)) == "error" for answer in answers.values())


def test_only_the_document_and_its_page_are_public(world: World) -> None:
    open_to_all = {
        route.template
        for route in api_routes(world.client.app)
        if world.client.simulate_request(route.method, route.path(NOTHING)).status_code != 401
    }
    assert open_to_all <= PUBLIC


def test_another_projects_prompt_can_not_be_run(stranger: World, owned: dict[str, Any]) -> None:
    foreign, missing = (
        stranger.post("/api/v1/prompts/run", json={"id": prompt_id, "question": "Who?"})
        for prompt_id in (owned["prompt_id"], NOTHING["prompt_id"])
    )
    assert (foreign.status_code, foreign.json) == (missing.status_code, missing.json)
    assert foreign.status_code == 404


def test_spans_for_another_projects_prompt_are_rejected(world: World, stranger: World, owned: dict[str, Any]) -> None:
    log = f"/api/v1/prompts/{owned['prompt_id']}/logs"
    before = world.get(log).json

    refused = stranger.send(export(owned["prompt_id"], "elsewhere", TURNS, start_ns=1_770_000_000_000_000_000))

    assert refused.status_code == 400
    assert str(NOTHING["prompt_id"]) not in refused.text
    assert world.get(log).json == before
    assert world.count("rejected_spans") == 0


def test_another_projects_version_can_not_be_named_for_a_prompt_of_ones_own(
    stranger: World, owned: dict[str, Any]
) -> None:
    mine = stranger.post("/api/v1/prompts", json=new_prompt() | {"value": "Be mine."}).json["prompt"]["id"]
    foreign, prompt = owned["commit_hash"], f"/api/v1/prompts/{mine}"
    answers = [
        stranger.get(f"{prompt}?commitHash={foreign}"),
        stranger.get(f"{prompt}/versions/{foreign}"),
        stranger.post(f"{prompt}/versions/{foreign}/restore"),
        stranger.post(f"{prompt}/render", json={"commitHash": foreign}),
        stranger.post("/api/v1/prompts/run", json={"id": mine, "question": "Who?", "commitHash": foreign}),
    ]
    assert [answer.status_code for answer in answers] == [404] * 5


def test_another_projects_test_cases_can_not_be_replayed_among_ones_own(stranger: World, owned: dict[str, Any]) -> None:
    mine = stranger.post("/api/v1/prompts", json=new_prompt()).json["prompt"]["id"]
    refused = stranger.post(f"/api/v1/prompts/{mine}/replays", json={"testCaseIds": [owned["test_case_id"]]})
    missing = stranger.post(f"/api/v1/prompts/{mine}/replays", json={"testCaseIds": [NOTHING["test_case_id"]]})
    assert (refused.status_code, refused.json) == (missing.status_code, missing.json)
    assert refused.status_code == 404
    listed = stranger.get(f"/api/v1/prompts/{mine}/replays?testCaseId={owned['test_case_id']}")
    assert listed.json["replays"] == []


def test_a_cursor_of_another_project_leads_nowhere(world: World, stranger: World, owned: dict[str, Any]) -> None:
    everything(world)
    cursor = world.get("/api/v1/prompts?limit=1").json["nextCursor"]
    assert cursor
    assert stranger.get(f"/api/v1/prompts?limit=1&cursor={cursor}").json["prompts"] == []
