"""`reprise agents` against a real server."""

from __future__ import annotations

import secrets
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.ingest.test_recorded_instructions import PEOPLE, TEXT, later
from tests.support.command_line import reprise
from tests.support.exports import export
from tests.support.http_client import Client


class Shell:
    """An agent of three sessions, and somebody who types commands about it."""

    def __init__(self, client: Client, home: Path) -> None:
        self.client, self.home, self.name = client, home, f"bot-{secrets.token_hex(4)}"
        for number, person in enumerate(PEOPLE):
            self.send(number, TEXT.format(**person))
        self.prompt_id = self.agents("prompt", self.name).stdout.strip()

    def send(self, number: int, text: str) -> None:
        answer = self.client.post(
            f"/api/public/agents/{self.name}/otel/v1/traces",
            body=export(later(number, text)),
            headers={"Content-Type": "application/json"},
        )
        assert answer.status == 200, answer.body

    def agents(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        named = () if command in ("list", "prompt") else ("--prompt", self.prompt_id)
        return reprise(self.client, self.home, "agents", command, *arguments, *named)


@pytest.fixture
def shell(backend: Any, tmp_path: Path) -> Shell:
    return Shell(backend.client(), tmp_path)


def test_proposals_are_printed_and_accepted_and_another_text_is_adopted(shell: Shell) -> None:
    assert shell.agents("list").stdout.count(f"{shell.name}\t{shell.prompt_id}\t20") == 1
    shown = shell.agents("instruction")
    assert shown.returncode == 0, shown.stderr
    head, *proposals = shown.stdout.splitlines()
    assert head == "Your program sends what the draft renders."
    ids = {line.split("\t")[1]: line.split("\t")[0] for line in proposals}
    assert list(ids) == ["{{value}}", "{{today}}", "{{plan}}"]
    assert "date, 2 in 3 sessions: '2026-11-26', '2026-11-25'" in shown.stdout

    accepted = shell.agents("accept", f"{ids['{{value}}']}=customer", ids["{{today}}"])
    assert accepted.stdout == f"The draft of prompt {shell.prompt_id} has {{{{customer}}}}, {{{{today}}}}.\n"
    again = shell.agents("accept", ids["{{today}}"])
    assert (again.returncode, "no proposal" in again.stderr) == (1, True)

    shell.send(60, "A wholly other agent.")
    assert shell.agents("instruction").returncode == 1
    assert shell.agents("adopt").returncode == 0
    assert shell.agents("instruction").returncode == 0
    draft = shell.client.get(f"/api/v1/prompts/{shell.prompt_id}?productive=false").json()
    assert draft["value"] == "A wholly other agent."


def test_a_wrong_prompt_or_key_can_not_run(shell: Shell) -> None:
    refused = shell.agents("accept", "x=a b")
    assert (refused.returncode, "accept" in refused.stderr) == (2, True)
    missing = shell.agents("prompt", "nobody")
    assert (missing.returncode, "has sent a trace" in missing.stderr) == (2, True)
    shell.prompt_id = "999999"
    assert shell.agents("instruction").returncode == 2
