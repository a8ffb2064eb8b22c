"""Vendors' credentials over the API: stored, replaced, checked and removed, and never shown again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.encryption import CredentialCipher
from app.services.accounts.keys import DEFAULT_SCOPES
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.support.world import World, new_world

PATH = "/api/v1/credentials"
CUSTOM = "CUSTOM_OPENAI_COMPATIBLE"
KEY = "sk-0123456789abcdefWXYZ"


def put(world: World, vendor: str = "ANTHROPIC", **body: str) -> Any:
    answer = world.put(f"{PATH}/{vendor}", json={"apiKey": KEY, **body})
    assert answer.status_code == 200, answer.text
    return answer.json


def own(world: World) -> dict[str, Any]:
    """The organization's own credentials, by vendor."""
    listed = world.get(PATH).json["credentials"]
    return {each["vendor"]: each for each in listed if each["source"] == "organization"}


def audit(world: World) -> list[tuple[str, str, str]]:
    entries = world.get("/api/v1/audit-log").json["entries"]
    return [(one["action"], one["subject"], one["actor"]["name"]) for one in entries if "credential" in one["action"]]


def test_what_is_stored_serves_calls_and_shows_only_its_last_characters(world: World) -> None:
    stored = put(world, baseUrl="https://gateway.example/v1")

    shown = {"vendor": "ANTHROPIC", "source": "organization", "lastFour": "WXYZ"}
    assert stored == shown | {"baseUrl": "https://gateway.example/v1", "setAt": stored["setAt"]}
    assert own(world) == {"ANTHROPIC": stored}
    assert world.get(f"{PATH}/ANTHROPIC").json == stored
    found = world.container.services.credentials.find(world.organization_id, "ANTHROPIC")
    assert found
    assert found.api_key == KEY


def test_no_answer_has_the_key(world: World) -> None:
    answers = [world.put(f"{PATH}/GOOGLE", json={"apiKey": KEY}), world.put(f"{PATH}/NOBODY", json={"apiKey": KEY})]
    answers += [world.put(f"{PATH}/GOOGLE", json={"apiKey": KEY, "base": 1}), world.get(PATH)]
    answers += [world.get(f"{PATH}/GOOGLE"), world.get("/api/v1/audit-log"), world.delete(f"{PATH}/GOOGLE")]
    assert [answer.status_code for answer in answers] == [200, 400, 400, 200, 200, 200, 204]
    assert [answer.text for answer in answers if "0123456789" in answer.text] == []


def test_of_a_short_key_nothing_is_shown(world: World) -> None:
    assert put(world, apiKey="sk-short")["lastFour"] == ""


def test_replacing_and_removing_are_in_the_audit_log_with_the_key_that_did_it(world: World) -> None:
    put(world)
    put(world, apiKey="sk-another-0123456789")
    assert world.delete(f"{PATH}/ANTHROPIC").status_code == 204

    assert own(world) == {}
    assert world.delete(f"{PATH}/ANTHROPIC").status_code == 404
    assert world.get(f"{PATH}/ANTHROPIC").status_code == 404
    assert audit(world) == [
        ("credential.cleared", "ANTHROPIC", "test"),
        ("credential.set", "ANTHROPIC", "test"),
        ("credential.set", "ANTHROPIC", "test"),
    ]


def test_a_new_base_url_never_gets_the_old_key(world: World) -> None:
    put(world)
    refused = world.put(f"{PATH}/ANTHROPIC", json={"baseUrl": "https://elsewhere.example"})
    assert refused.status_code == 400
    assert own(world)["ANTHROPIC"]["baseUrl"] == ""


@pytest.mark.parametrize(
    ("vendor", "body", "field"),
    [
        ("NOBODY", {"apiKey": KEY}, "vendor"),
        ("OPENAI", {}, "apiKey"),
        ("OPENAI", {"apiKey": "two words"}, "apiKey"),
        ("OPENAI", {"apiKey": "k" * 5000}, "apiKey"),
        ("OPENAI", {"apiKey": KEY, "baseUrl": "file:///etc/passwd"}, "baseUrl"),
        ("OPENAI", {"apiKey": KEY, "baseUrl": "https://user:secret@host/v1"}, "baseUrl"),
        ("OPENAI", {"apiKey": 7}, "apiKey"),
        ("OPENAI", {"apiKey": KEY, "vendor": "OPENAI"}, "vendor"),
    ],
)
def test_what_can_not_serve_is_refused_by_its_field(
    world: World, vendor: str, body: dict[str, Any], field: str
) -> None:
    answer = world.put(f"{PATH}/{vendor}", json=body)
    assert answer.status_code == 400
    assert answer.json["error"].startswith(f"{field}: ")
    assert own(world) == {}
    assert audit(world) == []


def test_a_check_asks_the_vendor_and_returns_its_words(world: World, upstream: Upstream) -> None:
    put(world, CUSTOM, baseUrl=upstream.base_url(CUSTOM))
    assert world.post(f"{PATH}/{CUSTOM}/check").status_code == 409, "there is no model to ask"
    world.post("/api/v1/models", json={"name": "llama3"})

    assert world.post(f"{PATH}/{CUSTOM}/check").json == {"model": "llama3"}
    assert upstream.requests[-1].headers["authorization"] == f"Bearer {KEY}"

    upstream.script(Reply(status=401, message="Unknown key."))
    refused = world.post(f"{PATH}/{CUSTOM}/check")
    assert (refused.status_code, "Unknown key." in refused.json["error"]) == (502, True)
    assert world.post(f"{PATH}/DEEPSEEK/check").status_code == 404


def test_an_ordinary_key_neither_reads_nor_changes_them(world: World) -> None:
    put(world)
    secret = world.container.services.keys.create(project_id=world.project_id, name="App", scopes=DEFAULT_SCOPES).secret
    app = replace(world, key=secret)
    answers = [
        app.get(PATH),
        app.get(f"{PATH}/ANTHROPIC"),
        app.put(f"{PATH}/ANTHROPIC", json={"apiKey": KEY, "baseUrl": "https://attacker.example"}),
        app.post(f"{PATH}/ANTHROPIC/check"),
        app.delete(f"{PATH}/ANTHROPIC"),
    ]
    assert [answer.status_code for answer in answers] == [403] * 5
    assert own(world)["ANTHROPIC"]["baseUrl"] == ""


def test_another_organizations_credential_is_not_there(world: World) -> None:
    put(world)
    stranger = new_world(world.container)
    assert own(stranger) == {}
    assert stranger.get(f"{PATH}/ANTHROPIC").status_code == stranger.delete(f"{PATH}/ANTHROPIC").status_code == 404

    put(stranger, apiKey="sk-of-a-stranger-0123", baseUrl="https://stranger.example")

    assert own(world)["ANTHROPIC"]["lastFour"] == "WXYZ"


def test_a_key_that_can_not_be_read_any_more_is_listed_without_its_end(world: World) -> None:
    put(world)
    credentials = world.container.services.credentials
    credentials._cipher, kept = CredentialCipher("changed"), credentials._cipher
    try:
        assert own(world)["ANTHROPIC"]["lastFour"] == ""
    finally:
        credentials._cipher = kept
