"""A server, a separate prompt for each program, and a fake of the model's vendor."""

from __future__ import annotations

import os
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
from tests.support.waiting import wait_until

PROGRAM_TIMEOUT_S = 300
VARIABLES = "set -a && . ./agent.env && set +a\n"
AGENTS = {
    "agent.mjs": f"{VARIABLES}node agent.mjs",
    "agent.py": f"{VARIABLES}opentelemetry-instrument python agent.py",
}
"""The last lines by which a page runs its agent."""
TOOLS = [
    {"name": name, "parameters": {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]}}
    for name, key in (("get_order", "order_id"), ("get_weather", "city"))
]
TONE = [{"name": "friendly", "content": "warm", "isDefault": True}, {"name": "formal", "content": "cold"}]


@pytest.fixture(scope="package")
def vendor() -> Iterator[Upstream]:
    """The model's vendor that both the agents and the server ask."""
    with Upstream() as vendor:
        yield vendor


@pytest.fixture(scope="package")
def server(vendor: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    model = {"OPENAI_API_KEY": "sk-fake", "OPENAI_BASE_URL": vendor.base_url("OPENAI")}
    with EmbeddedServer(tmp_path_factory.mktemp("connect"), {"REPRISE_RATE_LIMIT": "1000000", **model}) as server:
        yield server


@pytest.fixture
def upstream(vendor: Upstream) -> Upstream:
    vendor.reset()
    return vendor


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

    def replayed(self, session: Any) -> Any:
        """The replay of a test case that is made of the session, by a prompt that has the tools which were offered."""
        if offered := session["turns"][0]["offeredTools"]:
            config = {"languageModelConfig": {"tools": offered}}
            assert self.client.patch(f"/api/v1/prompts/{self.id}", config).status == 200
        case = self.client.post(f"/api/v1/sessions/{session['id']}/test-cases", {}).json()["id"]
        replay = self.client.post(f"/api/v1/test-cases/{case}/replays", {}).headers["Location"]
        running = ("queued", "running")
        wait_until(lambda: self.client.get(replay).json()["status"] not in running, "the replay", 60)
        return self.client.get(replay).json()

    def rejected(self) -> Any:
        return self.client.get(f"/api/v1/rejected-spans?promptId={self.id}").json()["rejectedSpans"]


@pytest.fixture
def prompt(server: EmbeddedServer) -> Prompt:
    client = server.client()
    new = {
        "name": f"Support {secrets.token_hex(4)}",
        "value": "Answer in a {{tone}} tone.",
        "instructionFormat": "RAW",
        "languageModelName": "gpt-4o-mini",
        "languageModelConfig": {"tools": TOOLS},
        "placeholders": [{"key": "tone", "values": TONE}],
    }
    return Prompt(client, client.post("/api/v1/prompts", new).json()["prompt"]["id"])


Run = Callable[..., "subprocess.CompletedProcess[str]"]


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
        "GOOGLE_API_KEY": "fake",
        "GOOGLE_GEMINI_BASE_URL": upstream.base_url("GOOGLE"),
        # Otherwise the SDK asks the clouds' addresses for the machine that it runs on.
        "OTEL_NODE_RESOURCE_DETECTORS": "none",
    }
    return environment(tmp_path, settings)


@pytest.fixture
def run_page(home_of: Callable[[str], Path], variables: dict[str, str], tmp_path: Path) -> Run:
    """Follows a page: its program next to `reprise.py` or `reprise.mjs`, its pins, its variables."""

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
    """Runs the agent of a page, which knows nothing of Reprise, with the variables of its `agent.env` and others.

    `change` makes another program of it.
    """

    def run(name: str, change: Callable[[str], str] = str, **others: str) -> subprocess.CompletedProcess[str]:
        home = home_of(name)
        if (home / "node_modules").exists():
            (tmp_path / "node_modules").symlink_to(home / "node_modules")
        for path in DOCS.joinpath(name).glob("*.*"):
            shutil.copy(path, tmp_path)
        (agent,) = tmp_path.glob("agent.[!e]*")
        agent.write_text(change(agent.read_text()))
        path = f"{home / 'bin'}{os.pathsep}{variables['PATH']}"
        return _run(["bash", "-ec", AGENTS[agent.name]], tmp_path, variables | {"PATH": path} | others)

    return run


def _run(command: list[str], folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=PROGRAM_TIMEOUT_S, check=False
    )
