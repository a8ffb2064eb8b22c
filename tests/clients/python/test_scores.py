"""A score is stored once or raises, whatever happens to its requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from reprise_client import ConfigurationError, NotFoundError, UnreachableError

from tests.clients.python.fakes import ScriptedRuns, client_of
from tests.clients.python.test_runs import refusal
from tests.fakes.json_server import serving
from tests.support.deployment import EmbeddedServer


@pytest.fixture
def scores(monkeypatch: pytest.MonkeyPatch) -> ScriptedRuns:
    monkeypatch.setattr("reprise_client.runs.PAUSE_S", 0.01)
    return ScriptedRuns()


@pytest.fixture
def client(kind: str, scores: ScriptedRuns) -> Iterator[Any]:
    with serving(scores.answer) as url, client_of(kind, url) as client:
        yield client


def test_a_score_that_fails_in_passing_is_sent_again_with_its_id(client: Any, scores: ScriptedRuns) -> None:
    scores.answers = [refusal(503, Retry_After="0"), refusal(429, Retry_After="0"), (201, {"id": "mine"}, {})]

    assert client.score("helpful", False, trace_id="ab", span_id="cd", comment="No. 😀") == "mine"

    first, *others = [body for *_, body in scores.requests]
    assert others == [first] * 2
    sent = {"name": "helpful", "value": False, "comment": "No. 😀", "target": {"traceId": "ab", "spanId": "cd"}}
    assert {name: first[name] for name in sent} == sent
    assert first["id"]


def test_each_score_is_another_one_unless_the_caller_names_it(client: Any, scores: ScriptedRuns) -> None:
    scores.answers = [(201, {"id": "mine"}, {})] * 3
    for options in ({}, {}, {"score_id": "mine"}):
        client.score("tone", "kind", run_id=9, **options)

    first, second, named = [body["id"] for *_, body in scores.requests]
    assert first != second
    assert named == "mine"


def test_a_score_that_is_not_stored_is_an_error(client: Any, scores: ScriptedRuns) -> None:
    scores.answers = [refusal(404, "There is no such run."), (200, {"done": True}, {})]

    with pytest.raises(NotFoundError, match="no such run"):
        client.score("tone", 1, run_id=9)
    with pytest.raises(UnreachableError):
        client.score("tone", 1, run_id=9)
    with pytest.raises(ConfigurationError):
        client.score("tone", float("nan"), run_id=9)


def test_the_server_has_the_score_that_was_given(kind: str, backend: EmbeddedServer) -> None:
    api = backend.client()
    prompt_id = api.post("/api/v1/prompts", {"name": "Scored", "value": "Be kind."}).json()["prompt"]["id"]
    with client_of(kind, api.base_url, api.api_key) as client:
        score_id = client.score("helpful", True, prompt_id=prompt_id, conversation_id="talk", comment="größe")

    stored = api.get(f"/api/v1/scores/{score_id}").json()
    assert (stored["label"], stored["comment"], stored["source"]) == ("true", "größe", "api")
