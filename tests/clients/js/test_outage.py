"""An application that renders a hundred times a second keeps doing so while its server is killed and started again."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.clients.js.conftest import HERE
from tests.support.deployment import EmbeddedServer

PROMPT = {"name": "Support", "value": "Be {{tone}}.", "instructionFormat": "RAW"}


def read_until(output: list[str], application: subprocess.Popen[str], line: str) -> None:
    """Read what the application prints up to a line that it is to print."""
    assert application.stdout is not None
    for printed in application.stdout:
        output.append(printed.strip())
        if printed.strip() == line:
            return
    pytest.fail(f"The application ended before it printed {line!r}: {output}")


def test_no_call_fails_and_what_is_served_is_marked_stale(project: Path, tmp_path: Path) -> None:
    script = project / "outage.mjs"
    script.write_text((HERE / "outage.mjs").read_text())
    output: list[str] = []
    with EmbeddedServer(tmp_path) as server:
        api = server.client()
        prompt_id = api.post("/api/v1/prompts", PROMPT).json()["prompt"]["id"]
        with subprocess.Popen(
            ["node", str(script), str(prompt_id)],
            env={**os.environ, "REPRISE_URL": api.base_url, "REPRISE_API_KEY": api.api_key},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as application:
            try:
                read_until(output, application, "there")
                server.process.kill()
                read_until(output, application, "away")
                read_until(output, application, "still away")
                server.process.start()
                read_until(output, application, "there")
                said, _ = application.communicate(timeout=120)
            finally:
                application.kill()
    seen = json.loads(said.splitlines()[-1])
    print(seen)
    assert seen["failed"] == 0
    assert seen["whileAway"] == seen["staleWhileAway"] >= 300
