"""Every command of docs/experiments.md is executed here, in its order."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from app.experiments.summary import CLASSES
from app.schemas.experiments import StartExperimentSchema
from tests.support.conversations import RecordedCall, RecordedTurn, export
from tests.support.deployment import ROOT, EmbeddedServer, environment
from tests.support.http_client import Client

PAGE = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
# What `demo-agent` says and does.
TURN = RecordedTurn("A-1", "It is on its way.", (RecordedCall("find", {"order": "A-1"}, "It is on its way."),))
PARAMETERS = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
PROMPT = {
    "name": "Shop",
    "value": "Help customers.",
    "languageModelName": "demo-agent",
    "languageModelConfig": {"tools": [{"name": "find", "parameters": PARAMETERS}]},
}


def prompt_with_a_test_case(client: Client) -> int:
    prompt_id: int = client.post("/api/v1/prompts", PROMPT).json()["prompt"]["id"]
    batch = export(prompt_id, "conversation", [TURN], start_ns=1_760_000_000_000_000_000)
    headers = {"Content-Type": "application/json"}
    assert client.post("/api/public/otel/v1/traces", body=batch, headers=headers).status == 200
    (session,) = client.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"]
    assert client.post(f"/api/v1/sessions/{session['id']}/test-cases", {"name": "Where is it?"}).status == 201
    return prompt_id


def run(block: str, home: Path, variables: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        env=environment(home, variables),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_starts_an_experiment_and_follows_it_to_its_verdict(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "home") as server:
        client = server.client()
        prompt_id = prompt_with_a_test_case(client)
        known = {"BASE_URL": client.base_url, "API_KEY": client.api_key, "PROMPT_ID": str(prompt_id)}
        start, read = BLOCKS

        started = json.loads(run(start, tmp_path, known))
        told = run(read, tmp_path, {**known, "EXPERIMENT_ID": str(started["id"])})

        assert started["promptId"] == prompt_id
        assert "event: done" in told
        assert f'"experiments":[{{"id":{started["id"]},' in told.replace(" ", "")
        found = client.get(f"/api/v1/experiments/{started['id']}").json()
        assert (found["verdict"], found["repeats"], found["maxCost"]) == ("passed", {"min": 6, "max": 30}, 0.5)


def test_the_page_names_every_field_that_starts_one_and_every_class() -> None:

    fields = [field.data_key or name for name, field in StartExperimentSchema().fields.items()]

    assert [name for name in [*fields, *CLASSES] if f"`{name}`" not in PAGE] == []
