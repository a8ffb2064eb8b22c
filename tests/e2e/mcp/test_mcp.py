"""The official MCP client over standard input and output, with the configuration of docs/mcp.md."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.connect.sdks import NotInstalled, installed
from tests.support.deployment import ROOT, EmbeddedServer
from tests.support.documents import read_document, shop_variables

pytestmark = pytest.mark.sdks

HERE = Path(__file__).parent
PAGE = read_document("mcp.md")
Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def shop(backend: EmbeddedServer) -> dict[str, str]:
    return shop_variables(backend.client())


@pytest.fixture
def python(require: Callable[[str | None], None]) -> Path:
    try:
        return installed(HERE) / "bin" / "python"
    except NotInstalled as missing:
        require(str(missing))
        raise


@pytest.fixture
def ask(python: Path, shop: dict[str, str], tmp_path: Path) -> Ask:
    """Sends requests to a server that is started with the page's commands, with `reprise` on the path."""
    command = tmp_path / "reprise"
    source = ROOT / "clients/python/src"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={source} exec {shlex.quote(str(python))} -m reprise_client "$@"\n')
    command.chmod(0o755)
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, re.S)
    configured = json.loads(block)["mcpServers"]["reprise"]
    names = {"REPRISE_URL": shop["BASE_URL"], "REPRISE_API_KEY": shop["API_KEY"]}
    assert configured["env"].keys() == names.keys()
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"

    def ask(*requests: Any) -> list[dict[str, Any]]:
        told = {"server": {**configured, "env": {**names, "PATH": path}}, "requests": requests}
        done = subprocess.run(
            [python, HERE / "client.py"],
            input=json.dumps(told),
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answers: list[dict[str, Any]] = json.loads(done.stdout)
        return answers

    return ask


def test_an_agent_reads_and_tests_a_prompt(ask: Ask, shop: dict[str, str]) -> None:
    prompt_id = int(shop["PROMPT_ID"])
    prompts, prompt, sessions, gate, resource, mend = ask(
        ["tool", "list_prompts", {}],
        ["tool", "read_prompt", {"prompt_id": prompt_id}],
        ["tool", "list_sessions", {"prompt_id": prompt_id}],
        ["tool", "run_gate", {"prompt_id": prompt_id, "text": "Help everybody."}],
        ["resource", f"reprise://prompts/{prompt_id}", {}],
        ["prompt", "mend", {"prompt_id": str(prompt_id)}],
    )

    assert f"{prompt_id}: Shop" in prompts["text"]
    assert prompt["text"].endswith("Text:\nHelp customers.\n")
    assert "A-1" in sessions["text"]
    assert "**Passed.** 1 test passes as often as with version" in gate["text"]
    assert resource == prompt
    assert f"Mend prompt {prompt_id} of Reprise." in mend["text"]


def test_a_refusal_is_an_error_in_the_servers_words(ask: Ask) -> None:
    tool, resource, argument = ask(
        ["tool", "read_prompt", {"prompt_id": 9999999}],
        ["resource", "reprise://prompts/9999999", {}],
        ["tool", "read_prompt", {"prompt_id": "x"}],
    )

    assert [one["error"] for one in (tool, resource, argument)] == [True] * 3
    assert "There is no such prompt." in tool["text"]
    assert "There is no such prompt." in resource["text"]


def test_every_tool_of_the_page_is_served_with_what_it_does(ask: Ask) -> None:
    (answer,) = ask(["tools", "", {}])

    tools = json.loads(answer["text"])
    assert {name for name in tools if f"`{name}`" not in PAGE} == set()
    assert {name for name, (_, reads_only) in tools.items() if not reads_only} == {
        "run_replay",
        "run_gate",
        "cancel_gate",
    }
    assert all(description for description, _ in tools.values())


def test_without_a_key_the_command_asks_for_one_and_prints_nothing(python: Path) -> None:
    done = subprocess.run(
        [python, "-m", "reprise_client", "mcp"],
        env={"PYTHONPATH": str(ROOT / "clients/python/src"), "REPRISE_URL": "http://127.0.0.1:1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert "Set REPRISE_API_KEY" in done.stderr
