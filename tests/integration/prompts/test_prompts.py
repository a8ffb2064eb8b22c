"""Creating, reading, listing and archiving prompts."""

import re
from typing import Any

import pytest

from app.models import cases as test_cases
from tests.support.world import World, new_world

PROMPTS = "/api/v1/prompts"
TONE = {
    "key": "tone",
    "description": "How to speak",
    "values": [
        {"name": "formal", "content": "Be formal.", "isDefault": True},
        {"name": "empty", "content": "", "isDefault": False},
    ],
}
TOOL = {"name": "search", "description": "Finds", "parameters": {"type": "object", "properties": {}}, "strict": True}


def create(world: World, **body: Any) -> dict[str, Any]:
    answer = world.post(PROMPTS, json={"name": "Helper", "value": "Hi {{tone}}", **body})
    assert answer.status_code == 201, answer.text
    return dict(answer.json)


def test_a_created_prompt_is_committed_at_once(world: World) -> None:
    answer = world.post(PROMPTS, json={"name": "  Rôle 🦊 ", "value": "Hi {{tone}} {{who}}", "placeholders": [TONE]})
    assert answer.status_code == 201
    prompt_id = answer.json["prompt"]["id"]
    assert answer.headers["Location"] == f"{PROMPTS}/{prompt_id}"
    assert answer.json == {
        "prompt": {"id": prompt_id, "name": "Rôle 🦊", "value": "Hi {{tone}} {{who}}", "commited": True},
        "placeholders": {"undefinedKeys": ["who"], "ignored": []},
    }
    history = world.get(f"{PROMPTS}/{prompt_id}/versions").json["versions"]
    assert [version["message"] for version in history] == ["Initial commit"]


def test_a_placeholder_that_the_text_lacks_is_ignored_not_refused(world: World) -> None:
    assert create(world, value="plain", placeholders=[TONE])["placeholders"] == {
        "undefinedKeys": [],
        "ignored": ["tone"],
    }


@pytest.mark.parametrize("found", [{"effect": "read"}, {"effect": "by_call"}, {"annotations": {"readOnlyHint": True}}])
def test_what_replays_read_of_a_tool_may_be_at_either_place_of_openais_form(world: World, found: Any) -> None:
    forms = [
        {"type": "function", "function": TOOL} | found,
        {"type": "function", "function": TOOL | found},
        TOOL | found,
    ]
    hashes = set()
    for form in forms:
        prompt_id = create(world, languageModelConfig={"tools": [form]})["prompt"]["id"]
        record = world.get(f"{PROMPTS}/{prompt_id}").json
        assert record["languageModelConfig"]["tools"] == [TOOL | found]
        hashes.add(record["commitHash"])
    assert len(hashes) == 1


def test_the_record_has_every_field_of_the_contract(world: World) -> None:
    config = {"temperature": 0.5, "tools": [{"type": "function", "function": TOOL}]}
    prompt_id = create(world, placeholders=[TONE], languageModelConfig=config, instructionFormat="RAW")["prompt"]["id"]
    record = world.get(f"{PROMPTS}/{prompt_id}").json
    moment = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
    assert moment.fullmatch(record.pop("createdAt"))
    assert moment.fullmatch(record.pop("updatedAt"))
    assert re.fullmatch(r"[0-9a-f]{64}", record.pop("commitHash"))
    model = record.pop("languageModel")
    assert record == {
        "id": prompt_id,
        "value": "Hi {{tone}}",
        "languageModelId": model["id"],
        "fallbackModelName": None,
        "name": "Helper",
        "publicUrl": "",
        "languageModelConfig": {
            "tools": [TOOL],
            "max_tokens": model["completionTokensMax"],
            "temperature": 0.5,
            "response_format": "text",
        },
        "instructionFormat": "RAW",
        "assertionType": "STRICT",
        "assertionValue": "",
        "commited": True,
        "projectId": world.project_id,
        "placeholderDefinitions": [TONE],
    }
    assert model.pop("createdAt")
    assert model.pop("updatedAt")
    assert isinstance(model.pop("id"), int)
    assert isinstance(model.pop("description"), str)
    assert model == {
        "name": "echo",
        "vendor": "BUILTIN",
        "promptPrice": 0,
        "completionPrice": 0,
        "contextTokensMax": 1_000_000,
        "completionTokensMax": 1_000_000,
    }


def test_a_prompt_never_committed_is_read_from_its_draft(world: World) -> None:
    answer = world.get(f"{PROMPTS}/{world.prompt()}")
    assert answer.json["commitHash"] is None
    assert answer.json["commited"] is False
    assert answer.headers["ETag"].startswith('"1.')


@pytest.mark.parametrize("productive", ["true", "TRUE", "1"])
def test_productive_in_a_query_accepts_these_words(world: World, productive: str) -> None:
    prompt_id = create(world)["prompt"]["id"]
    assert world.get(f"{PROMPTS}/{prompt_id}", params={"productive": productive}).json["commitHash"]


def test_the_list_has_all_prompts_newest_first(world: World) -> None:
    first, second = (create(world, name=name)["prompt"]["id"] for name in ("one", "two"))
    draft = world.prompt()
    answer = world.get(PROMPTS)
    assert list(answer.json) == ["prompts"]
    assert [item["id"] for item in answer.json["prompts"]] == [draft, second, first]
    never, newest, _ = answer.json["prompts"]
    assert never["branches"] == []
    assert not never["commited"]
    assert newest["_count"] == {"testCases": 0}
    version = newest["branches"][0]["promptVersions"][0]
    assert newest["branches"][0]["name"] == "master"
    assert version.keys() == {"commitHash", "createdAt", "message", "author"}
    assert version["author"] is None
    keys = "id name publicUrl assertionType languageModelId createdAt updatedAt commited _count branches"
    assert newest.keys() == set(keys.split())


def test_pages_join_to_the_whole_list(world: World) -> None:
    ids = [create(world, name=f"p{number}")["prompt"]["id"] for number in range(5)]
    seen: list[int] = []
    cursor: dict[str, str] = {}
    while True:
        page = world.get(PROMPTS, params={"limit": "2", **cursor}).json
        seen += [item["id"] for item in page["prompts"]]
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert seen == ids[::-1]


@pytest.mark.parametrize(
    ("search", "found"), [("rôle", ["Rôle %"]), ("%", ["Rôle %"]), ("_", []), ("", ["b", "Rôle %"])]
)
def test_search_looks_for_a_part_of_the_name(world: World, search: str, found: list[str]) -> None:
    for name in ("Rôle %", "b"):
        create(world, name=name)
    assert [item["name"] for item in world.get(PROMPTS, params={"search": search}).json["prompts"]] == found


def test_search_knows_upper_and_lower_case_of_any_script(world: World) -> None:
    create(world, name="ÄRGER Роль")
    for search in ("ärger", "РОЛЬ"):
        assert len(world.get(PROMPTS, params={"search": search}).json["prompts"]) == 1


def test_an_archived_prompt_is_gone(world: World) -> None:
    prompt_id = create(world)["prompt"]["id"]
    assert world.delete(f"{PROMPTS}/{prompt_id}").status_code == 204
    assert world.get(PROMPTS).json["prompts"] == []
    for answer in (
        world.get(f"{PROMPTS}/{prompt_id}"),
        world.delete(f"{PROMPTS}/{prompt_id}"),
        world.patch(f"{PROMPTS}/{prompt_id}", json={"value": "x"}),
    ):
        assert answer.status_code == 404


def test_an_archived_prompt_is_listed_apart_and_comes_back_as_it_was(world: World) -> None:
    prompt_id = create(world, name="Porter")["prompt"]["id"]
    stays = create(world, name="Concierge")["prompt"]["id"]
    path = f"{PROMPTS}/{prompt_id}"
    before = world.get(path).json
    world.delete(path)

    def listed(**query: str) -> list[int]:
        return [item["id"] for item in world.get(PROMPTS, params=query).json["prompts"]]

    assert (listed(), listed(archived="true")) == ([stays], [prompt_id])
    draft = world.post(f"{path}/unarchive")
    assert (draft.status_code, draft.json["id"]) == (200, prompt_id)
    assert (listed(), listed(archived="true")) == ([stays, prompt_id], [])
    assert world.get(path).json == before
    assert world.post(f"{path}/unarchive").status_code == 200


def test_an_erased_prompt_stays_out_of_the_archive(world: World) -> None:
    prompt_id = create(world)["prompt"]["id"]
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)

    assert world.get(PROMPTS, params={"archived": "true"}).json["prompts"] == []
    assert world.post(f"{PROMPTS}/{prompt_id}/unarchive").status_code == 404


def test_a_foreign_prompt_and_a_missing_one_have_equal_answers(world: World) -> None:
    prompt_id = create(world)["prompt"]["id"]
    commit_hash = world.get(f"{PROMPTS}/{prompt_id}").json["commitHash"]
    stranger = new_world(world.container)
    nobody = 9_000_000_000_000_000_000
    for method, path, body in [
        ("GET", "", None),
        ("PATCH", "", {"value": "mine"}),
        ("DELETE", "", None),
        ("POST", "/render", {}),
        ("POST", "/commit", {}),
        ("GET", "/versions", None),
        ("GET", f"/versions/{commit_hash}", None),
        ("POST", f"/versions/{commit_hash}/restore", None),
    ]:
        answers = [
            stranger.client.simulate_request(method, f"{PROMPTS}/{which}{path}", headers=stranger.headers, json=body)
            for which in (prompt_id, nobody)
        ]
        assert [answer.status_code for answer in answers] == [404, 404], (method, path)
        assert answers[0].json == answers[1].json
    assert stranger.get(PROMPTS).json == {"prompts": []}
    assert world.get(f"{PROMPTS}/{prompt_id}").json["value"] == "Hi {{tone}}"


def test_a_version_of_another_prompt_is_not_found(world: World) -> None:
    one, other = (create(world, value=value)["prompt"]["id"] for value in ("one", "other"))
    commit_hash = world.get(f"{PROMPTS}/{other}").json["commitHash"]
    assert world.get(f"{PROMPTS}/{one}", params={"commitHash": commit_hash}).status_code == 404
    assert world.post(f"{PROMPTS}/{one}/render", json={"commitHash": commit_hash}).status_code == 404
    assert world.get(f"{PROMPTS}/{one}/versions/{commit_hash}").status_code == 404


def test_a_prompt_accepts_text_of_any_kind_up_to_its_limit(world: World) -> None:
    value = ("<b>🦊</b>\r\n'; DROP TABLE prompts; -- \\ \u2028 {{x}}" * 20_000)[:500_000]
    prompt_id = create(world, value=value)["prompt"]["id"]
    assert world.get(f"{PROMPTS}/{prompt_id}").json["value"] == value
    assert world.post(PROMPTS, json={"name": "n", "value": value + "x"}).status_code == 400


def test_a_disabled_model_is_not_to_be_named(world: World) -> None:
    models = world.container.services.models
    model = next(m for m in models.list(organization_id=world.organization_id) if m.name == "gpt-4o-mini")
    assert create(world, languageModelName="gpt-4o-mini")
    models.choose(organization_id=world.organization_id, model_id=model.id, disabled=True)
    answer = world.post(PROMPTS, json={"name": "n", "value": "v", "languageModelName": "gpt-4o-mini"})
    assert answer.status_code == 400
    assert answer.json["error"].startswith("languageModelName: ")
    assert (
        new_world(world.container)
        .post(PROMPTS, json={"name": "n", "value": "v", "languageModelName": "gpt-4o-mini"})
        .status_code
        == 201
    )


def test_the_chosen_default_model_is_taken(world: World) -> None:
    models = world.container.services.models
    by_name = {m.name: m.id for m in models.list(organization_id=world.organization_id)}
    for name in ("gpt-4o-mini", "gpt-4o"):
        models.choose(organization_id=world.organization_id, model_id=by_name[name], is_default=True)
    prompt_id = create(world)["prompt"]["id"]
    assert world.get(f"{PROMPTS}/{prompt_id}").json["languageModel"]["name"] == "gpt-4o"
    assert sum(m.is_default for m in models.list(organization_id=world.organization_id)) == 1


def test_the_default_model_is_shown_before_a_choice_and_when_it_was_disabled(world: World) -> None:
    models = world.container.services.models
    by_name = {m.name: m.id for m in models.list(organization_id=world.organization_id)}

    def default() -> list[str]:
        return [m.name for m in models.list(organization_id=world.organization_id) if m.is_default]

    assert default() == ["echo"]
    models.choose(organization_id=world.organization_id, model_id=by_name["gpt-4o"], is_default=True)
    assert default() == ["gpt-4o"]
    models.choose(organization_id=world.organization_id, model_id=by_name["gpt-4o"], disabled=True)
    assert default() == ["echo"]
    models.choose(organization_id=world.organization_id, model_id=by_name["echo"], disabled=True)
    assert default() == []


def test_the_list_counts_each_prompts_test_cases(world: World) -> None:
    with_cases, without = (create(world, name=name)["prompt"]["id"] for name in ("one", "two"))
    with world.container.database.write() as connection:
        for name in ("a", "b"):
            values = {"project_id": world.project_id, "prompt_id": with_cases, "name": name, "document": {}}
            values |= {"steps": 1, "variants": None, "fingerprint": ""}
            test_cases.add_test_case(connection, values=values, now=world.container.now())
    counts = {item["id"]: item["_count"] for item in world.get(PROMPTS).json["prompts"]}
    assert counts == {with_cases: {"testCases": 2}, without: {"testCases": 0}}
