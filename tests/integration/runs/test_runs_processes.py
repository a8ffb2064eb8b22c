"""Guarantees between processes: no reader is behind a commit, and no run depends on its caller's connection."""

import http.client
import json
from urllib.parse import urlsplit

import pytest

from tests.support.deployment import Deployment
from tests.support.waiting import wait_until

ROUNDS = 20


@pytest.fixture
def clients(backend):
    """One of each web server that there is."""
    return [backend.client(web=web) for web in range(2)] if isinstance(backend, Deployment) else [backend.client()] * 2


@pytest.fixture
def path(clients):
    created = clients[0].post("/api/v1/prompts", {"name": "Shared", "value": "Version 0"}).json()
    return f"/api/v1/prompts/{created['prompt']['id']}"


def test_a_commit_is_seen_at_once_by_the_readers_of_every_process(clients, path):
    writer, reader = clients
    for number in range(1, ROUNDS + 1):
        assert reader.post(f"{path}/render", {}).json()["instruction"].count(f"Version {number - 1}") == 1
        assert writer.patch(path, {"value": f"Version {number}"}).status == 200
        committed = writer.post(f"{path}/commit", {}).json()["commitHash"]

        assert f"Version {number}" in reader.post(f"{path}/render", {}).json()["instruction"]
        assert reader.get(path).json()["commitHash"] == committed


def test_a_caller_that_is_gone_leaves_its_run_to_the_log(clients, path):
    client, prompt_id = clients[0], int(path.rpartition("/")[2])
    before = client.post("/api/v1/prompts/run", {"id": prompt_id, "question": "Hello?"}).headers["X-Run-Id"]
    connection = http.client.HTTPConnection(urlsplit(client.base_url).netloc)
    headers = {"Authorization": f"Bearer {client.api_key}", "Content-Type": "application/json"}
    question = "Who has hung up?"
    connection.request("POST", "/api/v1/prompts/run", json.dumps({"id": prompt_id, "question": question}), headers)
    connection.close()

    def finished():
        run = client.get(f"/api/v1/runs/{int(before) + 1}")
        return run.status == 200 and run.json()["status"] == "done" and run.json()

    assert wait_until(finished, "the run in the log")["question"] == question


def test_a_run_answers_with_what_a_retry_needs(clients, path):
    asked = {"id": int(path.rpartition("/")[2]), "question": "Hello?"}
    answer = clients[0].post("/api/v1/prompts/run", asked, headers={"X-Request-Id": "mine-1"})

    assert (answer.status, answer.headers["X-Request-Id"]) == (200, "mine-1")
    run = clients[1].get(f"/api/v1/runs/{answer.headers['X-Run-Id']}").json()
    assert run["answer"] == answer.json()["answer"]
