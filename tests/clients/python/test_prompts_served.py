"""The Python client and the real server agree on versions, labels, splits and renderings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from reprise_client import AuthenticationError, NotFoundError, Reprise

from tests.clients.python.fakes import client_of
from tests.fakes.upstream import Upstream
from tests.support.deployment import EmbeddedServer
from tests.support.http_client import Client
from tests.support.own_models import ANSWER, THOUGHTS, prompt_of_a_thinking_model
from tests.support.waiting import wait_until

NEW = {
    "name": "Support",
    "value": "Be {{tone}} and {{unknown}}. \N{SMILING FACE WITH SMILING EYES}",
    "instructionFormat": "RAW",
    "placeholders": [{"key": "tone", "values": [{"name": "formal", "content": "formal <&>", "isDefault": True}]}],
}


@pytest.fixture
def api(backend: EmbeddedServer) -> Client:
    return backend.client()


@pytest.fixture
def client(kind: str, api: Client) -> Iterator[Any]:
    with client_of(kind, api.base_url, api.api_key) as client:
        yield client


@pytest.fixture
def prompt_id(api: Client) -> int:
    found: int = api.post("/api/v1/prompts", NEW).json()["prompt"]["id"]
    return found


def commit(api: Client, prompt_id: int, value: str) -> str:
    """Commit a new text; return the hash of the version."""
    assert api.patch(f"/api/v1/prompts/{prompt_id}", {"value": value}).status == 200
    found: str = api.post(f"/api/v1/prompts/{prompt_id}/commit").json()["commitHash"]
    return found


def move(api: Client, prompt_id: int, commit_hash: str, **body: Any) -> None:
    answer = api.request("PUT", f"/api/v1/prompts/{prompt_id}/labels/live", payload={"commitHash": commit_hash, **body})
    assert answer.status == 200, answer.body


def test_it_renders_what_the_server_renders(api: Client, client: Any, prompt_id: int) -> None:
    selections = {"tone": "formal", "other": "x"}
    on_server = api.post(f"/api/v1/prompts/{prompt_id}/render", {"placeholders": selections}).json()

    rendered = client.prompt(prompt_id).render(selections)

    assert rendered.instruction == on_server["instruction"]
    assert rendered.resolved == on_server["placeholders"]["resolved"]
    assert rendered.ignored == on_server["placeholders"]["ignored"]
    assert rendered.undefined == on_server["placeholders"]["undefinedKeys"]
    assert (rendered.version, rendered.state) == (on_server["commitHash"], "fresh")


def test_the_newest_version_a_label_a_version_and_the_draft_differ(api: Client, client: Any, prompt_id: int) -> None:
    first = client.prompt(prompt_id).version
    second = commit(api, prompt_id, "Second.")
    move(api, prompt_id, first)
    api.patch(f"/api/v1/prompts/{prompt_id}", {"value": "Draft."})

    with_label, with_hash = client.prompt(prompt_id, label="live"), client.prompt(prompt_id, version=second)
    draft = client.prompt(prompt_id, draft=True)

    assert (with_label.version, with_hash.value) == (first, "Second.")
    assert (draft.value, draft.version) == ("Draft.", None)
    assert draft.json()["languageModel"]["vendor"]


def test_a_split_gives_each_key_the_version_that_the_server_gives(api: Client, client: Any, prompt_id: int) -> None:
    first = client.prompt(prompt_id).version
    second = commit(api, prompt_id, "Second.")
    move(api, prompt_id, first)
    move(api, prompt_id, second, share=0.3)
    keys = [f"user {n} \N{GRINNING FACE}" for n in range(60)]

    here = [client.prompt(prompt_id, label="live", split_key=key).version for key in keys]
    there = [
        api.post(f"/api/v1/prompts/{prompt_id}/render", {"label": "live", "splitKey": key}).json()["commitHash"]
        for key in keys
    ]

    assert here == there
    assert set(here) == {first, second}
    assert client.prompt(prompt_id, label="live").version == first


def test_thoughts_in_the_text_of_a_local_model_are_apart_from_its_answer(api: Client, backend: EmbeddedServer) -> None:
    with Upstream() as upstream, Reprise(api.base_url, api.api_key) as client:
        prompt_id = prompt_of_a_thinking_model(backend, upstream, runs=2)
        run = client.run(prompt_id, "How?")
        *pieces, streamed = client.stream(prompt_id, "How?")

    for result in (run, streamed):
        assert (result.answer, result.chain_of_thoughts) == (ANSWER, f"\n{THOUGHTS}")
    texts = ("".join(piece.text for piece in pieces if piece.kind == kind) for kind in ("reasoning", "token"))
    assert tuple(texts) == (f"\n{THOUGHTS}", ANSWER)


def test_what_the_server_refuses_is_raised_with_its_words(kind: str, api: Client, client: Any, prompt_id: int) -> None:
    with pytest.raises(NotFoundError, match="The prompt has no such label"):
        client.prompt(prompt_id, label="nowhere")
    with pytest.raises(NotFoundError, match="There is no such prompt"):
        client.prompt(10**9)
    with client_of(kind, api.base_url, "rp_wrong") as wrong, pytest.raises(AuthenticationError) as raised:
        wrong.prompt(prompt_id)
    assert str(raised.value) == Client(api.base_url, "rp_wrong").get("/api/v1/prompts/1").json()["error"]


def test_an_archived_prompt_is_served_stale_with_the_reason(kind: str, api: Client, prompt_id: int) -> None:
    with client_of(kind, api.base_url, api.api_key, fresh_s=0) as client:
        client.prompt(prompt_id)
        assert api.delete(f"/api/v1/prompts/{prompt_id}").status == 204
        wait_until(lambda: client.prompt(prompt_id).problem, "the refusal")
        prompt = client.prompt(prompt_id)

    assert (prompt.value, prompt.state) == (NEW["value"], "stale")
    assert isinstance(prompt.problem, NotFoundError)
