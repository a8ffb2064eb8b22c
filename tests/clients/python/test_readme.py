"""Every block of the client's README is executed here, in its order, against a real server."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.python.test_prompts_served import NEW
from tests.support.deployment import ROOT, EmbeddedServer, environment

README = (ROOT / "clients" / "python" / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.M | re.S)


def test_the_programs_of_the_readme_run(backend: EmbeddedServer, tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.sdk")
    program = tmp_path / "program.py"
    api = backend.client()
    prompt_id = api.post("/api/v1/prompts", {**NEW, "value": "Be {{tone}}."}).json()["prompt"]["id"]
    commit_hash = api.get(f"/api/v1/prompts/{prompt_id}").json()["commitHash"]
    label = f"/api/v1/prompts/{prompt_id}/labels/production"
    assert api.request("PUT", label, payload={"commitHash": commit_hash}).status == 200
    program.write_text(re.sub(r"\b17\b", str(prompt_id), "\n".join(BLOCKS)))
    access = {"REPRISE_URL": api.base_url, "REPRISE_API_KEY": api.api_key, "XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**environment(tmp_path, access), "PYTHONPATH": str(ROOT / "clients" / "python" / "src")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    logs = api.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"]

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    printed = done.stdout.splitlines()
    assert printed[:4] == ["Be formal <&>. fresh", "Be formal <&>.", "fresh Be formal <&>.", commit_hash]
    assert re.fullmatch(r"Where is order 4711\? \d+", printed[4])
    assert re.fullmatch(r"Where is order 4711\? \d+ ms", printed[5])
    assert printed[6] == "NotFoundError 404 The prompt has no such label."
    assert len(logs) == 1


def test_no_page_installs_the_package_from_an_index_that_lacks_it() -> None:
    texts = [*ROOT.joinpath("docs").rglob("*.md"), *ROOT.joinpath("clients/python/src/reprise_client").rglob("*.py")]
    told = re.compile(r"pip install ['\"]?reprise[-_]client")
    assert [str(path) for path in (*texts, ROOT / "README.md") if told.search(path.read_text())] == []


def test_without_its_packages_the_command_explains_how_they_are_installed() -> None:
    program = "import sys; sys.modules['click'] = None; from reprise_client.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    (command,) = re.findall(r"^pip install .*\[instrument\].*$", README, re.M)
    assert command.replace("instrument", "cli") in done.stderr
