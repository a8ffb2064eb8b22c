"""The commands of the documents in docs/, executed as a reader would."""

from __future__ import annotations

import re
import subprocess
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.conversations import RecordedCall, RecordedTurn, export
from tests.support.deployment import ROOT, environment
from tests.support.http_client import Client
from tests.support.waiting import PATIENCE_S

# What `demo-agent` answers and does when it is asked about the order A-1.
SHOP_TURN = RecordedTurn("A-1", "It is on its way.", (RecordedCall("find", {"order": "A-1"}, "It is on its way."),))
_PARAMETERS = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
SHOP = {
    "name": "Shop",
    "value": "Help customers.\n",
    "languageModelName": "demo-agent",
    "languageModelConfig": {"tools": [{"name": "find", "parameters": _PARAMETERS}]},
}


def read_document(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def shell_blocks(document: str) -> list[str]:
    """Return the blocks of shell commands, without the indentation of those in lists."""
    return [textwrap.dedent(block) for block in re.findall(r"^ *```sh\n(.*?)^ *```$", document, re.M | re.S)]


def run_blocks(blocks: Sequence[str], folder: Path, variables: Mapping[str, str]) -> str:
    """Return the output of the blocks in one shell in `folder`, which must not fail in any command."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(blocks)],
        env=environment(folder, variables),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def record_session(
    client: Client, prompt_id: int, turn: RecordedTurn, start_ns: int = 1_760_000_000_000_000_000
) -> str:
    """Send a turn as an exporter sends it; returns the id of its session, the prompt's only one."""
    batch = export(prompt_id, "conversation", [turn], start_ns=start_ns)
    sent = client.post("/api/public/otel/v1/traces", body=batch, headers={"Content-Type": "application/json"})
    assert sent.status == 200, sent.body
    (session,) = client.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"]
    session_id: str = session["id"]
    return session_id


def shop_variables(client: Client) -> dict[str, str]:
    """Make the prompt of a shop with a test case; returns the variables that documents use as known."""
    prompt_id: int = client.post("/api/v1/prompts", SHOP).json()["prompt"]["id"]
    session_id = record_session(client, prompt_id, SHOP_TURN)
    case = client.post(f"/api/v1/sessions/{session_id}/test-cases", {"name": "Where is it?"}).json()
    return {**access(client), "PROMPT_ID": str(prompt_id), "TEST_CASE_ID": str(case["id"])}


def access(client: Client) -> dict[str, str]:
    return {"BASE_URL": client.base_url, "API_KEY": client.api_key}
