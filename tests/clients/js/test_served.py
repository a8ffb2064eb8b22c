"""The JavaScript client and the real server agree on versions, labels, splits, renderings and runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.js.conftest import HERE, run_command
from tests.fakes.upstream import Upstream
from tests.support.deployment import EmbeddedServer
from tests.support.http_client import Client
from tests.support.own_models import ANSWER, THOUGHTS, prompt_of_a_thinking_model

NEW = {
    "name": "Support",
    "value": "# Tone\nBe {{tone}} & {{unknown}}. \N{SMILING FACE WITH SMILING EYES}",
    "placeholders": [{"key": "tone", "values": [{"name": "formal", "content": "formal <&>", "isDefault": True}]}],
}


class Application:
    """A program that has the client installed."""

    def __init__(self, project: Path, api: Client) -> None:
        self._project, self._api = project, api

    def call(self, *calls: dict[str, Any], api_key: str | None = None) -> list[Any]:
        """Return what each call gave, or `error`, `message` and `status` of what it threw."""
        access = {"REPRISE_URL": self._api.base_url, "REPRISE_API_KEY": api_key or self._api.api_key}
        printed = run_command(["node", str(self._project / "calls.mjs"), json.dumps(calls)], self._project, access)
        found: list[Any] = json.loads(printed)
        return found


@pytest.fixture
def api(backend: EmbeddedServer) -> Client:
    return backend.client()


@pytest.fixture
def application(project: Path, api: Client) -> Application:
    (project / "calls.mjs").write_text((HERE / "calls.mjs").read_text())
    return Application(project, api)


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


def test_it_renders_what_the_server_renders(api: Client, application: Application, prompt_id: int) -> None:
    selections = {"tone": "formal", "other": "x"}
    there = api.post(f"/api/v1/prompts/{prompt_id}/render", {"placeholders": selections}).json()

    (here,) = application.call({"call": "render", "id": prompt_id, "selections": selections})

    assert here == {
        "instruction": there["instruction"],
        "resolved": there["placeholders"]["resolved"],
        "ignored": there["placeholders"]["ignored"],
        "undefined": there["placeholders"]["undefinedKeys"],
        "version": there["commitHash"],
        "state": "fresh",
    }


def test_the_newest_version_a_label_a_version_and_the_draft_differ(
    api: Client, application: Application, prompt_id: int
) -> None:
    first = api.get(f"/api/v1/prompts/{prompt_id}").json()["commitHash"]
    second = commit(api, prompt_id, "Second.")
    move(api, prompt_id, first)
    api.patch(f"/api/v1/prompts/{prompt_id}", {"value": "Draft."})
    wanted: list[dict[str, Any]] = [{}, {"label": "live"}, {"version": first}, {"draft": True}]

    found = application.call(*({"call": "render", "id": prompt_id, "options": options} for options in wanted))

    assert [one["version"] for one in found] == [second, first, first, None]
    assert "Draft." in found[-1]["instruction"]


def test_a_split_gives_each_key_the_version_that_the_server_gives(
    api: Client, application: Application, prompt_id: int
) -> None:
    first = api.get(f"/api/v1/prompts/{prompt_id}").json()["commitHash"]
    second = commit(api, prompt_id, "Second.")
    move(api, prompt_id, first)
    move(api, prompt_id, second, share=0.3)
    keys = [f"user {n} \N{GRINNING FACE}" * (n % 9 + 1) for n in range(60)]
    calls = [{"call": "render", "id": prompt_id, "options": {"label": "live", "splitKey": key}} for key in keys]

    here = [one["version"] for one in application.call(*calls)]

    there = [
        api.post(f"/api/v1/prompts/{prompt_id}/render", {"label": "live", "splitKey": key}).json()["commitHash"]
        for key in keys
    ]
    assert here == there
    assert set(here) == {first, second}


def test_a_run_is_waited_for_streamed_or_fetched_later(application: Application, prompt_id: int) -> None:
    question = "Grüße \N{GRINNING FACE} " * 200
    options = {"placeholders": {"tone": "formal"}}
    calls = [{"call": call, "id": prompt_id, "question": question, "options": options} for call in ("run", "later")]

    run, later, events = application.call(*calls, {**calls[0], "call": "stream"})

    *pieces, streamed = events
    assert run["answer"] == later["answer"] == streamed["answer"] == question
    assert "".join(piece["text"] for piece in pieces) == question
    assert run["resolved"] == {"tone": "formal"}
    assert len({run["runId"], later["runId"], streamed["runId"]}) == 3


def test_thoughts_in_the_text_of_a_local_model_are_apart_from_its_answer(
    application: Application, backend: EmbeddedServer
) -> None:
    with Upstream() as upstream:
        prompt_id = prompt_of_a_thinking_model(backend, upstream, runs=2)
        calls = [{"call": call, "id": prompt_id, "question": "How?", "options": {}} for call in ("run", "stream")]
        run, (*pieces, streamed) = application.call(*calls)

    for result in (run, streamed):
        assert (result["answer"], result["chainOfThoughts"]) == (ANSWER, f"\n{THOUGHTS}")
    texts = ("".join(piece["text"] for piece in pieces if piece["kind"] == kind) for kind in ("reasoning", "token"))
    assert tuple(texts) == (f"\n{THOUGHTS}", ANSWER)


def test_a_run_goes_on_with_a_conversation_and_asks_the_model_that_is_named(
    api: Client, application: Application, prompt_id: int
) -> None:
    history = [
        {"role": "user", "text": "Where?"},
        {"role": "assistant", "text": "", "toolCalls": [{"id": "c1", "name": "find", "arguments": {"n": 7}}]},
        {"role": "tool", "text": "Here.", "toolCallId": "c1"},
    ]
    call = {"call": "run", "id": prompt_id, "question": "When?", "options": {"history": history, "model": "echo"}}

    run, refused = application.call(call, {**call, "options": {"model": "no-such-model"}})

    record = api.get(f"/api/v1/runs/{run['runId']}").json()
    assert [message["text"] for message in record["history"]] == ["Where?", "", "Here."]
    assert record["languageModel"]["name"] == "echo"
    assert (refused["error"], refused["status"]) == ("InvalidRequestError", 400)


def test_a_run_with_a_key_that_was_used_is_the_run_of_before(application: Application, prompt_id: int) -> None:
    call = {"call": "run", "id": prompt_id, "question": "Where?", "options": {"idempotencyKey": "order 1042"}}

    first, second, other = application.call(call, call, {**call, "question": "Who?"})

    assert first["runId"] == second["runId"]
    assert (other["error"], other["status"]) in {("ConflictError", 409), ("InvalidRequestError", 422)}


def test_what_the_server_refuses_is_thrown_with_its_words(
    api: Client, application: Application, prompt_id: int
) -> None:
    label, missing, run = application.call(
        {"call": "render", "id": prompt_id, "options": {"label": "nowhere"}},
        {"call": "render", "id": 10**9},
        {"call": "stream", "id": 10**9, "question": "Where?"},
    )
    (unauthorized,) = application.call({"call": "render", "id": prompt_id}, api_key="rp_wrong")

    assert label == {"error": "NotFoundError", "message": "The prompt has no such label.", "status": 404}
    assert [one["error"] for one in (missing, run, unauthorized)] == ["NotFoundError"] * 2 + ["AuthenticationError"]
    assert unauthorized["message"] == Client(api.base_url, "rp_wrong").get("/api/v1/prompts/1").json()["error"]
