"""`reprise labels` against a real server."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import reprise
from tests.support.http_client import Client


class Shell:
    """A prompt of two versions, and somebody who types commands about its labels."""

    def __init__(self, client: Client, home: Path) -> None:
        self.client = client
        self.home = home
        made = client.post("/api/v1/prompts", {"name": "Labelled", "value": "one"}).json()
        self.path = f"/api/v1/prompts/{made['prompt']['id']}"
        self.hashes = [client.get(self.path).json()["commitHash"]]
        client.request("PATCH", self.path, payload={"value": "two"})
        self.hashes.append(client.post(f"{self.path}/commit").json()["commitHash"])

    def labels(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        prompt_id = self.path.rpartition("/")[2]
        return reprise(self.client, self.home, "labels", command, *arguments, "--prompt", prompt_id)

    def printed(self, command: str, *arguments: str) -> str:
        done = self.labels(command, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def shell(backend: Any, tmp_path: Path) -> Shell:
    return Shell(backend.client(), tmp_path)


def test_a_label_is_moved_split_listed_and_deleted(shell: Shell) -> None:
    first, second = shell.hashes

    shell.printed("move", "production", first[:6])
    printed = shell.printed("move", "production", "latest", "--share", "0.25")

    assert printed.split("\t")[:4] == ["production", first, f"0.25 {second}", ""]
    assert shell.printed("list") == printed
    shell.printed("delete", "production")
    assert shell.printed("list") == ""


def test_a_guarded_label_is_refused_with_exit_code_1(shell: Shell) -> None:
    first, second = shell.hashes
    assert shell.printed("move", "production", first, "--guarded").split("\t")[3] == (
        "guarded by all test cases, 9 repeats"
    )

    refused = shell.labels("move", "production", second)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert "experimentId" in refused.stderr
    for missing in (("--experiment", "999999"), ("--override", "It is on fire.")):
        assert shell.labels("move", "production", second, *missing).returncode == 2, "no such experiment; no admin"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("move", "production", "ffffffffffff"), "no version 'ffffffffffff'"),
        (("move", "production", ""), "no version ''"),
        (("move", "latest", "latest"), "label: "),
        (("move", "../../1", "latest"), "404"),
        (("move", "production", "latest", "--share", "1"), "--share"),
        (("move", "production", "latest", "--share", "0.5"), "points to no version yet"),
        (("delete", "production"), "no such label"),
    ],
)
def test_what_can_not_be_done_has_a_reason(shell: Shell, arguments: tuple[str, ...], word: str) -> None:
    done = shell.labels(*arguments)

    assert done.returncode in (1, 2)
    assert (done.stdout, word in done.stderr) == ("", True), done.stderr
    assert shell.printed("list") == ""


def test_the_evidence_that_a_guard_asks_for_is_set_and_named(shell: Shell) -> None:
    first, second = shell.hashes
    asked = shell.printed("move", "production", first, "--guarded", "--evidence", "--repeats", "7")

    refused = shell.labels("move", "production", second)

    assert asked.split("\t")[3] == "guarded by all test cases, 7 repeats"
    assert refused.returncode == 1
    assert "with all test cases as they are now, at least 7 repeats, detect at most 0.25" in refused.stderr
    assert (
        "requires the scope admin" in shell.labels("move", "production", first, "--evidence", "--repeats", "6").stderr
    )
    assert shell.labels("move", "production", first, "--repeats", "7").returncode == 2
