"""Guarantees between real processes: no reader is behind a commit, no run depends on its caller's connection, and who
follows work at another web process than the one that began it sees each change while it goes on."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.support.deployment import Deployment, server_on
from tests.support.http_client import Client
from tests.support.waiting import wait_until

ROUNDS = 20
TEXT = "one two three four five six seven eight"
Clients = tuple[Client, Client]
Events = Iterator[tuple[str, Any]]


@pytest.fixture(scope="module", params=["embedded", pytest.param("services", marks=pytest.mark.services)])
def clients(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shared_upstream: Upstream
) -> Iterator[Clients]:
    """One of each web server that there is."""
    home = tmp_path_factory.mktemp(request.param)
    settings = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": shared_upstream.base_url("OPENAI")}
    with server_on(request, home, settings, web=2, workers=1, processes=1) as server:
        yield server.client(), server.client(web=1) if isinstance(server, Deployment) else server.client()


def prompt_of(client: Client, value: str, model: str = "echo") -> str:
    """The path of a new prompt."""
    body = {"name": "Shared", "value": value, "languageModelName": model}
    return f"/api/v1/prompts/{client.post('/api/v1/prompts', body).json()['prompt']['id']}"


@contextmanager
def asked(
    client: Client, method: str, path: str, body: dict[str, Any] | None = None
) -> Iterator[http.client.HTTPResponse]:
    """The answer, of which nothing has been read yet."""
    connection = http.client.HTTPConnection(urlsplit(client.base_url).netloc, timeout=120)
    headers = {"Authorization": f"Bearer {client.api_key}", "Content-Type": "application/json"}
    try:
        connection.request(method, path, json.dumps(body), headers | {"Accept": "text/event-stream"})
        yield connection.getresponse()
    finally:
        connection.close()


def events(answer: http.client.HTTPResponse) -> Events:
    """Yield (kind, data) of each event when it arrives."""
    kind = ""
    for line in answer:
        name, _, value = line.decode().strip().partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, json.loads(value)


def test_a_commit_is_seen_at_once_by_the_readers_of_every_process(clients: Clients) -> None:
    writer, reader = clients
    path = prompt_of(writer, "Version 0")
    for number in range(1, ROUNDS + 1):
        assert reader.post(f"{path}/render", {}).json()["instruction"].count(f"Version {number - 1}") == 1
        assert writer.patch(path, {"value": f"Version {number}"}).status == 200
        committed = writer.post(f"{path}/commit", {}).json()["commitHash"]

        assert f"Version {number}" in reader.post(f"{path}/render", {}).json()["instruction"]
        assert reader.get(path).json()["commitHash"] == committed


def test_a_caller_that_is_gone_leaves_its_run_to_the_log(clients: Clients) -> None:
    client = clients[0]
    prompt_id = int(prompt_of(client, "Help.").rpartition("/")[2])
    before = client.post("/api/v1/prompts/run", {"id": prompt_id, "question": "Hello?"}).headers["X-Run-Id"]
    connection = http.client.HTTPConnection(urlsplit(client.base_url).netloc)
    headers = {"Authorization": f"Bearer {client.api_key}", "Content-Type": "application/json"}
    question = "Who has hung up?"
    connection.request("POST", "/api/v1/prompts/run", json.dumps({"id": prompt_id, "question": question}), headers)
    connection.close()

    def finished() -> Any:
        run = client.get(f"/api/v1/runs/{int(before) + 1}")
        return run.status == 200 and run.json()["status"] == "done" and run.json()

    assert wait_until(finished, "the run in the log")["question"] == question


def test_a_run_answers_with_what_a_retry_needs(clients: Clients) -> None:
    body = {"id": int(prompt_of(clients[0], "Help.").rpartition("/")[2]), "question": "Hello?"}
    answer = clients[0].post("/api/v1/prompts/run", body, headers={"X-Request-Id": "mine-1"})

    assert (answer.status, answer.headers["X-Request-Id"]) == (200, "mine-1")
    run = clients[1].get(f"/api/v1/runs/{answer.headers['X-Run-Id']}").json()
    assert run["answer"] == answer.json()["answer"]


def test_the_first_token_is_there_before_the_model_has_written_the_rest(clients: Clients, upstream: Upstream) -> None:
    rest = threading.Event()
    upstream.script(Reply(text=TEXT, held=rest))
    client = clients[0]
    body = {"id": int(prompt_of(client, "Count.", "gpt-4o-mini").rpartition("/")[2]), "question": "Go on."}
    try:
        with asked(client, "POST", "/api/v1/prompts/run", body) as answer:
            seen = events(answer)
            kind, first = next(seen)
            status = client.get(f"/api/v1/runs/{answer.headers['X-Run-Id']}").json()["status"]
            rest.set()
            *tokens, (last, done) = seen
    finally:
        rest.set()

    assert (kind, status) == ("token", "running")
    assert TEXT.startswith(first["text"])
    assert len(first["text"]) < len(TEXT)
    assert first["text"] + "".join(data["text"] for _, data in tokens) == TEXT
    assert (last, done["answer"]) == ("done", TEXT)


def test_each_change_of_an_experiment_comes_while_it_goes_on_and_the_stream_ends_with_it(
    clients: Clients, upstream: Upstream
) -> None:
    answers = threading.Event()
    upstream.choose = lambda body: Reply(text="Ping", held=answers)
    starting, following = clients
    prompt = prompt_of(starting, "Answer.", "gpt-4o-mini")
    starting.post(f"{prompt}/test-cases", {"question": "Ping", "expectedAnswer": "Ping"})
    body = {"baseline": None, "repeats": {"min": 3, "max": 3}}
    path = starting.post(f"{prompt}/experiments", body).headers["Location"]
    try:
        with asked(following, "GET", f"{path}/events") as answer:
            seen = events(answer)
            first = next(seen)
            answers.set()
            found = [first, *seen]
            assert answer.read() == b""
    finally:
        answers.set()

    assert answer.headers["Content-Type"] == "text/event-stream"
    *progress, (last, whole) = found
    assert {kind for kind, _ in progress} == {"progress"}
    assert progress[0][1]["progress"] == {"done": 0, "total": 3}
    assert (last, whole["verdict"]) == ("done", "passed")
    assert whole == starting.get(path).json()
