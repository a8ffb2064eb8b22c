"""A server, a prompt of its own for each program, and a fake of the model's vendor."""

from __future__ import annotations

import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.connect.sdks import DOCS, NotInstalled, installed
from tests.fakes.upstream import Upstream
from tests.support.deployment import EmbeddedServer, environment
from tests.support.http_client import Client

PROGRAM_TIMEOUT_S = 60
AGENT = "set -a && . ./agent.env && set +a\nnode agent.mjs"
"""The last lines by which a page runs its agent."""
TOOLS = [
    {"name": name, "parameters": {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]}}
    for name, key in (("get_order", "order_id"), ("get_weather", "city"))
]
TONE = [{"name": "friendly", "content": "warm", "isDefault": True}, {"name": "formal", "content": "cold"}]


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("connect"), {"REPRISE_RATE_LIMIT": "1000000"}) as server:
        yield server


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as upstream:
        yield upstream


@dataclass(frozen=True)
class Prompt:
    """A prompt with what a test asks of it."""

    client: Client
    id: int

    def rendered(self, **placeholders: str) -> Any:
        return self.client.post(f"/api/v1/prompts/{self.id}/render", {"placeholders": placeholders}).json()

    def sessions(self) -> list[Any]:
        entries = self.client.get(f"/api/v1/prompts/{self.id}/logs?type=otel").json()["entries"]
        return [self.client.get(f"/api/v1/sessions/{entry['id']}").json() for entry in entries]

    def rejected(self) -> Any:
        return self.client.get(f"/api/v1/rejected-spans?promptId={self.id}").json()["rejectedSpans"]


@pytest.fixture
def prompt(server: EmbeddedServer) -> Prompt:
    client = server.client()
    new = {
        "name": f"Support {secrets.token_hex(4)}",
        "value": "Answer in a {{tone}} tone.",
        "instructionFormat": "RAW",
        "languageModelConfig": {"tools": TOOLS},
        "placeholders": [{"key": "tone", "values": TONE}],
    }
    return Prompt(client, client.post("/api/v1/prompts", new).json()["prompt"]["id"])


Run = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def home_of(require: Callable[[str | None], None]) -> Callable[[str], Path]:
    """Installs what a page pins, or ends the test where that can't be had."""

    def find(name: str) -> Path:
        try:
            return installed(DOCS / name)
        except NotInstalled as missing:
            require(str(missing))
            raise

    return find


@pytest.fixture
def variables(server: EmbeddedServer, upstream: Upstream, prompt: Prompt, tmp_path: Path) -> dict[str, str]:
    """The environment of a reader who served Reprise with `make run`."""
    settings = {
        "BASE_URL": server.url,
        "API_KEY": server.client().api_key,
        "PROMPT_ID": str(prompt.id),
        "OPENAI_API_KEY": "sk-fake",
        "OPENAI_BASE_URL": upstream.base_url("OPENAI"),
        "ANTHROPIC_API_KEY": "sk-fake",
        "ANTHROPIC_BASE_URL": upstream.base_url("ANTHROPIC"),
        # Otherwise the SDK asks the clouds' addresses for the machine that it runs on.
        "OTEL_NODE_RESOURCE_DETECTORS": "none",
    }
    return environment(tmp_path, settings)


@pytest.fixture
def run_page(home_of: Callable[[str], Path], variables: dict[str, str], tmp_path: Path) -> Run:
    """Does what a page says: its program beside `reprise.py` or `reprise.mjs`, its pins, its variables."""

    def run(name: str) -> subprocess.CompletedProcess[str]:
        home = home_of(name)
        for path in (*(DOCS / name).glob("main.*"), *DOCS.glob("reprise.*")):
            shutil.copy(path, tmp_path)
        command = [str(home / "bin" / "python"), "main.py"]
        if (home / "node_modules").exists():
            (tmp_path / "node_modules").symlink_to(home / "node_modules")
            command = ["node", "main.mjs"]
        return _run(command, tmp_path, variables)

    return run


@pytest.fixture
def run_agent(home_of: Callable[[str], Path], variables: dict[str, str], tmp_path: Path) -> Run:
    """Runs the agent of a page, which knows nothing of Reprise, with the variables of its `agent.env`."""

    def run(name: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "node_modules").symlink_to(home_of(name) / "node_modules")
        for path in DOCS.joinpath(name).glob("*.*"):
            shutil.copy(path, tmp_path)
        return _run(["bash", "-ec", AGENT], tmp_path, variables)

    return run


def _run(command: list[str], folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=PROGRAM_TIMEOUT_S, check=False
    )
