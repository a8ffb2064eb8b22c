"""Every command of docs/replays.md and docs/reference/gate.md is executed in order, against an agent's session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.documents import access, read_document, record_session, run_blocks, shell_blocks
from tests.support.http_client import Client

BLOCKS = [block for name in ("replays.md", "reference/gate.md") for block in shell_blocks(read_document(name))]

CALL = RecordedCall("get_order", {"order_id": "4711"}, {"arrives": "Thursday"})
TURN = RecordedTurn("Where is order 4711?", "It arrives on Thursday.", (CALL,))
# `demo-agent` uses the default.
ARGUMENT = {"type": "string", "default": "4711"}
PARAMETERS = {"type": "object", "properties": {"order_id": ARGUMENT}, "required": ["order_id"]}
TOOL = {"name": "get_order", "parameters": PARAMETERS}


@pytest.fixture
def variables(client: Client) -> dict[str, str]:
    """What the page assumes: two prompts, a session of the first, and a key."""
    body = {"value": "Help.", "languageModelName": "demo-agent", "languageModelConfig": {"tools": [TOOL]}}
    one, other = (
        client.post("/api/v1/prompts", {**body, "name": name}).json()["prompt"]["id"] for name in ("Shop", "Other")
    )
    known = {"PROMPT_ID": str(one), "OTHER_PROMPT_ID": str(other), "SESSION_ID": record_session(client, one, TURN)}
    return access(client) | known


def test_the_page_leads_from_a_session_to_a_replay_and_to_files(
    client: Client, variables: dict[str, str], tmp_path: Path
) -> None:
    made = run_blocks(BLOCKS[:1], tmp_path, variables)
    (case,) = client.get(f"/api/v1/prompts/{variables['PROMPT_ID']}/test-cases").json()["testCases"]
    known = variables | {"TEST_CASE_ID": str(case["id"])}

    outputs = run_blocks(BLOCKS[1:], tmp_path, known)

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
