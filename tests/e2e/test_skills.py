"""Each skill for coding agents works: all of its commands are executed here, in their order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from reprise_client.skills import skills

from tests.integration.ingest.test_recorded_instructions import PEOPLE, TEXT, later
from tests.support.command_line import reprise
from tests.support.documents import SHOP_TURN, read_document, run_blocks, shell_blocks, shop_variables
from tests.support.exports import export
from tests.support.http_client import Client

SKILLS = {skill.name: skill for skill in skills()}


@pytest.fixture
def variables(client: Client) -> dict[str, str]:
    """The environment of a coding agent, with a prompt that has a test case."""
    shop = shop_variables(client)
    return shop | {"REPRISE_URL": client.base_url, "REPRISE_API_KEY": client.api_key}


def blocks(name: str) -> list[str]:
    return shell_blocks(SKILLS[f"reprise-{name}"].instructions)


def test_an_agent_is_connected(client: Client, variables: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_bytes(export(later(0, TEXT.format(**PEOPLE[0]))))
    address, wait, instruction = blocks("connect-an-agent")
    send = (
        'curl -sSf -H "Authorization: ${OTEL_EXPORTER_OTLP_HEADERS#*=}" -H "Content-Type: application/json" '
        '-d @trace.json "$OTEL_EXPORTER_OTLP_ENDPOINT/v1/traces"'
    )

    printed = run_blocks([address, send, wait, instruction], tmp_path, variables | {"AGENT": "skilled"})

    assert "Words: recorded." in printed
    assert "Your program sends what the draft renders." in printed


def test_a_session_becomes_a_test(client: Client, variables: dict[str, str], tmp_path: Path) -> None:
    printed = run_blocks(blocks("make-tests-of-failed-sessions"), tmp_path, variables)

    assert "Wrong order" in printed
    assert SHOP_TURN.user in printed
    assert re.search(r"Wrong order · \d+ passed", printed)


def test_a_change_is_gated_and_pushed(client: Client, variables: dict[str, str], tmp_path: Path) -> None:
    pull, gate, push = blocks("gate-a-change")

    printed = run_blocks([pull, gate, "echo 'Be kind.' >> prompts/prompt.md", push], tmp_path, variables)

    assert "**Passed.**" in (tmp_path / "gate.md").read_text()
    assert "It is committed as version" in printed
    draft = client.get(f"/api/v1/prompts/{variables['PROMPT_ID']}").json()
    assert draft["value"].endswith("Be kind.\n")


def test_a_failed_replay_is_read(client: Client, variables: dict[str, str], tmp_path: Path) -> None:
    path = f"/api/v1/prompts/{variables['PROMPT_ID']}"
    assert client.patch(path, {"languageModelConfig": {"tools": []}}).status == 200

    printed = run_blocks(blocks("read-a-failed-gate"), tmp_path, variables)

    assert "exit code 1" in printed
    assert "turn 1, step 1 (tool call) failed: find was never called" in printed


def test_skills_are_written_where_coding_agents_look(client: Client, tmp_path: Path) -> None:
    (command,) = [block for block in shell_blocks(read_document("mcp.md")) if "skills" in block]
    for _ in range(2):
        run_blocks([command], tmp_path, {})

    for folder in (".claude", ".agents", ".github"):
        files = sorted((tmp_path / folder / "skills").glob("*/SKILL.md"))
        assert [file.read_text() for file in files] == [skill.text for skill in SKILLS.values()]
    only = reprise(client, tmp_path, "skills", "install", "--for", "codex", "--to", str(tmp_path))
    assert only.returncode == 2
    other = reprise(client, tmp_path, "skills", "install", "--to", str(tmp_path / "other"))
    assert other.stdout.count("SKILL.md\n") == len(SKILLS)
    (tmp_path / "file").write_text("")
    refused = reprise(client, tmp_path, "skills", "install", "--to", str(tmp_path / "file" / "x"))
    assert (refused.returncode, "SKILL.md" in refused.stderr) == (2, True)


@pytest.mark.parametrize("name", SKILLS)
def test_a_skill_follows_the_standard(name: str) -> None:
    skill = SKILLS[name]
    head = skill.text.split("\n---\n")[0].splitlines()

    assert head[:2] == ["---", f"name: {name}"]
    assert re.fullmatch(r"[a-z0-9-]{1,64}", name)
    assert 20 < len(skill.description) <= 1024
    assert f"`{name}`" in read_document("mcp.md")
