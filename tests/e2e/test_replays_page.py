"""Every command of docs/replays.md is executed here, in its order, against an agent's session."""

from __future__ import annotations

import re
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.conversations import RecordedCall, RecordedTurn, export
from tests.support.deployment import ROOT, EmbeddedServer, environment

PAGE = (ROOT / "docs" / "replays.md").read_text(encoding="utf-8")
BLOCKS = [textwrap.dedent(block) for block in re.findall(r"^ *```sh\n(.*?)^ *```$", PAGE, re.M | re.S)]
START_NS = 1_760_000_000_000_000_000

CALL = RecordedCall("get_order", {"order_id": "4711"}, {"arrives": "Thursday"})
TURN = RecordedTurn("Where is order 4711?", "It arrives on Thursday.", (CALL,))
# `demo-agent` takes the default.
ARGUMENT = {"type": "string", "default": "4711"}
PARAMETERS = {"type": "object", "properties": {"order_id": ARGUMENT}, "required": ["order_id"]}
TOOL = {"name": "get_order", "parameters": PARAMETERS}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("replays")) as server:
        yield server


@pytest.fixture(scope="module")
def variables(server: EmbeddedServer) -> dict[str, str]:
    """What the page takes as known: two prompts, a session of the first, and a key."""
    client = server.client()
    body = {"value": "Help.", "languageModelName": "demo-agent", "languageModelConfig": {"tools": [TOOL]}}
    one, other = (
        client.post("/api/v1/prompts", {**body, "name": name}).json()["prompt"]["id"] for name in ("Shop", "Other")
    )
    headers = {"Content-Type": "application/json"}
    batch = export(one, "conversation", [TURN], start_ns=START_NS)
    assert client.post("/api/public/otel/v1/traces", body=batch, headers=headers).status == 200
    (session,) = client.get(f"/api/v1/prompts/{one}/logs?type=otel").json()["entries"]
    return {
        "BASE_URL": client.base_url,
        "API_KEY": client.api_key,
        "PROMPT_ID": str(one),
        "OTHER_PROMPT_ID": str(other),
        "SESSION_ID": session["id"],
    }


def run(blocks: list[str], home: Path, variables: dict[str, str]) -> str:
    """What the blocks print in one shell, which stops where a command fails."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(blocks)],
        env=environment(home, variables),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_leads_from_a_session_to_a_replay_and_to_files(
    server: EmbeddedServer, variables: dict[str, str], tmp_path: Path
) -> None:
    client = server.client()
    made = run(BLOCKS[:1], tmp_path, variables)
    (case,) = client.get(f"/api/v1/prompts/{variables['PROMPT_ID']}/test-cases").json()["testCases"]
    known = variables | {"TEST_CASE_ID": str(case["id"])}

    outputs = run(BLOCKS[1:], tmp_path, known)

    assert '"never":true' in made.replace(" ", "")
    assert "PASSED       Where is my order? · 2 passed" in outputs
    assert (tmp_path / "replay.xml").exists()
    assert '{"judged":0,"agreed":0}' in outputs.replace(" ", "")
    changed = client.get(f"/api/v1/test-cases/{case['id']}").json()["tools"]
    assert (changed["get_order"]["maxCalls"], changed["send_mail"]["never"], "refund" in changed) == (3, True, False)
    assert imported(client, variables) == ["Where is my order?"]


def imported(client: Any, variables: dict[str, str]) -> list[str]:
    cases = client.get(f"/api/v1/prompts/{variables['OTHER_PROMPT_ID']}/test-cases").json()["testCases"]
    return [case["name"] for case in cases]
