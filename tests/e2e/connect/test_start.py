"""Every command of docs/start.md, in its order; the reader's agent, which knows nothing of Reprise, runs in between."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.e2e.connect.sdks import DOCS
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.support.deployment import ROOT, EmbeddedServer
from tests.support.documents import access, read_document, run_blocks, shell_blocks
from tests.support.http_client import Client

SERVE, SETTINGS, *WALK = shell_blocks(read_document("start.md"))
AGENT = "openai-js"
RUN_AGENT = "(set -a && . ./agent.env && set +a && node agent.mjs)"
ANSWERS = {"order": "Order 1042 has shipped from Oslo.", "weather": "It rains in Oslo."}
CALLS = {"order": ("get_order", {"order_id": "1042"}), "weather": ("get_weather", {"city": "Oslo"})}


def obedient(body: dict[str, Any]) -> Reply:
    """Look up what the user asks for, unless the instruction forbids it, and answer."""
    messages = body["messages"]
    asked = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    topic = "order" if "order" in str(asked) else "weather"
    if messages[-1]["role"] == "tool" or "Never look" in str(messages[0]["content"]):
        return Reply(text=ANSWERS[topic])
    return Reply(tool_calls=[CALLS[topic]])


@pytest.fixture
def client(upstream: Upstream, tmp_path: Path) -> Iterator[Client]:
    upstream.choose = obedient
    settings = {"OPENAI_API_KEY": "sk-fake", "OPENAI_BASE_URL": upstream.base_url("OPENAI")}
    with EmbeddedServer(tmp_path / "home", settings) as server:
        yield server.client()


@pytest.mark.sdks
def test_the_page_leads_from_nothing_to_a_gate_that_fails(
    client: Client, upstream: Upstream, home_of: Callable[[str], Path], tmp_path: Path
) -> None:
    prompt, address, switch, check, replay, gate, workflow = WALK
    folder = tmp_path / "agent"
    shutil.copytree(DOCS / AGENT, folder)
    (folder / "node_modules").symlink_to(home_of(AGENT) / "node_modules")
    variables = {
        **access(client),
        "REPRISE_URL": client.base_url,
        "REPRISE_API_KEY": client.api_key,
        "REPRISE_CLONE": str(ROOT),
        "OPENAI_API_KEY": "sk-fake",
        "OPENAI_BASE_URL": upstream.base_url("OPENAI"),
        "OTEL_NODE_RESOURCE_DETECTORS": "none",
    }

    said = run_blocks([prompt, address, switch, RUN_AGENT, check, replay, gate, workflow], folder, variables)

    assert "Words: recorded.\n" in said
    assert "Tools: 2 calls (get_order, get_weather).\n" in said
    assert "PASSED       Order and weather · 4 passed" in said
    assert "FAILED  1 of 1 test got worse than version " in said
    assert said.rstrip().endswith("exit code 1")
    assert ElementTree.parse(folder / "gate.xml").getroot()[0].get("failures") != "0"
    assert (folder / ".github" / "workflows" / "prompts.yml").exists()


def test_the_first_blocks_serve_and_read_what_serving_wrote() -> None:
    assert SERVE.endswith(" make run\n")
    assert "var/dev.env" in SETTINGS
    for name in ("BASE_URL", "API_KEY"):
        assert f'"${name}"' in SETTINGS
