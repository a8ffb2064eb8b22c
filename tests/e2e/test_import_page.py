"""Every command of docs/import.md is executed here."""

from __future__ import annotations

import shutil
from pathlib import Path

from reprise_client.importers import CONVERTERS

from tests.support.documents import SHOP, access, read_document, run_blocks, shell_blocks
from tests.support.http_client import Client
from tests.support.imports import DATA

PAGE = read_document("import.md")
# The page's names of files, and the files that are used for them.
FILES = {
    "chats.jsonl": "openai-chat.jsonl",
    "observations.json": "langfuse.observations.json",
    "trace.json": "langfuse.trace.json",
    "runs.jsonl": "langsmith.runs.jsonl",
    "spans.json": "phoenix.spans.json",
}
INSTALL = 'pip install "$(echo build/clients/reprise_client-*.whl)[cli]"\n'


def test_the_page_imports_from_every_tool(client: Client, tmp_path: Path) -> None:
    for name, recorded in FILES.items():
        shutil.copy(DATA / recorded, tmp_path / name)
    prompt_id = str(client.post("/api/v1/prompts", SHOP).json()["prompt"]["id"])
    first, others = shell_blocks(PAGE)
    assert INSTALL in first

    told = run_blocks([first.replace(INSTALL, ""), others], tmp_path, {**access(client), "PROMPT_ID": prompt_id})

    assert told.splitlines() == [
        *["Imported 3 sessions, 7 spans."] * 2,
        "Imported 2 sessions, 21 spans.",
        "Imported 1 session, 16 spans.",
        "Imported 1 session, 16 spans.",
    ]
    assert told.splitlines()[0] in PAGE.replace("`", "")


def test_the_page_names_every_tool() -> None:
    assert [tool for tool in CONVERTERS if f"| `{tool}` |" not in PAGE] == []
