"""Programs with the official SDKs under `reprise gate`: unchanged, whole and streamed, and none of their tools runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.connect.sdks import DOCS, NotInstalled, installed
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.test_gate_program import gate
from tests.integration.replays.test_replay_command import prompt_with_a_tool, recorded_case
from tests.support.deployment import EmbeddedServer
from tests.support.http_client import Client

HERE = Path(__file__).parent
VENDORS = {"OPENAI": ("OPENAI_API_KEY", "OPENAI_BASE_URL"), "ANTHROPIC": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")}
VENDORS |= {"GOOGLE": ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL")}
# The page that pins the SDK, the program, and its arguments.
PROGRAMS = [
    (DOCS / "openai", "openai_chat.py", ""),
    (DOCS / "openai", "openai_chat.py", "streamed"),
    (DOCS / "openai", "openai_responses.py", ""),
    (DOCS / "openai", "openai_responses.py", "streamed"),
    (DOCS / "anthropic", "anthropic_messages.py", ""),
    (DOCS / "anthropic", "anthropic_messages.py", "streamed"),
    (HERE / "agents" / "google-genai", "google_genai.py", ""),
    (HERE / "agents" / "google-genai", "google_genai.py", "streamed"),
    (DOCS / "openai-agents", "openai_agents.py", ""),
    (DOCS / "langgraph", "langgraph_agent.py", ""),
    (DOCS / "openai-js", "openai.mjs", ""),
    (DOCS / "openai-js", "openai.mjs", "streamed"),
    (DOCS / "anthropic-js", "anthropic.mjs", ""),
    (DOCS / "anthropic-js", "anthropic.mjs", "streamed"),
    (DOCS / "vercel-ai-7", "vercel.mjs", ""),
    (DOCS / "vercel-ai-7", "vercel.mjs", "streamed"),
    (DOCS / "vercel-ai-7", "vercel.mjs", "chat"),
    (DOCS / "vercel-ai-7", "vercel.mjs", "chat streamed"),
]


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory, vendor: Upstream) -> Iterator[EmbeddedServer]:
    settings = {"REPRISE_RATE_LIMIT": "1000000"}
    for name, (key, address) in VENDORS.items():
        settings |= {key: "sk-fake", address: vendor.base_url(name)}
    with EmbeddedServer(tmp_path_factory.mktemp("gated"), settings) as server:
        yield server


@pytest.fixture
def client(gated: EmbeddedServer, upstream: Upstream) -> Client:
    upstream.choose = _answer
    return gated.client()


def _answer(body: dict[str, Any]) -> Reply:
    """Find the order, then answer, in any format."""
    is_found = any(word in str(body) for word in ("'tool'", "tool_result", "functionResponse", "function_call_output"))
    return Reply(text="It is on its way.") if is_found else Reply(tool_calls=[("find", {"order": "A-1"})])


@pytest.mark.parametrize(("page", "program", "arguments"), PROGRAMS, ids=lambda value: getattr(value, "name", value))
def test_a_program_with_an_official_sdk_passes_unchanged(
    client: Client,
    upstream: Upstream,
    tmp_path: Path,
    require: Callable[[str | None], None],
    page: Path,
    program: str,
    arguments: str,
) -> None:
    try:
        home = installed(page)
    except NotInstalled as missing:
        require(str(missing))
        raise
    prompt_id = prompt_with_a_tool(client)
    recorded_case(client, prompt_id, name="Where is it?")
    (tmp_path / program).write_text((HERE / "gated" / program).read_text())
    if program.endswith(".mjs"):
        (tmp_path / "node_modules").symlink_to(home / "node_modules")
        command = ["node", program]
    else:
        command = [str(home / "bin" / "python"), program]

    done = gate(client, tmp_path, prompt_id, [*command, *arguments.split()], "--stdio", "--turn-timeout", "60")

    assert (done.returncode, done.stdout.partition(" ")[0]) == (0, "PASSED"), done.stdout + done.stderr
    assert len(upstream.requests) == 2  # one answered by the recording, one in words
