"""Commands that are refused show what to do at the command line, against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import reprise
from tests.support.deployment import EmbeddedServer, environment, run_to_end
from tests.support.exports import export, span
from tests.support.http_client import Client


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("advice")) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: EmbeddedServer) -> Client:
    return server.client()


@pytest.fixture(scope="module")
def admin(server: EmbeddedServer) -> Client:
    made = run_to_end(
        ["reprise", "keys", "create", "models", "--scope", "admin", "--scope", "read"], environment(server.home)
    )
    return server.client(made.split()[-1])


@pytest.fixture
def prompt_id(client: Client) -> int:
    made = client.post("/api/v1/prompts", {"name": "Shop", "value": "Help.", "languageModelName": "demo-agent"})
    prompt_id: int = made.json()["prompt"]["id"]
    return prompt_id


def test_a_guarded_label_names_the_gate_that_makes_its_experiment(
    client: Client, prompt_id: int, tmp_path: Path
) -> None:
    prompt = ("--prompt", str(prompt_id))
    reprise(client, tmp_path, "labels", "move", "production", "latest", "--guarded", *prompt)
    client.patch(f"/api/v1/prompts/{prompt_id}", {"value": "Help more."})
    version = client.post(f"/api/v1/prompts/{prompt_id}/commit", {"message": "More"}).json()["commitHash"]

    refused = reprise(client, tmp_path, "labels", "move", "production", "latest", *prompt)

    command = f"`reprise gate --prompt {prompt_id} --commit {version[:8]} --baseline production`"
    assert (refused.returncode, f"{command}, and name it with --experiment" in refused.stderr) == (1, True), refused


def test_a_session_without_words_is_no_test_case_and_names_the_recording_of_contents(
    client: Client, prompt_id: int, tmp_path: Path
) -> None:
    silent = span({"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})
    sent = client.post("/api/public/otel/v1/traces", body=export(silent), headers={"Content-Type": "application/json"})
    assert sent.status == 200

    refused = reprise(client, tmp_path, "test-cases", "add", "--prompt", str(prompt_id))

    assert (refused.returncode, "switch the recording of message contents on" in refused.stderr) == (2, True), refused


def test_models_are_listed_with_their_prices(client: Client, tmp_path: Path) -> None:
    listed = reprise(client, tmp_path, "models", "list", "--all")

    assert listed.returncode == 0, listed.stderr
    rows = [line.split() for line in listed.stdout.splitlines()]
    assert ["gpt-4o-mini", "OPENAI", "0.15", "0.6"] in [row[:4] for row in rows], listed.stdout


def test_an_own_model_is_added_changed_and_removed(admin: Client, tmp_path: Path) -> None:
    add = ("models", "add", "qwen3", "--base-url", "http://127.0.0.1:9/v1")
    added = reprise(admin, tmp_path, *add)
    changed = reprise(admin, tmp_path, *add, "--prompt-price", "0.5", "--context-tokens", "40960")
    listed = reprise(admin, tmp_path, "models", "list")
    removed = [reprise(admin, tmp_path, "models", "remove", "qwen3") for _ in range(2)]

    assert added.stdout == "qwen3 can be used: 32,768 tokens, no price.\n", added
    assert changed.stdout == "qwen3 can be used: 40,960 tokens, $0.5 and $0 per million tokens.\n", changed
    assert ["qwen3", "CUSTOM_OPENAI_COMPATIBLE", "0.5", "0"] in [line.split() for line in listed.stdout.splitlines()]
    assert [done.returncode for done in removed] == [0, 2]
    assert "No model named 'qwen3' was added" in removed[1].stderr
    assert "qwen3" not in reprise(admin, tmp_path, "models", "list", "--all").stdout


def test_a_key_that_may_not_add_models_is_refused_with_the_scope(client: Client, tmp_path: Path) -> None:
    refused = reprise(client, tmp_path, "models", "add", "qwen3", "--base-url", "http://127.0.0.1:9/v1")

    assert (refused.returncode, "admin" in refused.stderr) == (2, True), refused
    assert "qwen3" not in reprise(client, tmp_path, "models", "list", "--all").stdout


def test_the_gate_warns_of_a_key_without_a_placeholder(client: Client, prompt_id: int, tmp_path: Path) -> None:
    file = tmp_path / "shop.md"
    reprise(client, tmp_path, "prompts", "pull", str(file), "--prompt", str(prompt_id))
    file.write_text(file.read_text() + "Sell for {{shop}}.\n")

    done = reprise(client, tmp_path, "gate", "--file", str(file))

    assert "Warning: {{shop}} has no placeholder" in done.stderr


def test_an_address_with_a_path_of_the_api_is_refused(client: Client, tmp_path: Path) -> None:
    done = reprise(client, tmp_path, "models", "list", "--url", f"{client.base_url}/api/v1")

    assert (done.returncode, "REPRISE_URL ends before /api" in done.stderr) == (2, True), done.stderr
