"""Every command of docs/prompts-in-git.md is executed here, in its order; between them a person edits the file."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.prompt_files import file as files
from tests.support.conversations import RecordedCall, RecordedTurn, export
from tests.support.deployment import ROOT, EmbeddedServer, environment
from tests.support.http_client import Client

PAGE = (ROOT / "docs" / "prompts-in-git.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
(EXAMPLE,) = re.findall(r"^```markdown\n(.*?)^```$", PAGE, re.M | re.S)
# What `demo-agent` says and does.
TURN = RecordedTurn("A-1", "It is on its way.", (RecordedCall("find", {"order": "A-1"}, "It is on its way."),))
PARAMETERS = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
PROMPT = {
    "name": "Shop",
    "value": "Help customers.\n",
    "languageModelName": "demo-agent",
    "languageModelConfig": {"tools": [{"name": "find", "parameters": PARAMETERS}]},
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with EmbeddedServer(tmp_path_factory.mktemp("prompts")) as server:
        yield server.client()


def run(block: str, folder: Path, variables: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        env=environment(folder, variables),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def judged(client: Client, prompt_id: int, experiment: dict[str, object] | None = None) -> str:
    """The fingerprint of the content that the newest experiment judges, or the one that is started here."""
    path = f"/api/v1/prompts/{prompt_id}/experiments"
    if experiment:
        assert client.post(path, experiment).status == 202
    found: str = client.get(path).json()["experiments"][0]["candidate"]["fingerprint"]
    return found


def test_the_page_leads_from_a_prompt_to_a_file_through_the_gate_and_back(client: Client, tmp_path: Path) -> None:
    prompt_id = client.post("/api/v1/prompts", PROMPT).json()["prompt"]["id"]
    batch = export(prompt_id, "conversation", [TURN], start_ns=1_760_000_000_000_000_000)
    sent = client.post("/api/public/otel/v1/traces", body=batch, headers={"Content-Type": "application/json"})
    assert sent.status == 200
    (session,) = client.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"]
    case = client.post(f"/api/v1/sessions/{session['id']}/test-cases", {"name": "Where is it?"}).json()
    ids = {"PROMPT_ID": str(prompt_id), "TEST_CASE_ID": str(case["id"])}
    variables = {"BASE_URL": client.base_url, "API_KEY": client.api_key, **ids}
    exports = BLOCKS[0].splitlines()[0]
    pull, exchange, gate, merged, bisect = BLOCKS
    file = tmp_path / "prompts" / "support.md"

    assert run(pull, tmp_path, variables) == f"prompts/support.md is the draft of prompt {prompt_id}.\n"
    assert "nothing to commit" in run(f"{exports}\n{exchange}", tmp_path, variables)
    file.write_text(file.read_text().replace("customers", "customers briefly"))
    assert run(f"{exports}\n{gate}", tmp_path, variables).startswith("PASSED  1 test passes as often as with version ")
    assert (tmp_path / "gate.xml").exists()
    assert "It is committed as version" in run(f"{exports}\n{merged}", tmp_path, variables)
    (newest, _) = client.get(f"/api/v1/prompts/{prompt_id}/versions").json()["versions"]
    assert newest["message"] == "Merged"
    assert judged(client, prompt_id) == judged(client, prompt_id, {"candidate": {"commitHash": newest["commitHash"]}})
    assert "fails no more often" in run(f"{exports}\n{bisect}", tmp_path, variables)


def test_the_file_that_is_shown_is_one_and_as_it_would_be_written() -> None:
    assert files.format_file(files.parse(EXAMPLE)) == EXAMPLE
