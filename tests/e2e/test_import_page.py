"""Every command of docs/import.md is executed here."""

from __future__ import annotations

import shutil
from pathlib import Path

from reprise_formats.importers import CASE_CONVERTERS, CONVERTERS, PROMPTS

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
    "traces.jsonl": "otlp.traces.jsonl",
    "promptfooconfig.yaml": "promptfooconfig.yaml",
    "examples.jsonl": "langsmith.examples.jsonl",
    "dataset.json": "braintrust.dataset.json",
    "prompts.json": "langfuse.prompts.json",
}
INSTALL = 'pip install "$(echo build/clients/reprise_client-*.whl)[cli]"\n'


def test_the_page_imports_from_every_tool(client: Client, tmp_path: Path) -> None:
    for name, recorded in FILES.items():
        shutil.copy(DATA / recorded, tmp_path / name)
    shutil.copytree(DATA / "otlp.contents", tmp_path / "contents")
    prompt_id = str(client.post("/api/v1/prompts", SHOP).json()["prompt"]["id"])
    first, others, agent, otlp, tests, prompts = shell_blocks(PAGE)
    assert INSTALL in first
    # The recorded examples have one without an expected answer, at which --strict stops.
    tests = tests.replace(" --strict", " || true")

    printed = run_blocks(
        [first.replace(INSTALL, ""), others, agent, otlp, tests, prompts],
        tmp_path,
        {**access(client), "PROMPT_ID": prompt_id},
    )

    assert printed.splitlines() == [
        *["Imported 3 sessions, 7 spans."] * 2,
        "Imported 2 sessions, 21 spans.",
        "Imported 1 session, 16 spans.",
        "Imported 1 session, 16 spans.",
        "Imported 3 sessions, 7 spans.",
        "Imported 1 session, 6 spans.",
        "Imported 3 test cases, 2 records not imported.",
        "exit code 1",
        "Imported 3 test cases, 1 record not imported.",
        "Imported 3 test cases.",
        "Imported 2 prompts, 3 versions, 2 labels.",
    ]
    assert printed.splitlines()[0] in PAGE.replace("`", "")


def test_the_page_names_every_tool() -> None:
    assert [tool for tool in (*CONVERTERS, *CASE_CONVERTERS) if f"| `{tool}` |" not in PAGE] == []
    assert f"reprise import {PROMPTS} " in PAGE
