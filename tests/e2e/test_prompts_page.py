"""Every command of docs/prompts.md is executed here, in its order, and prints what the page shows."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.documents import access, read_document, run_blocks, shell_blocks
from tests.support.http_client import Client

BLOCKS = shell_blocks(read_document("prompts.md"))


def test_the_page_shows_what_is_rendered(client: Client, tmp_path: Path) -> None:
    shown = run_blocks(BLOCKS, tmp_path, access(client))

    version, draft, warm, unknown = map(json.loads, shown.replace("}\n{", "}\0{").split("\0"))
    assert version["instruction"] == (
        "<instructions>\n<tools-rules>\n"
        "Never promise a refund over 50 € &amp; be brief.\n"
        "</tools-rules>\n</instructions>"
    )
    assert draft["instruction"] == "<instructions>\nBe brief.\n</instructions>"
    assert "friendly &amp; patient" in warm["instruction"]
    assert warm["placeholders"]["resolved"] == {"tone": "warm"}
    assert unknown["instruction"] == version["instruction"]
    assert unknown["placeholders"]["resolved"] == {"tone": "short"}
    assert unknown["placeholders"]["ignored"] == ["tone"]


def test_what_was_never_committed_runs_only_as_a_draft(client: Client) -> None:
    new = {"name": "Draft", "value": "Be brief.", "languageModelName": "echo", "commit": False}
    prompt_id = client.post("/api/v1/prompts", new).json()["prompt"]["id"]
    path = f"/api/v1/prompts/{prompt_id}"

    assert client.get(path).json()["value"] == "Be brief."
    assert "Be brief." in client.post(f"{path}/render", {}).json()["instruction"]
    run = {"id": prompt_id, "question": "Hello?"}
    assert client.request("POST", "/api/v1/prompts/run", payload=run).status == 404
    assert client.request("POST", "/api/v1/prompts/run", payload=run | {"productive": False}).status == 200
