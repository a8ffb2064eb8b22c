"""Every command of docs/labels.md is executed here, in its order, with an experiment that really passed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.documents import access, read_document, run_blocks, shell_blocks
from tests.support.http_client import Client
from tests.support.waiting import wait_until

BLOCKS = shell_blocks(read_document("labels.md"))


@pytest.fixture
def variables(client: Client) -> dict[str, str]:
    """The variables of the page, for a prompt of two versions and an experiment of the newer against the older one."""
    made = client.post("/api/v1/prompts", {"name": "Shop", "value": "Help.", "languageModelName": "echo"}).json()
    path = f"/api/v1/prompts/{made['prompt']['id']}"
    old = client.get(path).json()["commitHash"]
    client.request("PATCH", path, payload={"value": "Help customers."})
    new = client.post(f"{path}/commit").json()["commitHash"]
    client.post(f"{path}/test-cases", {"name": "Echo", "question": "Ping", "expectedAnswer": "Ping"})
    sides = {"candidate": {"commitHash": new}, "baseline": {"commitHash": old}}
    experiment = client.post(f"{path}/experiments", sides).json()["id"]
    wait_until(lambda: found(client, experiment)["finishedAt"], "the experiment", 60)
    assert found(client, experiment)["verdict"] == "passed"
    return {
        **access(client),
        "PROMPT_ID": str(made["prompt"]["id"]),
        "OLD": old,
        "NEW": new,
        "EXPERIMENT_ID": str(experiment),
    }


def found(client: Client, experiment_id: int) -> dict[str, Any]:
    experiment: dict[str, Any] = client.get(f"/api/v1/experiments/{experiment_id}").json()
    return experiment


def test_the_page_leads_from_a_first_label_to_a_guarded_one(
    client: Client, variables: dict[str, str], tmp_path: Path
) -> None:
    shown = run_blocks(BLOCKS, tmp_path, variables)

    assert "refused with exit code 1" in shown
    old, new = variables["OLD"], variables["NEW"]
    moves = re.findall(r"production\t(\w+)\t([^\t]*)\t([^\t]*)\t", shown)
    assert moves == [
        (old, "", ""),
        (old, f"0.1 {new}", ""),
        (old, "", ""),
        (old, "", "guarded by all test cases, 9 repeats"),
        (new, "", "guarded by all test cases, 9 repeats"),
        (old, "", "guarded by all test cases, 9 repeats"),
        (old, "", "guarded by all test cases, 9 repeats"),
    ]
    assert f'"commitHash":"{old}"' in shown
    assert client.get(f"/api/v1/prompts/{variables['PROMPT_ID']}/labels/production").json()["guarded"]
