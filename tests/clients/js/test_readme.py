"""Every block of the package's README is executed here, in its order, against a real server."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.clients.js.conftest import SOURCE, run_command
from tests.support.deployment import EmbeddedServer
from tests.support.http_client import Client

README = (SOURCE / "README.md").read_text()
BLOCKS = re.findall(r"^```js\n(.*?)^```$", README, re.M | re.S)
PROMPT: dict[str, Any] = {
    "name": "Support",
    "value": "Be {{tone}}.",
    "instructionFormat": "RAW",
    "placeholders": [{"key": "tone", "values": [{"name": "formal", "content": "formal", "isDefault": True}]}],
}


def labelled_prompt(api: Client) -> tuple[int, str]:
    """Make the prompt of the README; return its id and the hash that its label points to."""
    prompt_id: int = api.post("/api/v1/prompts", PROMPT).json()["prompt"]["id"]
    commit_hash: str = api.get(f"/api/v1/prompts/{prompt_id}").json()["commitHash"]
    label = f"/api/v1/prompts/{prompt_id}/labels/production"
    assert api.request("PUT", label, payload={"commitHash": commit_hash}).status == 200
    return prompt_id, commit_hash


def test_the_package_installs_with_the_readmes_commands(tarball: Path, tmp_path: Path) -> None:
    command = re.findall(r"^```sh\n(.*?)^```$", README, re.M | re.S)[0]
    # The copy that no parallel process builds again meanwhile.
    command = command.replace("./build/clients", str(tarball.parent))

    run_command(["bash", "-euc", command], tmp_path, {"APP": str(tmp_path)})

    assert (tmp_path / "node_modules" / "@reprise" / "client" / "dist" / "index.js").exists()


@pytest.fixture
def application(project: Path, tmp_path: Path) -> Path:
    """A project with the package, and with those of OpenTelemetry that its own tests have."""
    copied = Path(shutil.copytree(project, tmp_path / "application"))
    (copied / "node_modules" / "@opentelemetry").symlink_to(SOURCE / "node_modules" / "@opentelemetry")
    return copied


def test_the_program_of_the_readme_runs(backend: EmbeddedServer, application: Path, tmp_path: Path) -> None:
    api = backend.client()
    prompt_id, commit_hash = labelled_prompt(api)
    # A block may be copied by itself, so each one that needs it imports.
    program = re.sub(r"\b17\b", str(prompt_id), "\n".join(BLOCKS))
    (application / "readme.mjs").write_text(program + "console.log(instruction, version, state, later.answer);\n")

    access = {"REPRISE_URL": api.base_url, "REPRISE_API_KEY": api.api_key, "XDG_STATE_HOME": str(tmp_path)}
    printed = run_command(["node", "readme.mjs"], application, access).splitlines()
    logs = api.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"]

    assert len(logs) == 1
    assert printed[:2] == ["fresh Be formal.", commit_hash]
    assert re.fullmatch(r"Where is order 4711\? \d+", printed[2])
    assert re.fullmatch(r" \d+ ms", printed[4])
    assert printed[5] == "NotFoundError 404 The prompt has no such label."
    assert printed[6] == f"Be formal. {commit_hash} fresh Where is order 4711?"
